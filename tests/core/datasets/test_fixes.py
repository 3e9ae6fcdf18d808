"""Requests for fixes, and the versions that they make."""

from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.datasets import fixes, reports, versions
from core.datasets.importing import BadRows
from core.errors import DatasetNotReady, InvalidRequest, QuotaExceeded
from core.models import Dataset, DatasetReport, DatasetVersion, DataTask
from core.settings import get_settings
from tests.core.factories import jsonl, make_key, make_version

GOOD = [{"prompt": f"p{n}", "chosen": "c", "rejected": "r"} for n in range(3)]
BAD = jsonl(GOOD[:1]) + b"no\n" + jsonl(GOOD[1:])


@pytest.fixture
def version(session: Session) -> DatasetVersion:
    return make_version(session, make_key(session).owner_id)


@pytest.fixture
def blocked(session: Session) -> DatasetVersion:
    return make_version(session, make_key(session).owner_id, content=BAD, bad_rows=BadRows.REPORT)


def reported(session: Session, version: DatasetVersion, **counts: int) -> DatasetReport:
    """A finished report with this number of rows for each finding. `length_bias` has no fix."""
    report = reports.request(session, version)
    report.result = {"special_tokens": [], "findings": [_finding(code, count) for code, count in counts.items()]}
    session.flush()
    return report


def _finding(code: str, count: int) -> dict[str, Any]:
    return {
        "code": code,
        "severity": "warning",
        "count": count,
        "fix": None if code == "length_bias" else {"id": "drop"},
    }


def apply(session: Session, version: DatasetVersion, *codes: str) -> DatasetVersion:
    return fixes.apply(session, blob_store(get_settings()), version, codes, None)


def test_a_fix_is_a_new_version_with_its_lineage(session: Session, version: DatasetVersion) -> None:
    report = reported(session, version, duplicate_rows=1, cycles=2, length_bias=0)
    made = apply(session, version, "cycles", "duplicate_rows", "cycles")
    assert (made.number, made.parent_id, made.status) == (2, version.id, "importing")
    assert made.origin == {"type": "fix", "version": 1, "report": report.id, "findings": ["cycles", "duplicate_rows"]}
    task = session.scalars(select(DataTask).filter_by(kind="fix")).one()
    assert (task.args["version"], task.args["parent"], task.args["report"]) == (made.id, version.id, report.id)


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (["length_bias"], "has no fix for length_bias. It can fix cycles"),
        (["cycles", "nope"], "has no fix for nope"),
        (["leave_out"], "has no fix for leave_out"),
        (["all"], "would leave no row: all names them all"),
    ],
)
def test_fix_of_unfixable_findings_is_refused(
    session: Session, version: DatasetVersion, codes: list[str], said: str
) -> None:
    reported(session, version, cycles=2, length_bias=0, all=3)
    with pytest.raises(InvalidRequest, match=said):
        apply(session, version, *codes)


def test_fix_beyond_the_open_imports_is_refused(
    session: Session, version: DatasetVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported(session, version, cycles=1)
    monkeypatch.setenv("PROXIMAL_MAX_OPEN_IMPORTS", "1")
    get_settings.cache_clear()
    apply(session, version, "cycles")
    with pytest.raises(QuotaExceeded, match="1 unfinished imports"):
        apply(session, version, "cycles")


def test_without_a_report_there_is_nothing_to_fix(session: Session, version: DatasetVersion) -> None:
    with pytest.raises(InvalidRequest, match="It can fix nothing"):
        apply(session, version, "cycles")


def test_a_version_without_rows_is_not_fixed(session: Session, version: DatasetVersion) -> None:
    dataset = session.get_one(Dataset, version.dataset_id)
    importing = versions.new_version(session, dataset, {"type": "upload"}, version)
    with pytest.raises(DatasetNotReady):
        apply(session, importing, "cycles")
    with pytest.raises(DatasetNotReady):
        reports.request(session, importing)


def test_leaving_bad_records_out_is_instant_and_keeps_the_rows(session: Session, blocked: DatasetVersion) -> None:
    made = apply(session, blocked, "leave_out")
    assert (made.status, made.sha256, made.left_out) == ("ready", blocked.sha256, 1)
    assert made.origin == {"type": "fix", "version": 1, "report": None, "findings": ["not_json"]}
    again = apply(session, blocked, "not_json")
    assert (again.status, again.number) == ("ready", 3)


def test_fix_of_blocked_version_must_resolve_import_findings(session: Session, blocked: DatasetVersion) -> None:
    reported(session, blocked, cycles=1)
    with pytest.raises(InvalidRequest, match="would leave blocking findings of the import undecided: add not_json"):
        apply(session, blocked, "cycles")
    made = apply(session, blocked, "cycles", "leave_out")
    assert (made.status, made.origin["findings"]) == ("importing", ["not_json", "cycles"])
