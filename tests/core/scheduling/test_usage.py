from datetime import UTC, datetime

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from core.__main__ import main
from core.errors import QuotaExceeded
from core.jobs.actions.retry import retry_job
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.models import Project
from core.quotas import quotas_of
from core.scheduling.usage import usage_of
from core.settings import Settings
from tests.core.factories import make_job, make_key


def _with_quotas(session: Session, **quotas: object) -> str:
    owner = session.get_one(Project, make_key(session).owner_id)
    owner.quotas = quotas
    session.commit()
    return owner.id


def test_usage_counts_open_and_running_jobs(session: Session, settings: Settings) -> None:
    owner = _with_quotas(session, gpus=8)
    make_job(session, owner, resources={"processes": 4})
    make_job(session, owner)
    attempts.claim(session, "wrk_1")
    session.execute(update(Project).values(month_use=7200.0, decayed_use=3600.0))
    found = usage_of(session, owner, settings)
    assert (found.open_jobs, found.running_jobs, found.gpus) == (2, 1, 4)
    assert 2.0 <= found.gpu_hours < 2.1 and 0.9 < found.decayed_gpu_hours < 1.1
    assert (found.quotas.gpus, found.quotas.open_jobs) == (8, settings.max_open_jobs)


def test_usage_period_is_the_calendar_month(session: Session, settings: Settings) -> None:
    found = usage_of(session, make_key(session).owner_id, settings)
    assert found.period_start == datetime(found.at.year, found.at.month, 1, tzinfo=UTC)
    assert found.period_start < found.at < found.period_end
    assert (found.period_end - found.period_start).days in (28, 29, 30, 31)


@pytest.mark.parametrize(
    ("quotas", "quota", "value"),
    [({"running_jobs": 1}, "running_jobs", 1), ({"gpus": 2}, "gpus", 3), ({"gpu_hours": 0}, "gpu_hours", 0)],
)
def test_submission_beyond_a_quota_is_refused(session: Session, quotas: dict[str, int], quota: str, value: int) -> None:
    owner = _with_quotas(session)
    make_job(session, owner)
    session.get_one(Project, owner).quotas = quotas | {"when_exceeded": "refuse"}
    session.commit()
    with pytest.raises(QuotaExceeded) as caught:
        make_job(session, owner, resources={"processes": 2})
    assert caught.value.extras == {"quota": quota, "limit": quotas[quota], "value": value}


def test_job_larger_than_the_gpu_quota_is_refused(session: Session, settings: Settings) -> None:
    """It could never start, whatever else runs."""
    owner = _with_quotas(session, gpus=2)
    job = make_job(session, owner, resources={"processes": 2})
    with pytest.raises(QuotaExceeded, match=r"takes 3 GPUs.*limit is 2 \(`gpus`\)") as caught:
        make_job(session, owner, resources={"processes": 3})
    assert caught.value.extras == {"quota": "gpus", "limit": 2, "value": 3, "param": "resources.processes"}
    session.rollback()
    request(session, job, Request.CANCEL, PLATFORM)
    session.get_one(Project, owner).quotas = {"gpus": 1}
    with pytest.raises(QuotaExceeded, match="takes 2 GPUs"):
        retry_job(session, job, PLATFORM, settings)


def test_submission_beyond_a_quota_waits_by_default(session: Session) -> None:
    owner = _with_quotas(session, running_jobs=1)
    first, second = make_job(session, owner), make_job(session, owner)
    assert attempts.claim(session, "wrk_1") is not None
    assert attempts.claim(session, "wrk_2") is None
    attempts.release(session, first.id, 1, "The worker stops.")
    assert (first.status, second.status) == ("queued", "queued")
    assert attempts.claim(session, "wrk_2") is not None


def test_owner_s_quotas_replace_defaults_and_may_be_none(session: Session, settings: Settings) -> None:
    owner = _with_quotas(session, open_jobs=None, stored_bytes=5)
    found = quotas_of(session, owner, settings.model_copy(update={"max_owner_gpus": 3}))
    assert (found.open_jobs, found.stored_bytes, found.gpus) == (None, 5, 3)


def test_command_sets_and_shows_quotas(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    owner = _with_quotas(session)
    assert main(["owners", "set", owner, "gpus=4", "gpu_hours=none", "when_exceeded=refuse"]) == 0
    session.expire_all()
    assert session.get_one(Project, owner).quotas == {"gpus": 4, "gpu_hours": None, "when_exceeded": "refuse"}
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["gpus", "4", "own", "0"] in lines and ["when_exceeded", "refuse", "own"] in lines
    assert main(["owners", "set", owner, "gpus=default"]) == 0
    assert main(["owners", "list"]) == 0
    assert "gpu_hours=none, when_exceeded=refuse" in capsys.readouterr().out


@pytest.mark.parametrize("argument", ["gpu=4", "gpus=-1", "gpus=many", "when_exceeded=explode"])
def test_command_refuses_a_wrong_quota(session: Session, argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    owner = _with_quotas(session)
    assert main(["owners", "set", owner, argument]) == 1
    assert "The quotas are open_jobs, stored_bytes" in capsys.readouterr().err
    assert main(["owners", "show", "key_nope"]) == 1
