"""Sampling from the policies of a round, each with the settings of its own job."""

from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.orm import Session

from core.annotation import rounds
from core.annotation.spec import NewRound
from core.blobs import blob_store
from core.jobs.checkpoints.checkpoints import CheckpointFile, record_checkpoint
from core.models import AnnotationRound
from core.settings import get_settings
from data.schema import DatasetKind
from tests.core.factories import make_dataset, make_job, make_key, make_version, running
from trainer.events import CheckpointSaved
from trainer.spec import StageName
from worker.tasks import round_models


def policy(session: Session, owner: str, stage: StageName = "ppo", of_seed: int | None = None, **spec: Any) -> str:
    """The checkpoint of a new job. The blob store holds the files that a download needs."""
    spec["data"] = {"preferences": make_dataset(session, owner).id} | spec.pop("data", {})
    job = make_job(session, owner, **spec)
    running(session, job)
    event = CheckpointSaved(stage=stage, step=1, path=f"checkpoints/{stage}", final=True, seed=of_seed)
    file: CheckpointFile = {"path": "config.json", "bytes": 2, "sha256": sha256(b"{}").hexdigest()}
    found = record_checkpoint(session, job.id, 1, event, [file], f"at/{job.id}")
    with blob_store(get_settings()).draft(f"at/{job.id}/config.json") as draft:
        draft.write(b"{}")
        draft.keep()
    return found.id


def round_of(session: Session, owner: str, *policies: str, **source: Any) -> AnnotationRound:
    prompts = make_version(session, owner, DatasetKind.PROMPTS).dataset_id
    source |= {"type": "checkpoints", "checkpoints": policies, "prompts": prompts}
    kind = "pairs" if len(policies) == 2 else "ranking"
    made = rounds.create(session, owner, NewRound.model_validate({"source": source, "kind": kind}))
    session.commit()
    return made


@pytest.fixture
def owner(session: Session) -> str:
    return make_key(session).owner_id


def test_policies_of_different_jobs_and_a_model_of_none(session: Session, owner: str, tmp_path: Path) -> None:
    untemplated = {"chat_template": "none", "max_prompt_tokens": 100}
    first = policy(session, owner, data=untemplated, runtime={"device": "cpu"})
    second = policy(session, owner, data={"max_prompt_tokens": 900}, model={"path": "some/model", "dtype": "bfloat16"})
    round_ = round_of(session, owner, first, second, "some/model")
    task: Any = SimpleNamespace(report=lambda *_: None, blobs=blob_store(get_settings()))
    asked = [one.model_dump() for one in round_models._completion_request(task, round_, tmp_path).policies]
    as_first = {"chat_template": "none", "max_prompt_tokens": 100, "dtype": "auto", "device": "cpu"}
    as_second = {"chat_template": "auto", "max_prompt_tokens": 900, "dtype": "bfloat16", "device": "auto"}
    assert asked == [
        {"path": first, **as_first},
        {"path": second, **as_second},
        {"path": "some/model", **as_first},
    ]


def test_policies_of_a_job_with_seeds_name_theirs(session: Session, owner: str) -> None:
    round_ = round_of(session, owner, *(policy(session, owner, of_seed=seed, seeds=8) for seed in (0, 7)))
    assert [one["seed"] for one in round_.policies or []] == [0, 7]


def test_asking_response_length_is_the_longest_of_the_jobs(session: Session, owner: str) -> None:
    short, long = (policy(session, owner, ppo={"max_new_tokens": most}) for most in (40, 90))
    assert round_of(session, owner, short, long).source["max_new_tokens"] == 90
    assert round_of(session, owner, short, long, max_new_tokens=7).source["max_new_tokens"] == 7


def test_asking_job_without_ppo_uses_default_response_length(session: Session, owner: str) -> None:
    data = {"sft": make_dataset(session, owner, DatasetKind.SFT).id}
    tuned = policy(session, owner, "sft", stages=["sft"], data=data)
    assert round_of(session, owner, tuned, "some/model").source["max_new_tokens"] == 256
