"""The formats that are understood, and exports."""

from pathlib import Path

from client.sdk.connection import Connection
from client.sdk.types import DatasetFormat


class Formats(Connection):
    """`/v1/reference/formats`, `/v1/datasets/…/export`"""

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
