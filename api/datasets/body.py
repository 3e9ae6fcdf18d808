"""The body of `POST /v1/datasets`: a form with a file, or JSON that names an upload."""

import hashlib
import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

from fastapi import Depends, Request
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from api.datasets.schemas import ImportDataset
from api.deps import PrincipalDep, SessionDep, SettingsDep
from api.idempotency import KeyDep, take_effect_once
from api.schema import IgnoredColumns
from api.validation import invalid_body, without_duplicates
from core.datasets import versions
from core.datasets.importing import BadRows, Import, ReadingOptions, Source
from core.errors import InvalidRequest, WrongMediaType
from core.uploads.parts import checked_filename
from data.schema import DatasetKind

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

KINDS = [kind.value for kind in DatasetKind]
_FORM = "multipart/form-data"
_IGNORED = TypeAdapter[list[str]](IgnoredColumns)
_BUFFER = 256 * 1024

# Written by hand, because read_body parses the body itself.
DATASET_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            _FORM: {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "JSON Lines, JSON, CSV or Parquet, also compressed by gzip or zstd.",
                        },
                        "kind": {"type": "string", "enum": KINDS, "description": "Kind of the rows."},
                        "name": {"type": "string", "description": "Name of the dataset. Left out: the file's name."},
                        "format": {"type": "string", "description": "Same as in the JSON body."},
                        "mapping": {"type": "string", "description": "Same as in the JSON body, as a JSON text."},
                        "encoding": {"type": "string", "description": "Same as in the JSON body."},
                        "ignore": {"type": "string", "description": "Same as in the JSON body, as a JSON text."},
                        "bad_rows": {
                            "type": "string",
                            "enum": [way.value for way in BadRows],
                            "default": BadRows.REFUSE.value,
                            "description": "Same as in the JSON body.",
                        },
                    },
                }
            },
            "application/json": {"schema": {"$ref": "#/components/schemas/ImportDataset"}},
        },
    }
}


@dataclass(frozen=True)
class Form:
    """A file in the request itself. It is imported before the response."""

    wanted: Import


async def read_body(_: PrincipalDep, request: Request) -> AsyncIterator[Form | ImportDataset]:
    """Read the body after the key is checked; FastAPI would read a declared form before. A form's file is spooled to disk."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind == "application/json":
        yield _json(await request.body())
    elif kind == _FORM:
        form = await _form(request)
        try:
            yield Form(_wanted(form))
        finally:
            await form.close()
    else:
        raise WrongMediaType(f"Send {_FORM} with the part file, or application/json that names an upload.")


def _once(
    request: Request,
    principal: PrincipalDep,
    wanted: Annotated[Form | ImportDataset, Depends(read_body)],
    session: SessionDep,
    settings: SettingsDep,
    key: KeyDep,
) -> None:
    if key is not None:
        take_effect_once(request, session, principal, settings, key, _fingerprint(wanted))


IDEMPOTENT_UPLOAD = [Depends(_once)]


def _fingerprint(wanted: Form | ImportDataset) -> str:
    """Hash of the fields and the file. The text of a form differs each time, because its boundary is random."""
    if isinstance(wanted, ImportDataset):
        return hashlib.sha256(wanted.model_dump_json().encode()).hexdigest()
    found = wanted.wanted
    fields = (found.source.filename, found.name, found.reading, found.bad_rows)
    with found.source.open_() as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # it is buffered
    return hashlib.sha256(repr((fields, content)).encode()).hexdigest()


async def _form(request: Request) -> FormData:
    try:
        return await request.form(max_files=1, max_fields=8)
    except HTTPException as error:
        if error.status_code != 400:
            raise
        raise _invalid("#", str(error.detail)) from error


def _wanted(form: FormData) -> Import:
    file, kind = form.get("file"), form.get("kind")
    if not isinstance(file, UploadFile):
        raise _invalid("#/file", "the file is missing")
    if kind is not None and kind not in KINDS:
        raise _invalid("#/kind", f"must be one of {', '.join(KINDS)}")
    filename = checked_filename(file.filename or "upload")
    source = Source(_opener(file.file), filename)
    reading = ReadingOptions(
        _text(form, "kind"), _text(form, "format"), _mapping(form), _text(form, "encoding"), _ignored(form)
    )
    return Import(source, _text(form, "name") or versions.default_name(filename), reading, _bad_rows(form))


def _text(form: FormData, name: str) -> str | None:
    value = form.get(name)
    if value is not None and not isinstance(value, str):
        raise _invalid(f"#/{name}", "must be text")
    return value or None


def _mapping(form: FormData) -> dict[str, Any] | None:
    found = _parsed(form, "mapping")
    if found is not None and not isinstance(found, dict):
        raise _invalid("#/mapping", "must be an object")
    return found


def _ignored(form: FormData) -> tuple[str, ...]:
    try:
        return tuple(_IGNORED.validate_python(_parsed(form, "ignore") or []))
    except ValidationError as error:
        raise _invalid("#/ignore", "must list names of columns") from error


def _parsed(form: FormData, name: str) -> Any:
    """The value of a field that holds JSON; None without it."""
    if (text := _text(form, name)) is None:
        return None
    try:
        return json.loads(text, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"#/{name}", f"is not valid JSON: {error}") from error


def _bad_rows(form: FormData) -> BadRows:
    try:
        return BadRows(_text(form, "bad_rows") or BadRows.REFUSE)
    except ValueError as error:
        raise _invalid("#/bad_rows", f"must be one of {', '.join(way.value for way in BadRows)}") from error


def _json(body: bytes) -> ImportDataset:
    try:
        found = json.loads(body, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"The body is not valid JSON: {error}.", errors=[_error("#", str(error))]) from error
    try:
        return ImportDataset.model_validate(found)
    except ValidationError as error:
        raise invalid_body(ImportDataset, found) from error


def _opener(file: BinaryIO) -> Callable[[], BinaryIO]:
    return lambda: io.BufferedReader(_Rewound(file), _BUFFER)


class _Rewound(io.RawIOBase):
    """The spooled file, read from its beginning. Closing it leaves the spooled file open."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file, self._position = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset, whence = offset + self._position, io.SEEK_SET
        self._file.seek(offset, whence)
        self._position = self._file.tell()
        return self._position

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        self._file.seek(self._position)
        data = self._file.read(len(view))
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


def _invalid(pointer: str, detail: str) -> InvalidRequest:
    return InvalidRequest(f"{pointer}: {detail}", param=pointer.lstrip("#/") or None, errors=[_error(pointer, detail)])


def _error(pointer: str, detail: str) -> dict[str, str]:
    return {"pointer": pointer, "detail": detail}
