"""The expected time of a run, from rows that are worked out by hand."""

from typing import Any

import pytest
from sqlalchemy.orm import Session

from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.jobs.submission.estimates import RunTime, estimate
from core.models import Job
from core.models.jobs import JobStatus
from tests.core.factories import make_job, make_key
from trainer.events import RunStarted, StageFinished, StagePlan
from trainer.preflight.report import StageEstimate

PLAN = [StagePlan(stage="sft", total_steps=10), StagePlan(stage="ppo", total_steps=4)]
STAGES = [
    StageEstimate(stage="sft", steps=30, optimizer_steps=30, tokens=1),
    StageEstimate(stage="ppo", steps=8, optimizer_steps=8, tokens=1),
]
SPEC: dict[str, Any] = {"model": "some/model", "ppo": {}}


@pytest.fixture
def owner(session: Session) -> str:
    return make_key(session).owner_id


def finished(session: Session, owner: str, sft: float, ppo: float, device: str = "cuda", **spec: Any) -> Job:
    """A job that succeeded, whose stages took these seconds."""
    job = make_job(session, owner, **(SPEC | spec))
    claim = attempts.claim(session, "wrk_1")
    assert claim is not None and claim.job_id == job.id
    began = RunStarted(stages=PLAN, device=device, threads=1, versions={})
    ends = [StageFinished(stage="sft", seconds=sft), StageFinished(stage="ppo", seconds=ppo)]
    append_events(session, job.id, claim.attempt, [began, *ends])
    attempts.finish(session, job.id, claim.attempt, JobStatus.SUCCEEDED, "", summary={})
    session.commit()
    return job


def expected(session: Session, owner: str, **spec: Any) -> RunTime:
    wanted = make_job(session, owner, **(SPEC | spec))
    return estimate(session, owner, wanted.spec, STAGES)


def test_estimate_without_runs_has_a_reason_and_no_figure(session: Session, owner: str) -> None:
    time = expected(session, owner)
    assert (time.seconds, time.gpu_hours, time.device) == (None, None, None)
    assert time.reason is not None and "ran sft, ppo with the same model" in time.reason
    assert [(stage.steps, stage.seconds_per_step, stage.jobs) for stage in time.stages] == [
        (30, None, []),
        (8, None, []),
    ]


def test_estimate_is_the_median_of_earlier_runs(session: Session, owner: str) -> None:
    """SFT took 2, 3 and 7 s per step, PPO 10, 30 and 20: 30 × 3 + 8 × 20 = 250 s."""
    runs = [finished(session, owner, *seconds) for seconds in ((20, 40), (30, 120), (70, 80))]
    time = expected(session, owner)
    assert [(stage.seconds_per_step, stage.seconds) for stage in time.stages] == [(3, 90), (20, 160)]
    assert time.stages[0].jobs == [run.id for run in reversed(runs)]
    assert (time.seconds, time.gpu_hours, time.device, time.reason) == (250, 250 / 3600, "cuda", None)


def test_estimate_counts_every_seed_and_every_gpu(session: Session, owner: str) -> None:
    """Two seeds of 250 s on four GPUs."""
    resources = {"processes": 4}
    finished(session, owner, 30, 80, resources=resources)
    time = expected(session, owner, resources=resources, seeds=2)
    assert (time.seconds, time.gpu_hours) == (500, 4 * 500 / 3600)


@pytest.mark.parametrize(
    ("difference", "unknown"),
    [
        ({"model": "other/model"}, ["sft", "ppo"]),
        ({"resources": {"processes": 2}}, ["sft", "ppo"]),
        ({"runtime": {"packing": "off"}}, ["sft", "ppo"]),
        ({"sft": {"batch_size": 64}}, ["sft"]),
        ({"ppo": {"max_new_tokens": 65}}, ["ppo"]),
        ({"ppo": {"steps": 7, "learning_rate": 1e-7}, "sft": {"epochs": 3}}, []),
    ],
)
def test_estimate_uses_runs_of_the_same_shape_only(
    session: Session, owner: str, difference: dict[str, Any], unknown: list[str]
) -> None:
    finished(session, owner, 30, 80)
    time = expected(session, owner, **difference)
    assert [stage.stage for stage in time.stages if stage.seconds is None] == unknown
    assert (time.seconds is None) == bool(unknown)


def test_estimate_mixes_neither_devices_nor_owners(session: Session, owner: str) -> None:
    """The newest run of the owner was on a CPU."""
    finished(session, owner, 30, 80, "cuda")
    newest = finished(session, owner, 300, 800, "cpu")
    finished(session, make_key(session, "other").owner_id, 1, 1)
    time = expected(session, owner)
    assert (time.seconds, time.device, time.stages[0].jobs) == (30 * 30 + 8 * 200, "cpu", [newest.id])


def test_estimate_of_unknown_steps_has_a_reason(session: Session, owner: str) -> None:
    time = estimate(session, owner, make_job(session, owner, **SPEC).spec, [])
    assert time.seconds is None and time.reason == "The check could not count the steps of the run."
