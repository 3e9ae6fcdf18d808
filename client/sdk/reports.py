"""What is wrong with a version, and what can be done about it."""

from collections.abc import Iterator, Sequence
from typing import Any

from client.sdk.connection import Connection
from client.sdk.types import DatasetVersion, Report


class Reports(Connection):
    """`/v1/datasets/…/reports, /v1/datasets/…/fixes`"""

    def request_report(self, dataset_id: str, **wishes: Any) -> Report:
        """Have a version looked at. `wishes`: version, model, chat_template, max_prompt_tokens, max_completion_tokens,
        eval_fraction; what is left out is the newest version, and a job's defaults."""
        body = {name: value for name, value in wishes.items() if value is not None}
        answer: Report = self._request("POST", f"/v1/datasets/{dataset_id}/reports", json=body).json()
        return answer

    def list_reports(self, dataset_id: str, version: int | None = None) -> Iterator[Report]:
        """Newest first."""
        return self._pages(f"/v1/datasets/{dataset_id}/reports", version=version)

    def get_report(self, dataset_id: str, report_id: str) -> Report:
        """How far it is, and what was found."""
        answer: Report = self._get(f"/v1/datasets/{dataset_id}/reports/{report_id}")
        return answer

    def apply_fixes(
        self, dataset_id: str, findings: Sequence[str], version: int | None = None, report: str | None = None
    ) -> DatasetVersion:
        """A new version without what these findings find; it may be importing at first. `leave_out`: whatever the import
        could not use."""
        given = {"findings": list(findings), "version": version, "report": report}
        body = {name: value for name, value in given.items() if value is not None}
        answer: DatasetVersion = self._request("POST", f"/v1/datasets/{dataset_id}/fixes", json=body).json()
        return answer
