"""Requests that take effect once: a creating POST with an `Idempotency-Key` may be repeated.

A route declares `dependencies=IDEMPOTENT`. StrictRoute then stores its response before the commit.
"""

import contextlib
import hashlib
import json
import re
from typing import Annotated

from fastapi import Depends, FastAPI, Header, Request, Response
from sqlalchemy.orm import Session

from api.deps import PrincipalDep, SessionDep, SettingsDep
from api.validation import before_commit
from core import idempotency
from core.access.keys import Principal
from core.errors import InvalidRequest
from core.idempotency import RequestIdentity
from core.models import StoredResponse
from core.settings import Settings

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
_KEPT_HEADERS = ("content-type", "etag", "location")
_KEY = re.compile(rf'"?([!#-~]{{1,{idempotency.LONGEST_KEY}}})"?')


class Replay(Exception):
    """Ends a request that was carried out before, with its stored response."""

    def __init__(self, stored: StoredResponse) -> None:
        super().__init__()
        self.stored = stored


def _key(
    key: Annotated[
        str | None,
        Header(
            alias=HEADER,
            description="A text of your choice that is unique for this creation, such as a UUID, of at most 255 characters. "
            "A repeated request with the same key and body returns the first response and creates nothing.",
        ),
    ] = None,
) -> str | None:
    if key is None:
        return None
    found = _KEY.fullmatch(key)
    if found is None:
        detail = f"must have 1 to {idempotency.LONGEST_KEY} printable ASCII characters, without spaces and quotes"
        raise InvalidRequest(f"{HEADER} {detail}.", errors=[{"pointer": f"header {HEADER}", "detail": detail}])
    return found[1]


KeyDep = Annotated[str | None, Depends(_key)]


async def _json_fingerprint(request: Request, key: KeyDep) -> str:
    """Hash of a JSON body, whatever the order of its fields."""
    if key is None:
        return ""
    body = await request.body()
    with contextlib.suppress(ValueError):  # the route refuses a body that is not valid JSON
        body = json.dumps(json.loads(body), sort_keys=True).encode()
    return hashlib.sha256(body).hexdigest()


def idempotent(
    request: Request,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    key: KeyDep,
    fingerprint: Annotated[str, Depends(_json_fingerprint)],
) -> None:
    """The dependency of a creating route with a JSON body."""
    if key is not None:
        take_effect_once(request, session, principal, settings, key, fingerprint)


IDEMPOTENT = [Depends(idempotent)]
"""`dependencies` of a creating route."""


def take_effect_once(
    request: Request, session: Session, principal: Principal, settings: Settings, key: str, fingerprint: str
) -> None:
    """Raise Replay if the request was carried out before. Otherwise its response will be stored."""
    operation = f"{request.method} {request.url.path}"
    identity = RequestIdentity(principal.owner_id, key, operation, fingerprint)
    if (stored := idempotency.begin(session, identity)) is not None:
        raise Replay(stored)

    def store(response: Response) -> None:
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        body = bytes(response.body).decode()
        idempotency.keep(session, identity, response.status_code, headers, body, settings.idempotency_hours)

    before_commit(request, store)


def install(app: FastAPI) -> None:
    """Return the stored response of a repeated request."""
    app.add_exception_handler(Replay, _replay)


async def _replay(request: Request, error: Exception) -> Response:
    assert isinstance(error, Replay)
    stored = error.stored
    return Response(stored.body, stored.status, {**stored.headers, REPLAYED: "true"})
