"""Uploads that come in parts, imports from elsewhere, and files made datasets in one call."""

import codecs
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from client.errors import ApiError
from client.sdk.datasets import Datasets
from client.sdk.multipart import MultipartUpload, Progress, persistently
from client.sdk.types import Dataset, DatasetError, Upload, UploadLimits, UploadPart, UploadPartSum, UploadPreview

SMALL = 16 * 1024 * 1024
"""Bytes. Up to here, a file goes in one request."""
_LONGEST_NAME = 200
"""Longest name of a dataset. A longer file name is cut to this length."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
T = TypeVar("T")
Importing = Callable[[float, str], None]
"""Is told how far an import is, from 0 to 1, and at what."""


class Uploads(Datasets):
    """`/v1/uploads`"""

    def upload_dataset(  # noqa: PLR0913  # one for each thing that can be said of a file
        self,
        file: Path,
        kind: str | None = None,
        name: str = "",
        *,
        format: str | None = None,
        mapping: Mapping[str, Any] | None = None,
        encoding: str | None = None,
        bad_rows: str = "refuse",
        progress: Progress | None = None,
        importing: Importing | None = None,
    ) -> Dataset:
        """Upload a file and wait until it is a dataset. Kind, format, mapping and encoding are detected if they are not given.

        A small file is sent in one request, a large one in parts, several at a time. A repeated call resumes an interrupted
        upload or import. `bad_rows` is `refuse` (ApiError `invalid_dataset`, nothing is stored), `report` (the dataset is
        `blocked` until the user decides), or `leave_out`.
        """
        said: dict[str, Any] = {"name": name or None, "kind": kind, "format": format, "mapping": mapping}
        said |= {"encoding": _usual(encoding)}
        if file.stat().st_size <= SMALL:
            try:
                return self._upload_at_once(file, said | {"bad_rows": bad_rows})
            except ApiError as error:
                if error.code != "too_large":  # the platform may take less at once
                    raise
        upload = self.upload_file(file, progress)
        dataset = self._begun(upload, said, bad_rows) or self.import_upload(upload["id"], **said, bad_rows=bad_rows)
        dataset = self.wait_for_dataset(dataset["id"], importing)
        if dataset["status"] == "ready":
            self._tidy(upload["id"])
        return dataset

    def upload_file(self, file: Path, progress: Progress | None = None) -> Upload:
        """Send a file in parts; the complete upload. A try that was interrupted is taken up."""
        return MultipartUpload(self, file, progress).run()

    def wait_for_dataset(self, dataset_id: str, importing: Importing | None = None) -> Dataset:
        """Once its newest version is made. Where that could not be, the reason is raised as ApiError; a dataset that has no
        other version is removed."""
        dataset = _patiently(lambda: self.get_dataset(dataset_id), lambda found: _is_imported(found, importing))
        if dataset["status"] == "failed":
            if dataset["version"] == 1:
                self.delete_dataset(dataset_id)
            raise ApiError(422, _problem(dataset["error"]))
        return dataset

    def wait_for_upload(self, upload_id: str, progress: Progress | None = None) -> Upload:
        """Once it has been fetched. ApiError if it could not be."""

        def is_over(upload: Upload) -> bool:
            if progress is not None:
                progress(upload["bytes_received"], upload["bytes"] or 0)
            return upload["status"] != "fetching"

        upload = _patiently(lambda: self.get_upload(upload_id), is_over)
        if upload["error"] is not None:
            raise ApiError(422, {"code": upload["error"]["code"], "detail": upload["error"]["message"]})
        return upload

    # One method for each operation

    def create_upload(self, filename: str, size: int, sha256: str | None = None) -> Upload:
        """A file of `size` bytes that is to come in parts."""
        body = {"filename": filename, "bytes": size, "sha256": sha256}
        answer: Upload = self._request("POST", "/v1/uploads", json=body).json()
        return answer

    def create_upload_from(self, url: str, filename: str | None = None) -> Upload:
        """A file that the platform is to fetch: https://…, s3://…, hf://datasets/…, file:///…, as its operator allows."""
        answer: Upload = self._request("POST", "/v1/uploads/from", json={"url": url, "filename": filename}).json()
        return answer

    def list_uploads(self, status: str | None = None) -> Iterator[Upload]:
        """Newest first. `status`: open, fetching, complete or failed."""
        return self._pages("/v1/uploads", status=status)

    def get_upload(self, upload_id: str) -> Upload:
        answer: Upload = self._get(f"/v1/uploads/{upload_id}")
        return answer

    def put_upload_part(
        self, upload_id: str, number: int, content: bytes | Iterable[bytes], size: int | None = None
    ) -> UploadPart:
        """Send one part, numbered from 1; `size` where `content` comes in pieces."""
        headers = {"Content-Type": "application/octet-stream"}
        if size is not None:
            headers["Content-Length"] = str(size)
        path = f"/v1/uploads/{upload_id}/parts/{number}"
        answer: UploadPart = self._request("PUT", path, content=content, headers=headers).json()
        return answer

    def get_upload_part(self, upload_id: str, number: int) -> UploadPartSum:
        """A part that has arrived, with its SHA-256."""
        answer: UploadPartSum = self._get(f"/v1/uploads/{upload_id}/parts/{number}")
        return answer

    def complete_upload(self, upload_id: str, sha256: str | None = None) -> Upload:
        """All parts have been sent; `sha256` of the whole is checked, where it is given."""
        body = {"sha256": sha256}
        answer: Upload = self._request("POST", f"/v1/uploads/{upload_id}/complete", json=body, timeout=None).json()
        return answer

    def delete_upload(self, upload_id: str) -> None:
        """Give it up. Datasets that were made of it stay."""
        self._request("DELETE", f"/v1/uploads/{upload_id}")

    def preview_upload(
        self,
        upload_id: str,
        format: str | None = None,
        kind: str | None = None,
        mapping: Mapping[str, Any] | None = None,
        encoding: str | None = None,
    ) -> UploadPreview:
        """The rows that its first records would give. Nothing is stored."""
        body = {"format": format, "kind": kind, "mapping": mapping, "encoding": encoding}
        path = f"/v1/uploads/{upload_id}/preview"
        answer: UploadPreview = self._request("POST", path, json=body, timeout=None).json()
        return answer

    def get_upload_limits(self) -> UploadLimits:
        """How large files may be, and where they may be imported from."""
        answer: UploadLimits = self._get("/v1/reference/uploads")
        return answer

    def _begun(self, upload: Upload, said: Mapping[str, Any], bad_rows: str) -> Dataset | None:
        """The dataset that an earlier try has begun to make of the upload, if it was told the same."""
        if upload["dataset"] is None:
            return None
        dataset = self.get_dataset(upload["dataset"])
        made = {**dataset["origin"], "name": dataset["name"], "kind": dataset["kind"]}
        wanted = {**said, "name": said["name"] or upload["filename"][:_LONGEST_NAME].rstrip()}
        same = all(_says(made.get(key), value) for key, value in wanted.items() if value is not None)
        left = dataset["archived_at"] is None and dataset["version"] == 1
        useful = dataset["status"] in ("importing", "ready") or bad_rows == "report"
        return dataset if same and left and useful else None

    def _tidy(self, upload_id: str) -> None:
        """Another may be reading it, or have removed it; the platform removes it in any case, a day later."""
        try:
            self.delete_upload(upload_id)
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    def _upload_at_once(self, file: Path, said: Mapping[str, Any]) -> Dataset:
        given = {key: value for key, value in said.items() if value is not None}
        form = {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}
        with file.open("rb") as content:
            files = {"file": (file.name, content, "application/octet-stream")}
            answer: Dataset = self._request("POST", "/v1/datasets", data=form, files=files, timeout=None).json()
        return answer


def _usual(encoding: str | None) -> str | None:
    """The name by which the platform keeps it, so that an earlier try is known again. It refuses one that is unknown."""
    try:
        return None if encoding is None else codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return encoding


def _says(made: Any, wanted: Any) -> bool:
    """Whether the values are equal. Only the wanted keys of a mapping are compared."""
    if isinstance(made, Mapping) and isinstance(wanted, Mapping):
        return all(made.get(key) == value for key, value in wanted.items())
    return bool(made == wanted)


def _problem(error: DatasetError | None) -> dict[str, Any]:
    """The error as a problem, in the format of an upload in one request."""
    known: dict[str, Any] = dict(error or {})
    return {"detail": known.pop("message", "It could not be imported."), **known}


def _is_imported(dataset: Dataset, importing: Importing | None) -> bool:
    if importing is not None and (progress := dataset["progress"]) is not None:
        importing(progress["fraction"], progress["note"])
    return dataset["status"] != "importing"


def _patiently(ask: Callable[[], T], is_over: Callable[[T], bool]) -> T:
    """Ask until it is over, ever less often."""
    pause = _FIRST_PAUSE
    while not is_over(found := persistently(ask)):
        time.sleep(pause)
        pause = min(1.5 * pause, _LONGEST_PAUSE)
    return found
