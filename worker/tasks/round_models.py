"""Runs checkpoints for a round: policies sample completions, and a reward model scores them.

Each runs a command of the trainer, `complete` or `judge`, in a temporary folder with its input files.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from core.annotation import items, scores
from core.annotation.items import ItemDraft
from core.datasets import rows, versions
from core.db import session_scope
from core.errors import NotFound
from core.jobs.checkpoints import damage
from core.models import AnnotationRound, Checkpoint, Job
from trainer.annotation.requests import CompletionRequest, JudgeRequest
from worker.jobs import checkpoints
from worker.jobs.checkpoints import DamagedCheckpoint, StoredCheckpoint
from worker.jobs.damaged import recorded
from worker.jobs.launch.trainer_command import TRAINER
from worker.jobs.workspace import write_path_rules
from worker.tasks.command import LOW_PRIORITY
from worker.tasks.context import TaskContext

_PREFIX = "draft-round-"
"""Prefix of temporary folders. Those of a killed worker are removed with the drafts of datasets."""
Prompt = tuple[int, Any]
_SAMPLED_FIELDS = ("completions", "policies", "finished")


def sample_items(task: TaskContext, round_: AnnotationRound) -> tuple[list[ItemDraft], int]:
    """Let the policies complete a sample of prompts. Returns the items, and the number of prompts left out."""
    with tempfile.TemporaryDirectory(dir=task.scratch, prefix=_PREFIX) as name:
        folder = Path(name)
        prompts, position = _prompts(task, round_.source)
        with (folder / "prompts.jsonl").open("wb") as file:
            file.writelines(orjson.dumps({"prompt": prompt}) + b"\n" for _, prompt in prompts)
        (folder / "request.json").write_text(_completion_request(task, round_, folder).model_dump_json(indent=2))
        command = [*TRAINER, "complete", "request.json", "--out", "completions.jsonl", *LOW_PRIORITY]
        command += write_path_rules(folder, task.settings.path_rules)
        task.run_command(command, cwd=folder, span=(0.2, 1.0))
        sampled = zip(prompts, _read_lines(folder / "completions.jsonl"), strict=True)
        found = [
            items.item_from_completions(position[number], prompt, number, *(line[name] for name in _SAMPLED_FIELDS))
            for (number, prompt), line in sampled
        ]
    kept = items.without_gaps(found)
    return kept, len(found) - len(kept)


def model_settings(spec: dict[str, Any] | None) -> dict[str, Any]:
    """The settings by which a job reads texts and computes, from its spec, so that a model runs as it was trained."""
    if spec is None:
        return {}
    found = {name: spec["data"][name] for name in ("chat_template", "max_prompt_tokens") if name in spec["data"]}
    found["dtype"] = spec["model"].get("dtype", "float32")  # the default of releases that did not store it
    return found | ({"device": "cpu"} if spec.get("runtime", {}).get("device") == "cpu" else {})


def _prompts(task: TaskContext, source: dict[str, Any]) -> tuple[list[Prompt], dict[int, int]]:
    """A sample of distinct prompts in the order of their rows, and the number of each in the round."""
    with session_scope() as session:
        version = versions.usable(session, task.owner_id, source["prompts"])
    assert version.content is not None
    seed = source["seed"]
    numbers = items.draw(task.version_rows(version), lambda _, row: items.prompt_key(seed, row), source["limit"])
    ordered = sorted(numbers)
    found = rows.read(task.blobs, version.content, ordered)
    prompts = [(number, items.prompt_of(row)) for number, row in zip(ordered, found, strict=True)]
    return prompts, {number: at for at, number in enumerate(numbers, 1)}


def _completion_request(task: TaskContext, round_: AnnotationRound, folder: Path) -> CompletionRequest:
    """Fetch the checkpoints and describe the request. A model that belongs to no job uses the first job's settings."""
    policies = round_.policies or []
    specs: dict[int, dict[str, Any]] = {}
    for number, policy in enumerate(policies):
        if policy["checkpoint"] is not None:
            task.report(0.1 + 0.1 * number / len(policies), f"Fetching {policy['checkpoint']}")
            specs[number] = _fetch_checkpoint(task, policy["checkpoint"], folder).spec
    first = next(iter(specs.values()), None)
    asked = [
        {"path": policy["checkpoint"] or policy["model"], **model_settings(specs.get(number, first))}
        for number, policy in enumerate(policies)
    ]
    source = {name: round_.source[name] for name in ("completions", "max_new_tokens", "temperature", "seed")}
    return CompletionRequest.model_validate({"prompts": "prompts.jsonl", "policies": asked, **source})


def _fetch_checkpoint(task: TaskContext, checkpoint_id: str, folder: Path) -> Job:
    """Fetch a checkpoint into the folder, under its id. Returns its job. Raises NotFound and CheckpointDamaged."""
    with session_scope() as session:
        checkpoint = session.get(Checkpoint, checkpoint_id)
        if checkpoint is None:
            raise NotFound(f"The checkpoint {checkpoint_id} has been deleted.")
        damage.refuse_marked(checkpoint)
        job = session.get_one(Job, checkpoint.job_id)
    if not (folder / checkpoint_id).exists():
        stored = StoredCheckpoint.of(checkpoint)
        try:
            checkpoints.download(task.blobs, stored, folder / checkpoint_id, model_only=True)
        except DamagedCheckpoint as error:
            raise recorded(error) from error
    return job


def _read_lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open("rb") as lines:
        yield from map(orjson.loads, lines)


def score_items(task: TaskContext) -> None:
    """The task `annotation_scores`: a reward model scores the completions of a round. After an error it has no scores."""
    round_id, checkpoint_id = task.args["round"], task.args["checkpoint"]
    with session_scope() as session:
        round_ = session.get(AnnotationRound, round_id)
        items = scores.all_items(session, round_id)
    if round_ is None or round_.reward_model != checkpoint_id:
        return
    with tempfile.TemporaryDirectory(dir=task.scratch, prefix=_PREFIX) as name:
        folder = Path(name)
        with (folder / "rows.jsonl").open("wb") as file:
            fields = ("prompt", "completions", "finished")
            lines = ({name: getattr(item, name) for name in fields} for item in items)
            file.writelines(orjson.dumps(row) + b"\n" for row in lines)
        task.report(0.0, f"Fetching {checkpoint_id}")
        spec = _fetch_checkpoint(task, checkpoint_id, folder).spec
        limit = {name: spec["data"][name] for name in ("max_completion_tokens",) if name in spec["data"]}
        request = {"rows": "rows.jsonl", "model": checkpoint_id, **model_settings(spec), **limit}
        (folder / "request.json").write_text(JudgeRequest.model_validate(request).model_dump_json(indent=2))
        command = [*TRAINER, "judge", "request.json", "--out", "scores.jsonl", *LOW_PRIORITY]
        command += write_path_rules(folder, task.settings.path_rules)
        task.run_command(command, cwd=folder, span=(0.1, 1.0))
        values = [orjson.loads(line)["scores"] for line in (folder / "scores.jsonl").read_bytes().splitlines()]
    with session_scope() as session:
        scores.store(session, round_id, checkpoint_id, zip([item.id for item in items], values, strict=True))
