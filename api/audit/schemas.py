"""Schemas of the audit log."""

from typing import Any, Literal

from api.schema import ListOf, Schema, Timestamp


class AuditActor(Schema):
    """Who acted, as it was then."""

    user_id: str | None
    """The member; null for a command that an operator ran on the host."""
    name: str
    """The member's name, or `operator on the host`."""
    role: str | None
    """The member's role; null for a command of the host."""
    key_id: str | None
    """The API key of the request, or the one behind its browser session."""
    address: str | None
    """The address that the request came from."""


class AuditObject(Schema):
    """The object that a request names or makes."""

    kind: str
    """Its kind, such as `job` or `dataset`."""
    id: str | None
    """Its id; null for one without an id."""


class AuditChange(Schema):
    """A changed object, with only the columns that changed."""

    kind: str
    """Its kind, or the name of its table. `more`: `id` counts further changes that the row does not hold."""
    id: str
    """Its id. Several parts are joined by a slash."""
    before: dict[str, Any] | None
    """The columns before; null: it was made."""
    after: dict[str, Any] | None
    """The columns afterwards; null: it was deleted."""


class AuditRow(Schema):
    """A change, a refused change, or a read that is recorded. It cannot be changed."""

    object: Literal["audit.row"] = "audit.row"
    """Always `audit.row`."""
    id: str
    """`aud_` and its number."""
    number: int
    """Its place in the chain of the project, from 1, without gaps."""
    at: Timestamp
    """When it was written, by the clock of the database."""
    action: str
    """The operation id of the API, such as `create_job`, or a command of the host, such as `keys create`."""
    actor: AuditActor
    """Who acted."""
    target: AuditObject
    """The object that it is about."""
    request_id: str | None
    """The `X-Request-Id` of the response; null for a command of the host."""
    status: int | None
    """The status of the response. 403: the request was refused. Null for a command of the host."""
    changes: list[AuditChange]
    """The changed objects; empty for a read and for a refused request. A value of more than 8,000 characters is replaced by its size and its SHA-256."""
    hash: str
    """SHA-256 of the row and of the hash of the row before."""


class AuditRowList(ListOf[AuditRow]):
    """Rows of the audit log."""


class AuditFault(Schema):
    """The first row that is not as it was written."""

    number: int
    """Its number."""
    reason: str
    """The fault, as a sentence."""


class AuditVerification(Schema):
    """The result of a check of the whole log."""

    object: Literal["audit.verification"] = "audit.verification"
    """Always `audit.verification`."""
    valid: bool
    """Whether every row is as it was written, and none is missing."""
    rows: int
    """Rows that were checked, up to the faulty one."""
    first: int | None
    """Number of the oldest row that is kept; null without a row."""
    last: int
    """Number of the newest row; 0 before the first one."""
    hash: str
    """The hash of the newest row. Keep a copy elsewhere: it shows later that no row up to this one was changed."""
    fault: AuditFault | None
    """The first fault; null without one."""
