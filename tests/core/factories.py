"""Rows that tests begin with, made by the verbs that make them in earnest."""

import io
import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from core import datasets, jobs, keys
from core.blobs import blob_store
from core.datasets.reading import Limits
from core.datasets.store import Upload
from core.models import ApiKey, Dataset, Job
from core.models.dataset import DatasetKind
from core.settings import get_settings
from trainer.events import Event, Metrics, RunStarted, StagePlan, StageStarted
from trainer.spec import JobSpec

ROWS: dict[DatasetKind, list[dict[str, Any]]] = {
    DatasetKind.PREFERENCES: [{"prompt": f"p{n}", "chosen": "good", "rejected": "bad"} for n in range(3)],
    DatasetKind.PROMPTS: [{"prompt": f"p{n}"} for n in range(3)],
    DatasetKind.SFT: [{"prompt": f"p{n}", "completion": "good"} for n in range(3)],
    DatasetKind.PRETRAINING: [{"text": f"text {n}"} for n in range(3)],
}


def make_key(session: Session, name: str = "tester") -> ApiKey:
    return keys.create_key(session, name)[0]


def jsonl(rows: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def make_dataset(session: Session, owner_id: str, kind: DatasetKind = DatasetKind.PREFERENCES) -> Dataset:
    settings = get_settings()
    upload = Upload(io.BytesIO(jsonl(ROWS[kind])), kind, kind.value)
    limits = Limits(settings.max_line_bytes)
    return datasets.create(session, blob_store(settings), owner_id, upload, limits, settings.data_dir)


def make_job(session: Session, owner_id: str | None = None, **spec: Any) -> Job:
    """A queued job, with an owner and a dataset of its own unless told whose it is. Committed."""
    owner = owner_id or make_key(session).id
    dataset = make_dataset(session, owner)
    whole = {"model": "some/model", "data": {"preferences": dataset.id}, "ppo": {}} | spec
    job = jobs.create(session, owner, JobSpec.model_validate(whole))
    session.commit()
    return job


def running(session: Session, job: Job, worker_id: str = "wrk_1") -> int:
    """Have a worker claim the job and its trainer start PPO; the attempt's number. Nothing else may be queued."""
    claim = jobs.claim(session, worker_id)
    assert claim is not None and claim.job_id == job.id
    jobs.append_events(session, job.id, claim.attempt, start_events())
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
