"""Methods that OpenAPI cannot describe: samples of a dataset's rows, and the exports of a dataset and of the audit log to a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proximal.sdk.connection import escaped, given
from proximal.sdk.operations import Operations
from proximal.sdk.types import DatasetRow


class AuditLog(Operations):
    """The export of the audit log."""

    def export_audit_log(self, target: str | Path, format: str = "jsonl", **filters: Any) -> Path:
        """Write the audit log to `target`, the oldest row first. The file appears once it is complete. Returns its path.

        Formats: `jsonl`, `csv`. `filters`: those of `list_audit_rows`, without `order`.
        """
        self._download("/v1/audit/export", target, params=given({"format": format, **filters}))
        return Path(target)


class Datasets(AuditLog):
    """Samples and exports of datasets."""

    def sample_dataset_rows(self, dataset_id: str, sample: int, seed: int = 0, **filters: Any) -> list[DatasetRow]:
        """`sample` random rows. The same seed gives the same rows. `filters`: those of `list_dataset_rows`."""
        return list(self.list_dataset_rows(dataset_id, sample=sample, seed=seed, **filters))

    def export_dataset(
        self, dataset_id: str, target: str | Path, format: str = "trl", version: int | None = None
    ) -> dict[str, int]:
        """Write a version's rows to `target`, which appears once it is complete.

        Formats: `trl`, `openai`, `openrlhf`, `verl`, `llama_factory`, `parquet`, `rows`. Returns the number of rows with each
        property that the format cannot hold, such as `{"ties": 2}`; an empty dict means that the file holds everything.
        """
        path, params = f"/v1/datasets/{escaped(dataset_id)}/export", given({"format": format, "version": version})
        return not_carried(self._download(path, target, params=params))


def not_carried(headers: Mapping[str, str]) -> dict[str, int]:
    """The counts in the headers of an export."""
    pairs = (pair.strip().partition("=") for pair in headers.get("X-Proximal-Not-Carried", "").split(",") if pair)
    return {name: int(count) for name, _, count in pairs}
