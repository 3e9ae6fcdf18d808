"""The audit log of the caller's project: pages, an export and a check of the chain. For admins."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime
from sqlalchemy.orm import Session

from api.audit.schemas import (
    AuditActor,
    AuditChange,
    AuditFault,
    AuditObject,
    AuditRow,
    AuditRowList,
    AuditVerification,
)
from api.deps import After, Limit, OrderBy, PrincipalDep, SessionDep, SettingsDep
from api.problems import documented
from core import models
from core.audit import chain, log
from core.audit.log import AuditFilter
from core.db import request_scope
from core.errors import InvalidRequest, NotAllowed, NotSignedIn

router = APIRouter(prefix="/audit", tags=["Audit log"])
_ERRORS = (NotSignedIn, NotAllowed, InvalidRequest)
MEDIA_TYPES = {"jsonl": "application/jsonl", "csv": "text/csv; charset=utf-8"}


def _text(description: str) -> object:
    return Query(min_length=1, max_length=200, pattern=r"^[^\x00]*$", description=description)


def _filter(
    actor: Annotated[str | None, _text("Only rows of this user, `usr_…`, or of this key, `key_…`.")] = None,
    action: Annotated[str | None, _text("Only rows of this operation, such as `delete_dataset`.")] = None,
    object: Annotated[str | None, _text("Only rows about the object with this id.")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Only rows that were written then or later.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Only rows that were written before.")] = None,
) -> AuditFilter:
    return AuditFilter(actor, action, object, since, until)


FilterDep = Annotated[AuditFilter, Depends(_filter)]


@router.get("", responses=documented(*_ERRORS))
def list_audit_rows(
    principal: PrincipalDep,
    session: SessionDep,
    wanted: FilterDep,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> AuditRowList:
    """List the audit log of the project. All filters must hold.

    It has a row for each change, for each refused change, and for each read of a model, of a dataset's rows, of keys and of the log
    itself. Only an admin may read it.
    """
    found = log.page(session, principal.owner_id, wanted, after, limit, order)
    return AuditRowList.from_items([_view(row) for row in found.items], found.has_more)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses=documented(*_ERRORS)
    | {
        200: {
            "description": "The file.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
def export_audit_log(
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    wanted: FilterDep,
    format: Annotated[
        Literal["jsonl", "csv"], Query(description="`jsonl`: one object a line. `csv`: one row a line, with a head.")
    ] = "jsonl",
) -> StreamingResponse:
    """Download the audit log as a file, the oldest row first. All filters must hold.

    A line of `jsonl` holds exactly the columns that the row's hash covers.
    """

    def scope() -> AbstractContextManager[Session]:
        return request_scope(settings)

    pages = log.every_row(scope, principal.owner_id, wanted)
    body: Iterator[str] = log.as_csv(pages) if format == "csv" else log.as_jsonl(pages)
    headers = {"Content-Disposition": f'attachment; filename="audit-{principal.owner_id}.{format}"'}
    return StreamingResponse(body, media_type=MEDIA_TYPES[format], headers=headers)


@router.get("/verification", responses=documented(*_ERRORS))
def verify_audit_log(principal: PrincipalDep, session: SessionDep, settings: SettingsDep) -> AuditVerification:
    """Compare every row of the audit log with its hash, and name the first row that is changed or missing.

    Each row's hash covers the row and the hash of the row before. Rows that their age has removed leave the hash of the last one.
    """
    # One state of the database for the whole check, without a lock.
    with request_scope(settings) as snapshot:
        connection = snapshot.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        found = chain.verify(connection, principal.owner_id)
    broken = found.broken
    return AuditVerification(
        valid=broken is None,
        rows=found.rows,
        first=found.first,
        last=found.last,
        hash=found.hash,
        fault=None if broken is None else AuditFault(number=broken.number, reason=broken.reason),
    )


def _view(row: models.AuditRow) -> AuditRow:
    actor = AuditActor(user_id=row.user_id, name=row.user_name, role=row.role, key_id=row.key_id, address=row.address)
    return AuditRow(
        id=f"{log.PREFIX}{row.number}",
        number=row.number,
        at=row.at,
        action=row.action,
        actor=actor,
        target=AuditObject(kind=row.object_kind, id=row.object_id),
        request_id=row.request_id,
        status=row.status,
        changes=[AuditChange.model_validate(change) for change in row.changes],
        hash=row.hash,
    )
