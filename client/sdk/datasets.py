"""Datasets: versions, rows, reports, fixes, formats, export."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from client.sdk.connection import Connection
from client.sdk.types import Dataset, DatasetFormat, DatasetRow, DatasetVersion, DataTask, Overlap, Report


class Datasets(Connection):
    """`/v1/datasets`"""

    def import_upload(
        self,
        upload_id: str,
        name: str | None = None,
        kind: str | None = None,
        format: str | None = None,
        mapping: Mapping[str, Any] | None = None,
        bad_rows: str | None = None,
        encoding: str | None = None,
    ) -> Dataset:
        """Create a dataset from a complete upload. Its version 1 is `importing` first. Omitted arguments are detected."""
        basic = {"upload": upload_id, "name": name, "kind": kind, "format": format, "mapping": mapping}
        more = {"bad_rows": bad_rows, "encoding": encoding}
        body = {key: value for key, value in {**basic, **more}.items() if value is not None}
        answer: Dataset = self._request("POST", "/v1/datasets", json=body).json()
        return answer

    def list_datasets(
        self, kind: str | None = None, search: str | None = None, archived: bool | None = None
    ) -> Iterator[Dataset]:
        """Newest first. `search`: only datasets whose name contains this text."""
        return self._pages("/v1/datasets", kind=kind, search=search, archived=archived)

    def get_dataset(self, dataset_id: str) -> Dataset:
        answer: Dataset = self._get(f"/v1/datasets/{dataset_id}")
        return answer

    def change_dataset(self, dataset_id: str, **changes: Any) -> Dataset:
        """`name`, `expires_at` (RFC 3339; None: never)."""
        answer: Dataset = self._request("PATCH", f"/v1/datasets/{dataset_id}", json=changes).json()
        return answer

    def archive_dataset(self, dataset_id: str) -> Dataset:
        answer: Dataset = self._request("POST", f"/v1/datasets/{dataset_id}/archive").json()
        return answer

    def unarchive_dataset(self, dataset_id: str) -> Dataset:
        answer: Dataset = self._request("POST", f"/v1/datasets/{dataset_id}/unarchive").json()
        return answer

    def delete_dataset(self, dataset_id: str) -> None:
        self._request("DELETE", f"/v1/datasets/{dataset_id}")

    def list_dataset_versions(self, dataset_id: str) -> Iterator[DatasetVersion]:
        """Newest first."""
        return self._pages(f"/v1/datasets/{dataset_id}/versions")

    def get_dataset_version(self, dataset_id: str, number: int) -> DatasetVersion:
        answer: DatasetVersion = self._get(f"/v1/datasets/{dataset_id}/versions/{number}")
        return answer

    def list_dataset_rows(self, dataset_id: str, after: int = 0, **filters: Any) -> Iterator[DatasetRow]:
        """In order. `filters`: version, search, finding, report, split, eval_fraction."""
        return self._pages(f"/v1/datasets/{dataset_id}/rows", after=after, **filters)

    def sample_dataset_rows(self, dataset_id: str, sample: int, seed: int = 0, **filters: Any) -> list[DatasetRow]:
        """`sample` random rows. The same seed gives the same rows."""
        return list(self._get(f"/v1/datasets/{dataset_id}/rows", sample=sample, seed=seed, **filters)["data"])

    def compare_datasets(self, dataset: str, other: str) -> Overlap:
        """Prompts that both datasets hold, equal or nearly equal. References: `ds_…`, `ds_…@2` or `ds_…@sha256:…`."""
        answer: Overlap = self._get("/v1/datasets/overlap", dataset=dataset, other=other)
        return answer

    def list_dataset_tasks(self, dataset_id: str) -> list[DataTask]:
        """Its data tasks, newest first."""
        return list(self._get(f"/v1/datasets/{dataset_id}/tasks")["data"])

    def cancel_dataset_task(self, dataset_id: str, task_id: str) -> DataTask:
        """Return the cancelled task. The version that it was making is then `failed`."""
        answer: DataTask = self._request("POST", f"/v1/datasets/{dataset_id}/tasks/{task_id}/cancel").json()
        return answer

    def request_report(self, dataset_id: str, **settings: Any) -> Report:
        """Request a report on a version. `settings`: version (default: the newest), model, chat_template, max_prompt_tokens,
        max_completion_tokens and eval_fraction (default: the defaults of a job)."""
        body = {name: value for name, value in settings.items() if value is not None}
        answer: Report = self._request("POST", f"/v1/datasets/{dataset_id}/reports", json=body).json()
        return answer

    def list_reports(self, dataset_id: str, version: int | None = None) -> Iterator[Report]:
        """Newest first."""
        return self._pages(f"/v1/datasets/{dataset_id}/reports", version=version)

    def get_report(self, dataset_id: str, report_id: str) -> Report:
        """A report with its progress and its findings."""
        answer: Report = self._get(f"/v1/datasets/{dataset_id}/reports/{report_id}")
        return answer

    def apply_fixes(
        self, dataset_id: str, findings: Sequence[str], version: int | None = None, report: str | None = None
    ) -> DatasetVersion:
        """Create a version in which these findings are fixed. It may be `importing` first. `leave_out` stands for the records
        that the import could not use."""
        given = {"findings": list(findings), "version": version, "report": report}
        body = {name: value for name, value in given.items() if value is not None}
        answer: DatasetVersion = self._request("POST", f"/v1/datasets/{dataset_id}/fixes", json=body).json()
        return answer

    def list_formats(self) -> list[DatasetFormat]:
        """The formats, each with an example and the rows that result from it."""
        return list(self._get("/v1/reference/formats")["data"])

    def export_dataset(self, dataset_id: str, target: Path, format: str = "trl", version: int | None = None) -> int:
        """Write a version's rows to `target`, which appears once it is complete. Formats: `trl`, `openai`, `parquet`, `rows`.

        Returns the number of rows that the format cannot hold.
        """
        draft = target.with_name(f".{target.name}.part")
        params = {"format": format} | ({} if version is None else {"version": version})
        with self._stream(f"/v1/datasets/{dataset_id}/export", params=params) as response, draft.open("wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
        draft.replace(target)
        return int(response.headers.get("X-Proximal-Left-Out", 0))
