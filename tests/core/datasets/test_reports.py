"""Requests for reports."""

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core import tasks
from core.datasets import reports
from core.errors import InvalidRequest, NotFound
from core.models import DatasetVersion, DataTask
from core.models.tasks import TaskStatus
from core.settings import get_settings
from tests.core.factories import make_key, make_version


@pytest.fixture
def version(session: Session) -> DatasetVersion:
    """A ready version. Its report was requested when its rows were stored."""
    return make_version(session, make_key(session).owner_id)


def queued(session: Session) -> int:
    return session.scalars(select(func.count()).select_from(DataTask).filter_by(kind="report")).one()


def test_reports_equal_options_share_one_report(session: Session, version: DatasetVersion) -> None:
    first = reports.request(session, version)
    assert reports.request(session, version, {"max_prompt_tokens": 9, "model": None}).id == first.id
    with_model = reports.request(session, version, {"model": "m", "max_prompt_tokens": 9})
    assert reports.request(session, version, {"max_prompt_tokens": 9, "model": "m"}).id == with_model.id != first.id
    assert reports.request(session, version, {"model": "m"}).id != with_model.id
    assert queued(session) == 3


def test_reports_failed_one_is_made_again(session: Session, version: DatasetVersion) -> None:
    report = reports.request(session, version)
    task = session.get_one(DataTask, report.task_id)
    tasks.end(session, task, TaskStatus.FAILED, {"code": "x", "message": "y"})
    again = reports.request(session, version)
    assert again.id == report.id and again.task_id != task.id
    details = reports.get(session, version.dataset_id, report.id)
    assert (details.task.status, details.version.id) == ("queued", version.id)


def test_the_newest_finished_one_counts(session: Session, version: DatasetVersion) -> None:
    report = reports.request(session, version)
    assert reports.newest(session, version) is None
    report.result = {"findings": []}
    session.flush()
    assert reports.newest(session, version) == report


def test_a_model_must_be_allowed(session: Session, version: DatasetVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIMAL_LOCAL_MODELS", "/models")
    get_settings.cache_clear()
    assert reports.request(session, version, {"model": "/models/one"})
    for model in ("/etc", "../x", "/models/../etc"):
        with pytest.raises(InvalidRequest, match="local models"):
            reports.request(session, version, {"model": model})
    with pytest.raises(NotFound, match="no checkpoint"):
        reports.request(session, version, {"model": "ckpt_other"})
