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
        """Make a dataset of a complete upload; its version 1 is `importing` at first. Arguments that are left out are detected."""
        told = {"upload": upload_id, "name": name, "kind": kind, "format": format, "mapping": mapping}
        more = {"bad_rows": bad_rows, "encoding": encoding}
        body = {key: value for key, value in {**told, **more}.items() if value is not None}
        answer: Dataset = self._request("POST", "/v1/datasets", json=body).json()
        return answer

    def list_datasets(
        self, kind: str | None = None, search: str | None = None, archived: bool | None = None
    ) -> Iterator[Dataset]:
        """Newest first. `search`: in their names."""
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
        """`sample` rows at random, the same for the same seed."""
        return list(self._get(f"/v1/datasets/{dataset_id}/rows", sample=sample, seed=seed, **filters)["data"])

    def compare_datasets(self, dataset: str, other: str) -> Overlap:
        """Prompts of `dataset` that `other` holds too, equal or nearly; each is `ds_…`, `ds_…@2` or `ds_…@sha256:…`."""
        answer: Overlap = self._get("/v1/datasets/overlap", dataset=dataset, other=other)
        return answer

    def list_dataset_tasks(self, dataset_id: str) -> list[DataTask]:
        """Its data tasks, newest first."""
        return list(self._get(f"/v1/datasets/{dataset_id}/tasks")["data"])

    def cancel_dataset_task(self, dataset_id: str, task_id: str) -> DataTask:
        """Stop it; a version that it was to make has failed then."""
        answer: DataTask = self._request("POST", f"/v1/datasets/{dataset_id}/tasks/{task_id}/cancel").json()
        return answer

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

    def list_formats(self) -> list[DatasetFormat]:
        """Each with an example and the rows that it becomes."""
        return list(self._get("/v1/reference/formats")["data"])

    def export_dataset(self, dataset_id: str, target: Path, format: str = "trl", version: int | None = None) -> int:
        """Write a version's rows to a file that appears when it is whole: `trl`, `openai`, `parquet` or `rows`.

        Answers how many rows have no place in the format.
        """
        draft = target.with_name(f".{target.name}.part")
        params = {"format": format} | ({} if version is None else {"version": version})
        with self._stream(f"/v1/datasets/{dataset_id}/export", params=params) as response, draft.open("wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
        draft.replace(target)
        return int(response.headers.get("X-Proximal-Left-Out", 0))
