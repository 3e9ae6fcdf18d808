"""Fixes of findings. Each makes a new version of the dataset; the old version stays unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from core import quotas, tasks
from core.blobs import BlobStore
from core.datasets import publish, reports, versions
from core.errors import InvalidRequest
from core.models import Dataset, DatasetReport, DatasetVersion
from core.settings import get_settings

FIX = "fix"
"""The kind of the data task that makes the version."""
LEAVE_OUT = "leave_out"
"""The fix of an import's findings: the user agrees that their records, which are not among the rows, stay left out.

This code stands for all findings of the import.
"""
DROP, STRIP = "drop", "strip"
"""Fixes of a report's findings: leave out the rows that they name, or change their texts."""


@dataclass(frozen=True)
class _RequestedFixes:
    left_out: list[str]
    """Codes of the import's findings."""
    reported: list[str]
    """Codes of the report's."""
    report: DatasetReport | None


def apply(
    session: Session, blobs: BlobStore, version: DatasetVersion, codes: Sequence[str], report: DatasetReport | None
) -> DatasetVersion:
    """Make a version with the findings fixed. It is ready at once if its rows are unchanged, otherwise `importing`.

    `report` has the findings; None: the newest report on the version. Raises InvalidRequest for a code without a fix, and if a
    blocking finding of the import would stay undecided. Raises DatasetNotReady or DatasetFailed for a version without rows,
    and QuotaExceeded.
    """
    reports.require_rows(version)
    wanted = _requested_fixes(version, codes, report or reports.newest(session, version))
    _refuse_undecided(version, wanted)
    origin: dict[str, Any] = {"type": "fix", "version": version.number, "report": wanted.report and wanted.report.id}
    origin["findings"] = [*wanted.left_out, *wanted.reported]
    if not wanted.reported:
        return publish.same_rows(session, blobs, version, origin)
    _refuse_emptying(version, wanted)
    quotas.check_open_imports(session, version.dataset.owner_id, get_settings())
    made = versions.new_version(session, session.get_one(Dataset, version.dataset_id), origin, version)
    args = {"dataset": version.dataset_id, "version": made.id, "parent": version.id, "findings": wanted.reported}
    tasks.enqueue(session, version.dataset.owner_id, FIX, args | {"report": origin["report"]})
    return made


def fix_of(result: dict[str, Any] | None, code: str) -> str | None:
    """`drop` or `strip`; None if the report has no such finding, or the finding has no fix."""
    matching = next((finding for finding in (result or {}).get("findings", ()) if finding["code"] == code), None)
    return None if matching is None or matching["fix"] is None else str(matching["fix"]["id"])


def _requested_fixes(version: DatasetVersion, codes: Sequence[str], report: DatasetReport | None) -> _RequestedFixes:
    imported = [f["code"] for f in version.findings if f["fix"] is not None and f["fix"]["id"] == LEAVE_OUT]
    asked = list(dict.fromkeys(codes))
    left_out = imported if LEAVE_OUT in asked else [code for code in imported if code in asked]
    reported = [code for code in asked if code not in left_out and code != LEAVE_OUT]
    result = None if report is None else report.result
    unfit = [code for code in reported if fix_of(result, code) is None]
    if LEAVE_OUT in asked and not imported:
        unfit.append(LEAVE_OUT)
    if unfit:
        can = [
            finding["code"] for finding in (result or {}).get("findings", ()) if finding["fix"] is not None
        ] + imported
        raise _unfit(f"has no fix for {', '.join(unfit)}. It can fix {', '.join(can) or 'nothing'}")
    return _RequestedFixes(left_out, reported, report if reported else None)


def _refuse_undecided(version: DatasetVersion, wanted: _RequestedFixes) -> None:
    rest = [f["code"] for f in version.findings if f["severity"] == "blocking" and f["code"] not in wanted.left_out]
    if rest:
        raise _unfit(
            f"would leave blocking findings of the import undecided: add {', '.join(rest)}, or {LEAVE_OUT} for all"
        )


def _refuse_emptying(version: DatasetVersion, wanted: _RequestedFixes) -> None:
    """Raises InvalidRequest if one finding names every row. Several findings together are checked by the data task."""
    assert wanted.report is not None and wanted.report.result is not None and version.content is not None
    for finding in wanted.report.result["findings"]:
        if (
            finding["code"] in wanted.reported
            and finding["fix"]["id"] == DROP
            and finding["count"] == version.content.rows
        ):
            raise _unfit(f"would leave no row: {finding['code']} names them all")


def _unfit(detail: str) -> InvalidRequest:
    errors = [{"pointer": "#/findings", "detail": detail}]
    return InvalidRequest(f"This version {detail}.", param="findings", errors=errors)
