"""Rows for tests, made by the functions that make them in production."""

import io
import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from core.access import keys
from core.blobs import blob_store
from core.datasets import importing, rows, search
from core.datasets.importing import BadRows, Import, ReadingOptions, Source, limits_of
from core.datasets.versions import Reference
from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.jobs.submission.submit import Queueing, submit_job
from core.models import ApiKey, Dataset, DatasetVersion, Job
from core.settings import get_settings
from data.schema import DatasetKind
from trainer.events import Event, Metrics, RunStarted, StagePlan, StageStarted
from trainer.spec import JobSpec

ROWS: dict[DatasetKind, list[dict[str, Any]]] = {
    DatasetKind.PREFERENCES: [{"prompt": f"p{n}", "chosen": "good", "rejected": "bad"} for n in range(3)],
    DatasetKind.THUMBS: [{"prompt": f"p{n}", "completion": "good", "thumb": "up"} for n in range(3)],
    DatasetKind.STEPS: [{"prompt": f"p{n}", "steps": ["a", "b"], "labels": ["good", "bad"]} for n in range(3)],
    DatasetKind.PROMPTS: [{"prompt": f"p{n}"} for n in range(3)],
    DatasetKind.SFT: [{"prompt": f"p{n}", "completion": "good"} for n in range(3)],
    DatasetKind.PRETRAINING: [{"text": f"text {n}"} for n in range(3)],
}


def make_key(session: Session, name: str = "tester") -> ApiKey:
    return keys.create_key(session, name)[0]


def jsonl(content: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in content)


def make_dataset(session: Session, owner_id: str, kind: DatasetKind = DatasetKind.PREFERENCES) -> Dataset:
    """A dataset with one ready version."""
    return make_version(session, owner_id, kind).dataset


def make_version(
    session: Session,
    owner_id: str,
    kind: DatasetKind = DatasetKind.PREFERENCES,
    content: bytes | None = None,
    bad_rows: BadRows = BadRows.REFUSE,
) -> DatasetVersion:
    """Version 1 of a new dataset, imported from JSONL."""
    settings = get_settings()
    file = jsonl(ROWS[kind]) if content is None else content
    source = Source(lambda: io.BytesIO(file), f"{kind.value}.jsonl")
    wanted = Import(source, kind.value, ReadingOptions(kind.value), bad_rows)
    scratch = settings.data_dir / "scratch"
    return importing.import_now(session, blob_store(settings), owner_id, wanted, limits_of(settings), scratch)


def make_index(session: Session, version: DatasetVersion) -> None:
    """Write the search index of the version's rows, as the data worker does."""
    found = [stored.row for stored in rows.stream(blob_store(get_settings()), version)]
    assert version.sha256 is not None
    assert search.add(session, version.sha256, version.dataset.kind, 1, found)


def dataset_id_of(job: Job) -> str:
    """The id of the dataset of the job's preferences."""
    return Reference.parse(job.spec["data"]["preferences"]).dataset_id


def make_job(session: Session, owner_id: str | None = None, queueing: Queueing | None = None, **spec: Any) -> Job:
    """A queued job with a new dataset, committed. `owner_id` None: a new key owns it."""
    owner = owner_id or make_key(session).owner_id
    dataset = make_dataset(session, owner)
    whole = {"model": "some/model", "data": {"preferences": dataset.id}, "ppo": {}} | spec
    job = submit_job(session, owner, JobSpec.model_validate(whole), queueing=queueing or Queueing())
    session.commit()
    return job


def running(session: Session, job: Job, worker_id: str = "wrk_1") -> int:
    """Claim the job and start PPO. Returns the number of the attempt. No other job may be queued."""
    claim = attempts.claim(session, worker_id)
    assert claim is not None and claim.job_id == job.id
    append_events(session, job.id, claim.attempt, start_events())
    session.commit()
    return claim.attempt


def start_events(start_step: int = 0) -> list[Event]:
    plan = [StagePlan(stage="sft", total_steps=10), StagePlan(stage="ppo", total_steps=10)]
    begun = RunStarted(stages=plan, device="cpu", threads=1, versions={})
    return [begun, StageStarted(stage="ppo", total_steps=10, start_step=start_step)]


def step(number: int, total_steps: int = 10, **values: float) -> Metrics:
    return Metrics(
        stage="ppo", step=number, total_steps=total_steps, values={"objective/scores": 0.1 * number, **values}
    )
