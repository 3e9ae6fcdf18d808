"""Uploads in parts, downloads by the platform, and datasets made from a file in one call."""

import codecs
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from proximal.errors import ApiError
from proximal.sdk.connection import escaped, given
from proximal.sdk.datasets import Datasets
from proximal.sdk.multipart import MultipartUpload, Progress, persistently
from proximal.sdk.types import Dataset, DatasetError, Upload, UploadPart

SMALL = 16 * 1024 * 1024
"""Largest file, in bytes, that is sent in one request."""
_LONGEST_NAME = 200
"""Longest name of a dataset. A longer file name is cut to this length."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
T = TypeVar("T")
BadRows = Literal["refuse", "report", "leave_out"]
Importing = Callable[[float, str], None]
"""Called with the progress of an import, from 0 to 1, and a note."""


class Uploads(Datasets):
    """`/v1/uploads`"""

    def upload_dataset(  # noqa: PLR0913  # one for each property of a file
        self,
        file: str | Path,
        kind: str | None = None,
        name: str = "",
        *,
        format: str | None = None,
        mapping: Mapping[str, Any] | None = None,
        encoding: str | None = None,
        ignore: Sequence[str] = (),
        bad_rows: BadRows = "refuse",
        progress: Progress | None = None,
        importing: Importing | None = None,
        external_id: str | None = None,
    ) -> Dataset:
        """Upload a file and wait until it is a dataset. Kind, format, mapping and encoding are detected if they are not given.

        `ignore` names columns that are not used and not asked about. A column that looks meaningful and that no row would use
        stops the import: ApiError `format_unclear`, whose `problem["questions"]` has the column and the choices.
        A small file is sent in one request, a large one in parts, several at a time. A repeated call resumes an interrupted
        upload or import. `bad_rows` is `refuse` (ApiError `invalid_dataset`, nothing is stored), `report` (the dataset is
        `blocked` until the user decides), or `leave_out`.
        """
        file = Path(file)
        options: dict[str, Any] = {"name": name or None, "kind": kind, "format": format, "mapping": mapping}
        options |= {"encoding": _normalized(encoding), "ignore": sorted(set(ignore)) or None}
        if file.stat().st_size <= SMALL:
            try:
                return self._upload_at_once(file, options | {"bad_rows": bad_rows}, external_id)
            except ApiError as error:
                if error.code != "too_large":  # the platform may take less at once
                    raise
        upload = self.upload_file(file, progress)
        dataset = self._earlier_import(upload, options, bad_rows) or self.import_upload(
            upload["id"], **options, bad_rows=bad_rows, external_id=external_id
        )
        dataset = self.wait_for_dataset(dataset["id"], importing)
        if dataset["status"] == "ready":
            self._delete_upload(upload["id"])
        return dataset

    def upload_file(self, file: str | Path, progress: Progress | None = None) -> Upload:
        """Send a file in parts and return the complete upload. An interrupted upload is resumed."""
        return MultipartUpload(self, Path(file), progress).run()

    def wait_for_dataset(self, dataset_id: str, importing: Importing | None = None) -> Dataset:
        """Wait until the newest version is imported. A failed import raises ApiError with the reason. If the failed version
        is the only one, the dataset is deleted."""
        dataset = _poll_until(lambda: self.get_dataset(dataset_id), lambda found: _is_imported(found, importing))
        if dataset["status"] == "failed":
            if dataset["version"] == 1:
                self.delete_dataset(dataset_id)
            raise ApiError(422, _problem(dataset["error"]))
        return dataset

    def wait_for_upload(self, upload_id: str, progress: Progress | None = None) -> Upload:
        """Wait until the platform has downloaded the file. Raises ApiError if the download failed."""

        def is_over(upload: Upload) -> bool:
            if progress is not None:
                progress(upload["bytes_received"], upload["bytes"] or 0)
            return upload["status"] != "fetching"

        upload = _poll_until(lambda: self.get_upload(upload_id), is_over)
        if upload["error"] is not None:
            raise ApiError(422, {"code": upload["error"]["code"], "detail": upload["error"]["message"]})
        return upload

    def put_upload_part(
        self, upload_id: str, number: int, content: bytes | Iterable[bytes], size: int | None = None
    ) -> UploadPart:
        """Send one part, numbered from 1. `size` is required if `content` is an iterable."""
        headers = {"Content-Type": "application/octet-stream"}
        if size is not None:
            headers["Content-Length"] = str(size)
        path = f"/v1/uploads/{escaped(upload_id)}/parts/{number}"
        answer: UploadPart = self._request("PUT", path, content=content, headers=headers).json()
        return answer

    def _earlier_import(self, upload: Upload, options: Mapping[str, Any], bad_rows: str) -> Dataset | None:
        """The dataset that an earlier call made from the upload with the same options; None without one."""
        if upload["dataset"] is None:
            return None
        dataset = self.get_dataset(upload["dataset"])
        made = {**dataset["origin"], "name": dataset["name"], "kind": dataset["kind"]}
        wanted = {**options, "name": options["name"] or upload["filename"][:_LONGEST_NAME].rstrip()}
        same = all(_matches(made.get(key), value) for key, value in wanted.items() if value is not None)
        left = dataset["archived_at"] is None and dataset["version"] == 1
        useful = dataset["status"] in ("importing", "ready") or bad_rows == "report"
        return dataset if same and left and useful else None

    def _delete_upload(self, upload_id: str) -> None:
        """Delete an upload that is no longer needed. If another call uses it, the platform deletes it a day later."""
        try:
            self.delete_upload(upload_id)
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    def _upload_at_once(self, file: Path, options: Mapping[str, Any], external_id: str | None) -> Dataset:
        fields = given(options).items()
        form = {key: value if isinstance(value, str) else json.dumps(value) for key, value in fields}
        with file.open("rb") as content:
            files = {"file": (file.name, content, "application/octet-stream")}
            query = given({"external_id": external_id})
            answer: Dataset = self._request(
                "POST", "/v1/datasets", params=query, data=form, files=files, timeout=None
            ).json()
        return answer


def _normalized(encoding: str | None) -> str | None:
    """The normalized name of the encoding, as the platform stores it. An unknown name is returned unchanged."""
    try:
        return None if encoding is None else codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return encoding


def _matches(made: Any, wanted: Any) -> bool:
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


def _poll_until(ask: Callable[[], T], is_over: Callable[[T], bool]) -> T:
    """Call `ask` until `is_over`, with growing pauses."""
    pause = _FIRST_PAUSE
    while not is_over(found := persistently(ask)):
        time.sleep(pause)
        pause = min(1.5 * pause, _LONGEST_PAUSE)
    return found
