"""The audit log of requests: who makes one, from where, and about which object. `core.audit` adds the changes.

Every changing request keeps a record, and so do the reads that `api.authorization` lists. A changing request that changes
nothing has no row.
"""

from collections.abc import Mapping
from dataclasses import replace

from fastapi import Request

from api.authorization import AUDITED_READS
from core.access.keys import Principal
from core.audit.recording import Act, record
from core.db import request_scope
from core.errors import PlatformError
from core.settings import Settings

_READING = ("GET", "HEAD", "OPTIONS")
_ALWAYS = frozenset(
    {"sign_in", "sign_out", "end_session", "create_sign_in_code", "create_worker_token", "join_worker"}
    | {"rotate_webhook_secret", "test_webhook", "replay_webhook_delivery"}
)
"""Operations that change only credentials or deliveries, whose rows the log leaves out. They are recorded at each success."""
_KINDS: Mapping[str, str] = {"user_id": "member", "name": "view_setting"}
"""The kinds of objects that path parameters name, where they are not the parameter without `_id`."""


def client_address(request: Request) -> str:
    """The client's address: that of the connection, or that which a trusted proxy reports."""
    return request.client.host if request.client else ""


def keeps_record(request: Request) -> bool:
    """Whether the audit log has a row of the request: of its changes, or of a read."""
    return request.method not in _READING or request.scope["route"].name in AUDITED_READS


def of_caller(request: Request, principal: Principal) -> None:
    """Note who makes the request."""
    request.state.actor = principal


def act_of(request: Request, status: int | None = None) -> Act | None:
    """The act of a request; None for a request without a caller. `status`: None for that of the route.

    An operator's change of another project is in that project's log, and a refused one in the caller's own.
    """
    principal: Principal | None = getattr(request.state, "actor", None)
    if principal is None:
        return None
    route = request.scope["route"]
    kind, id_ = _object(request, principal)
    return Act(
        action=route.name,
        project_id=principal.owner_id if status else request.path_params.get("project_id", principal.owner_id),
        user_id=principal.user_id,
        user_name=principal.user_name,
        role=principal.role.value,
        key_id=principal.key_id,
        address=client_address(request),
        request_id=request.scope["state"]["request_id"],
        object_kind=kind,
        object_id=id_,
        status=status or route.status_code or 200,
        always=route.name in AUDITED_READS | _ALWAYS,
    )


def note_refusal(request: Request, settings: Settings, error: PlatformError) -> None:
    """Record a request that its caller may not make, in a transaction of its own, if its success had a row."""
    act = act_of(request, error.status)
    if act is not None and keeps_record(request):
        refused = replace(act, always=True)
        with request_scope(settings) as session:
            record(session, lambda: refused)


def _object(request: Request, principal: Principal) -> tuple[str | None, str | None]:
    """The kind and the id of the object that the path or the query names; None for an object that the request makes."""
    for name, value in request.path_params.items():
        if name in _KINDS or name.endswith("_id"):
            return _KINDS.get(name, name.removesuffix("_id")), str(value)
    if "dataset" in request.query_params:  # a comparison of two
        named = (request.query_params.get(name) for name in ("dataset", "other"))
        return "dataset", ", ".join(one for one in named if one)
    return (None, None) if request.method not in _READING else ("project", principal.owner_id)
