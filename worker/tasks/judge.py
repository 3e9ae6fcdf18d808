"""The data task `annotation_scores`: a reward model scores the completions of a round."""

import tempfile
from pathlib import Path

import orjson

from core.annotation import scores
from core.db import session_scope
from core.models import AnnotationRound
from trainer.annotation.requests import JudgeRequest
from worker.jobs.launch import TRAINER
from worker.jobs.workspace import confine
from worker.tasks.complete import BEHIND, PREFIX, fetch, model_settings
from worker.tasks.context import TaskRun


def run(task: TaskRun) -> None:
    """Raises what keeps them from being scored; the round goes on without scores."""
    round_id, checkpoint_id = task.args["round"], task.args["checkpoint"]
    with session_scope() as session:
        round_ = session.get(AnnotationRound, round_id)
        found = scores.all_items(session, round_id)
    if round_ is None or round_.reward_model != checkpoint_id:
        return
    with tempfile.TemporaryDirectory(dir=task.scratch, prefix=PREFIX) as name:
        folder = Path(name)
        with (folder / "rows.jsonl").open("wb") as file:
            fields = ("prompt", "completions", "finished")
            rows = ({name: getattr(item, name) for name in fields} for item in found)
            file.writelines(orjson.dumps(row) + b"\n" for row in rows)
        task.tell(0.0, f"Fetching {checkpoint_id}")
        spec = fetch(task, checkpoint_id, folder).spec
        limit = {name: spec["data"][name] for name in ("max_completion_tokens",) if name in spec["data"]}
        plain = {"rows": "rows.jsonl", "model": checkpoint_id, **model_settings(spec), **limit}
        (folder / "request.json").write_text(JudgeRequest.model_validate(plain).model_dump_json(indent=2))
        command = [*TRAINER, "judge", "request.json", "--out", "scores.jsonl", "--nice", BEHIND]
        command += confine(folder, task.settings.path_rules)
        task.child(command, cwd=folder, span=(0.1, 1.0))
        values = [orjson.loads(line)["scores"] for line in (folder / "scores.jsonl").read_bytes().splitlines()]
    with session_scope() as session:
        scores.store(session, round_id, checkpoint_id, zip([item.id for item in found], values, strict=True))
