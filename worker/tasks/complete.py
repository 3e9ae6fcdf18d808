"""Has policies answer the prompts of a round: `python -m trainer complete`, in a folder with all that it needs."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from core.annotation import items
from core.annotation.items import Draft
from core.datasets import rows, versions
from core.db import session_scope
from core.errors import NotFound
from core.models import AnnotationRound, Checkpoint, Job
from trainer.annotation.requests import CompletionRequest
from worker.jobs import checkpoints
from worker.jobs.launch import TRAINER
from worker.jobs.workspace import confine
from worker.tasks.context import TaskRun
from worker.tasks.every_row import every_row

PREFIX = "draft-round-"
"""Of scratch folders: what a killed worker leaves of them is cleared away with the drafts of datasets."""
BEHIND = "10"
"""A job that is at work goes before this."""
Prompt = tuple[int, Any]
_ANSWERED = ("completions", "policies", "finished")


def drafts(task: TaskRun, round_: AnnotationRound) -> tuple[list[Draft], int]:
    """Items of what the policies answered, in a random order, and how many prompts were left out."""
    with tempfile.TemporaryDirectory(dir=task.scratch, prefix=PREFIX) as name:
        folder = Path(name)
        prompts, place = _prompts(task, round_.source)
        with (folder / "prompts.jsonl").open("wb") as file:
            file.writelines(orjson.dumps({"prompt": prompt}) + b"\n" for _, prompt in prompts)
        (folder / "request.json").write_text(request(task, round_, folder).model_dump_json(indent=2))
        command = [*TRAINER, "complete", "request.json", "--out", "completions.jsonl", "--nice", BEHIND]
        command += confine(folder, task.settings.path_rules)
        task.child(command, cwd=folder, span=(0.2, 1.0))
        answered = zip(prompts, _answers(folder / "completions.jsonl"), strict=True)
        found = [
            items.of_completions(place[number], prompt, number, *(answer[name] for name in _ANSWERED))
            for (number, prompt), answer in answered
        ]
    kept = items.without_gaps(found)
    return kept, len(found) - len(kept)


def model_settings(spec: dict[str, Any] | None) -> dict[str, Any]:
    """How a job reads texts and computes, as far as its spec says so: a model is asked as it was trained."""
    if spec is None:
        return {}
    found = {name: spec["data"][name] for name in ("chat_template", "max_prompt_tokens") if name in spec["data"]}
    found["dtype"] = spec["model"].get("dtype", "float32")  # the default of the releases that left it out
    return found | ({"device": "cpu"} if spec.get("runtime", {}).get("device") == "cpu" else {})


def _prompts(task: TaskRun, source: dict[str, Any]) -> tuple[list[Prompt], dict[int, int]]:
    """A sample of the different prompts, in the order of their rows; and the place of each in the round."""
    with session_scope() as session:
        version = versions.usable(session, task.owner_id, source["prompts"])
    assert version.content is not None
    seed = source["seed"]
    numbers = items.draw(every_row(task, version), lambda _, row: items.prompt_key(seed, row), source["limit"])
    ordered = sorted(numbers)
    found = rows.read(task.blobs, version.content, ordered)
    prompts = [(number, items.prompt_of(row)) for number, row in zip(ordered, found, strict=True)]
    return prompts, {number: at for at, number in enumerate(numbers, 1)}


def request(task: TaskRun, round_: AnnotationRound, folder: Path) -> CompletionRequest:
    """Fetches the checkpoints too. Each is asked as its own job asks it; a model that is of no job, as the first one."""
    policies = round_.policies or []
    specs: dict[int, dict[str, Any]] = {}
    for number, policy in enumerate(policies):
        if policy["checkpoint"] is not None:
            task.tell(0.1 + 0.1 * number / len(policies), f"Fetching {policy['checkpoint']}")
            specs[number] = fetch(task, policy["checkpoint"], folder).spec
    first = next(iter(specs.values()), None)
    asked = [
        {"path": policy["checkpoint"] or policy["model"], **model_settings(specs.get(number, first))}
        for number, policy in enumerate(policies)
    ]
    source = {name: round_.source[name] for name in ("completions", "max_new_tokens", "temperature", "seed")}
    return CompletionRequest.model_validate({"prompts": "prompts.jsonl", "policies": asked, **source})


def fetch(task: TaskRun, checkpoint_id: str, folder: Path) -> Job:
    """Bring a checkpoint into the folder, under its id; the job that it is from. NotFound if it is gone."""
    with session_scope() as session:
        checkpoint = session.get(Checkpoint, checkpoint_id)
        if checkpoint is None:
            raise NotFound(f"The checkpoint {checkpoint_id} is no longer there.")
        job = session.get_one(Job, checkpoint.job_id)
    if not (folder / checkpoint_id).exists():
        checkpoints.download(task.blobs, checkpoint.blob_prefix, folder / checkpoint_id, model_only=True)
    return job


def _answers(file: Path) -> Iterator[dict[str, Any]]:
    with file.open("rb") as lines:
        yield from map(orjson.loads, lines)
