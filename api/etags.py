"""ETags of what a request can change, and `If-Match`, which keeps a request from overwriting a change that its client has not seen.

The ETag covers the fields that a PATCH, an archive or a change of the status writes, and not the figures of a run. So a
running job keeps its ETag. It is also the member `etag` of the body, where programs find it together with the values.
"""

import hashlib
import json
from typing import Annotated, Any

from fastapi import Depends, Header, Response
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import Session

from core.errors import NotFound, PreconditionFailed
from core.models import AnnotationRound, Dataset, Job, JobTemplate, Project, Webhook

Changeable = Job | JobTemplate | Dataset | AnnotationRound | Project | Webhook
_FIELDS: dict[type[Any], tuple[str, ...]] = {
    Job: ("name", "tags", "notes", "metadata_", "preemptible", "archived_at"),
    Dataset: ("name", "archived_at", "expires_at"),
    JobTemplate: ("name", "description", "spec"),
    AnnotationRound: ("name", "instructions", "overlap", "status"),
    Project: ("name",),
    Webhook: ("url", "description", "event_types", "enabled"),
}
ETAG: dict[int | str, dict[str, Any]] = {200: {"headers": {"ETag": {"$ref": "#/components/headers/ETag"}}}}
"""`responses` of a route that returns an ETag. `api.openapi` describes the header."""


def etag_of(row: Changeable) -> str:
    """The ETag without quotes: the beginning of a hash of the fields that requests change."""
    values = {name: getattr(row, name) for name in _FIELDS[type(row)]}
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:24]


def set_etag(response: Response, etag: str) -> None:
    response.headers["ETag"] = f'"{etag}"'


class Precondition:
    """The condition of a changing request."""

    def __init__(self, tags: frozenset[str] | None) -> None:
        """`tags`: one of them must be the ETag; None: no condition."""
        self._tags = tags

    def check(self, session: Session, row: Changeable) -> None:
        """Lock the row until the commit, and raise PreconditionFailed if it has changed. Raises NotFound for a deleted one."""
        if self._tags is None:
            return
        try:
            session.refresh(row, with_for_update=True)
        except InvalidRequestError as error:
            raise NotFound(f"{row.id} was deleted meanwhile.") from error
        now = etag_of(row)
        if not self._tags & {now, "*"}:
            raise PreconditionFailed(
                f"{row.id} has changed since you read it. Read it again, and send its present ETag in If-Match.",
                etag=now,
            )


def _precondition(
    if_match: Annotated[
        str | None,
        Header(
            alias="If-Match",
            description="The `ETag` of the state that you have read. After another change, the request returns 412.",
        ),
    ] = None,
) -> Precondition:
    if if_match is None:
        return Precondition(None)
    # A proxy that compresses responses makes ETags weak (`W/`), although the values are the same.
    return Precondition(frozenset(tag.strip().removeprefix("W/").strip('"') for tag in if_match.split(",")))


IfMatch = Annotated[Precondition, Depends(_precondition)]
