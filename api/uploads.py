"""Reading a multipart upload: to disk as it comes, and only for those who may."""

from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from api.deps import PrincipalDep
from core.datasets.store import Upload
from core.errors import InvalidRequest, WrongMediaType
from core.models.dataset import DatasetKind

KINDS = [kind.value for kind in DatasetKind]

# By hand, since the body is read by hand.
UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "kind"],
                    "properties": {
                        "file": {"type": "string", "format": "binary", "description": "JSON Lines, UTF-8."},
                        "kind": {"type": "string", "enum": KINDS, "description": "What the rows are."},
                        "name": {"type": "string", "description": "For people. Left out: the file's name."},
                    },
                }
            }
        },
    }
}


async def read_upload(_: PrincipalDep, request: Request) -> AsyncIterator[Upload]:
    """The file, spooled to disk. FastAPI would read a declared form before it looks at the key; this one waits for it."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise WrongMediaType("Send multipart/form-data with the parts file, kind and, if you like, name.")
    try:
        form = await request.form(max_files=1, max_fields=4)
    except HTTPException as error:
        if error.status_code != 400:
            raise
        raise _invalid("#", str(error.detail)) from error
    try:
        yield _upload(form)
    finally:
        await form.close()


def _upload(form: FormData) -> Upload:
    file, kind, name = form.get("file"), form.get("kind"), form.get("name")
    if not isinstance(file, UploadFile):
        raise _invalid("#/file", "the file is missing")
    if kind not in KINDS:
        raise _invalid("#/kind", f"must be one of {', '.join(KINDS)}")
    return Upload(file.file, DatasetKind(str(kind)), str(name or file.filename or kind))


def _invalid(pointer: str, detail: str) -> InvalidRequest:
    return InvalidRequest(
        f"{pointer}: {detail}", param=pointer.lstrip("#/") or None, errors=[{"pointer": pointer, "detail": detail}]
    )
