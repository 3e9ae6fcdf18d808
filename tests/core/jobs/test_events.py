"""Writing and reading events, metrics, samples, checkpoints and progress."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.db import session_scope
from core.jobs.checkpoints.checkpoints import checkpoints_to_resume, prune_checkpoints, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.run import metrics, samples
from core.jobs.run.events import append_events, events_after
from core.jobs.run.metrics import MetricQuery
from core.jobs.run.progress import progress
from core.models import Checkpoint, JobMetrics
from tests.core.factories import make_job, running, start_events, step
from trainer.events import (
    CheckpointSaved,
    Message,
    Metrics,
    RunStarted,
    Sample,
    Samples,
    StageFinished,
    StagePlan,
    StageStarted,
)
from trainer.spec import StageName


def test_events_are_numbered_without_gaps_and_read_by_cursor(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    last = append_events(session, job.id, 1, [step(1), step(2)])
    seqs = [event.seq for event in events_after(session, job.id, 0, 100)]
    assert seqs == list(range(1, last + 1))
    assert [event.step for event in events_after(session, job.id, last - 2, 100)] == [1, 2]
    assert [event.seq for event in events_after(session, job.id, 0, 2)] == [1, 2]
    kinds = {event.type for event in events_after(session, job.id, 0, 100, ["metrics", "status_changed"])}
    assert kinds == {"metrics", "status_changed"}


def test_run_started_makes_a_job_running_once(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    assert job.status == "running"
    append_events(session, job.id, 1, start_events())
    changes = events_after(session, job.id, 0, 100, ["status_changed"])
    assert [change.data["to"] for change in changes] == ["queued", "starting", "running"]


def test_an_empty_batch_is_only_a_question(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    assert append_events(session, job.id, 1, []) == job.last_seq


def test_a_step_done_again_after_a_resume_replaces_the_first(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    append_events(session, job.id, 1, [step(1, kl=0.1), step(2, kl=0.2)])
    attempts.release(session, job.id, 1, "")
    running(session, job)
    append_events(session, job.id, 2, [*start_events(start_step=1), step(2, kl=9.0)])
    rows = session.scalars(select(JobMetrics).filter_by(job_id=job.id).order_by(JobMetrics.step)).all()
    assert [(row.step, row.attempt, row.values["kl"]) for row in rows] == [(1, 1, 0.1), (2, 2, 9.0)]


def test_append_events_later_metrics_of_a_step_replace_earlier(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    append_events(session, job.id, 1, [step(1, kl=0.1), step(1, kl=0.2)])
    (kl,), _ = metrics.series(session, job.id, MetricQuery(names=["kl"]))
    assert kl.last == [0.2]


def test_append_events_replaces_values_postgres_cannot_store(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    sample = Sample(prompt="a\x00b", response="ok", score=math.nan)
    batch = [step(1, kl=math.inf, loss=1.0), Samples(stage="ppo", step=1, rows=[sample]), Message(text="\x00")]
    append_events(session, job.id, 1, batch)
    found = samples.samples_at(session, job.id, None, None)
    assert found is not None
    assert found.data["rows"][0]["prompt"] == "a�b" and found.data["rows"][0]["score"] is None
    names = [one.name for one in metrics.series(session, job.id, MetricQuery())[0]]
    assert names == ["loss", "objective/scores"]


def test_few_points_are_exact(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    append_events(session, job.id, 1, [step(number, kl=number / 7) for number in range(1, 11)])
    (kl,), last_seq = metrics.series(session, job.id, MetricQuery("ppo", ["kl"], 3, 5, max_points=3))
    assert (kl.bucketed, kl.steps, kl.last) == (False, [3, 4, 5], [3 / 7, 4 / 7, 5 / 7])
    assert last_seq == job.last_seq


def test_many_points_become_buckets_that_keep_every_spike(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    kl = {number: float(number % 3) for number in range(1, 2001)}
    kl[777], kl[1234] = 1e6, -1e6
    append_events(session, job.id, 1, [step(number, 2000, kl=value) for number, value in kl.items()])
    (one,), _ = metrics.series(session, job.id, MetricQuery(names=["kl"], max_points=50))
    assert one.bucketed and 12 < len(one.steps) <= 50
    assert (max(one.max), min(one.min), sum(one.n)) == (1e6, -1e6, 2000)
    assert [kl[number] for number in one.steps] == one.last
    assert one.steps[-1] == 2000 and one.steps == sorted(one.steps)
    where = next(index for index, number in enumerate(one.steps) if number >= 777)
    assert one.max[where] == 1e6


def test_metrics_and_their_cursor_are_of_one_moment(session: Session) -> None:
    """A concurrent write is in both results or in neither."""
    job = make_job(session)
    running(session, job)
    append_events(session, job.id, 1, [step(1)])
    session.commit()
    session.scalars(select(func.now()))  # begins the transaction, as in a request
    with session_scope() as other:
        append_events(other, job.id, 1, [step(2)])
    found, last_seq = metrics.series(session, job.id, MetricQuery())
    newest = events_after(session, job.id, 0, 100)[-1]
    assert found[0].steps == [1, 2] and last_seq == newest.seq


def test_a_job_without_numbers_still_has_a_cursor(session: Session) -> None:
    job = make_job(session)
    assert metrics.series(session, job.id, MetricQuery()) == ([], 1)


def test_series_are_in_the_order_of_the_run(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    sft = Metrics(stage="sft", step=1, total_steps=1, values={"loss": 1.0})
    append_events(session, job.id, 1, [step(1), sft])
    assert [one.stage for one in metrics.series(session, job.id, MetricQuery())[0]] == ["sft", "ppo"]


def test_the_newest_samples_of_a_step_count(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    said = [
        Samples(stage="ppo", step=n, rows=[Sample(prompt="p", response=text)])
        for n, text in ((5, "old"), (7, "x"), (5, "new"))
    ]
    append_events(session, job.id, 1, said)
    at_five = samples.samples_at(session, job.id, "ppo", 5)
    assert at_five is not None and at_five.data["rows"][0]["response"] == "new"
    assert samples.sample_steps(session, job.id, None) == [(None, "ppo", 5), (None, "ppo", 7)]
    assert samples.samples_at(session, job.id, "sft", None) is None


def _save(session: Session, job_id: str, number: int, final: bool = False, attempt: int = 1) -> None:
    path = "checkpoints/ppo" if final else f"checkpoints/ppo-{number:06d}"
    saved = CheckpointSaved(stage="ppo", step=number, path=path, final=final, metrics={"kl": 0.1})
    record_checkpoint(
        session, job_id, attempt, saved, [{"path": "a/b.json", "bytes": 3, "sha256": "s"}], f"at/{number}"
    )


def test_only_the_newest_intermediate_checkpoints_are_kept(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    for number in (10, 20, 30):
        _save(session, job.id, number)
    assert prune_checkpoints(session, job.id, 1) == ["at/10"]
    assert [found.step for found in checkpoints_to_resume(session, job.id)] == [30]
    _save(session, job.id, 40, final=True)
    assert [found.final for found in checkpoints_to_resume(session, job.id)] == [True]


def test_a_checkpoint_saved_again_replaces_the_first(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    _save(session, job.id, 10)
    attempts.release(session, job.id, 1, "")
    running(session, job)
    _save(session, job.id, 10, attempt=2)
    (only,) = checkpoints_to_resume(session, job.id)
    assert (only.attempt, only.bytes) == (2, 3)
    assert prune_checkpoints(session, job.id, 2) == ["at/10"]
    assert [found.attempt for found in session.scalars(select(Checkpoint))] == [2]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a\\..\\x", "a//b", "./a", "", "a\x00"])
def test_a_file_name_cannot_leave_its_checkpoint(session: Session, path: str) -> None:
    job = make_job(session)
    running(session, job)
    saved = CheckpointSaved(stage="ppo", step=1, path="x", final=False)
    with pytest.raises(ValueError, match="not a plain relative path"):
        record_checkpoint(session, job.id, 1, saved, [{"path": path, "bytes": 1, "sha256": ""}], "p")


def test_progress_follows_the_events(session: Session) -> None:
    job = make_job(session)
    assert progress(job) is None
    running(session, job)
    begin = datetime(2026, 1, 2, tzinfo=UTC)
    job.step_at = begin
    seconds = [step(n).model_copy(update={"at": (begin + timedelta(seconds=2 * n)).timestamp()}) for n in (1, 2)]
    append_events(session, job.id, 1, seconds)
    now = progress(job, begin + timedelta(seconds=5))
    assert now is not None
    assert (now.stage, now.step, now.total_steps, now.stage_index, now.stage_count) == ("ppo", 2, 10, 1, 2)
    assert now.fraction == pytest.approx((1 + 6 * 0.2) / 7)
    assert now.eta_seconds == 15  # eight steps of 2 s, of which 1 s is over
    append_events(session, job.id, 1, [StageFinished(stage="ppo", seconds=1.0)])
    done = progress(job)
    assert done is not None and done.fraction == 1.0


def test_progress_has_the_most_steps_until_they_are_known(session: Session) -> None:
    """Value pretraining may take 8 of at most 12 steps, and takes 3, so 7 are left."""
    job = make_job(session)
    attempts.claim(session, "wrk_1")
    plan = [StagePlan(stage="ppo", total_steps=12, at_most=True)]
    begun = RunStarted(stages=plan, device="cpu", threads=1, versions={})
    append_events(session, job.id, 1, [begun, StageStarted(stage="ppo", total_steps=12)])
    found = []
    for done, total in ((2, 12), (3, 7)):
        append_events(session, job.id, 1, [Metrics(stage="ppo", step=done, total_steps=total, values={})])
        now = progress(job)
        assert now is not None
        found.append((now.step, now.at_most, now.total_steps, now.fraction))
    assert found == [(2, True, 12, pytest.approx(2 / 12)), (3, False, 7, pytest.approx(3 / 7))]


@pytest.mark.parametrize(
    ("stages", "present", "fraction"),
    [
        (["sft"], "sft", 0.5),
        (["dpo"], "dpo", 0.5),
        (["sft", "dpo", "evaluation"], "dpo", 0.5),
        (["ppo", "evaluation"], "ppo", 3 / 7),
        (["reward_model"], "reward_model", 0.5),
    ],
)
def test_progress_is_of_the_stages_that_the_job_has(
    session: Session, stages: list[StageName], present: StageName, fraction: float
) -> None:
    job = make_job(session)
    attempts.claim(session, "wrk_1")
    plan = [StagePlan(stage=stage, total_steps=4) for stage in stages]
    begun = RunStarted(stages=plan, device="cpu", threads=1, versions={})
    half = Metrics(stage=present, step=2, total_steps=4, values={})
    append_events(session, job.id, 1, [begun, StageStarted(stage=present, total_steps=4), half])
    now = progress(job)
    assert now is not None and now.fraction == pytest.approx(fraction)
    assert (now.stage_index, now.stage_count) == (stages.index(present), len(stages))
