"""Signing a browser in and out."""

from datetime import datetime, timedelta
from typing import Literal, Self

from fastapi import APIRouter, Request, Response
from pydantic import ConfigDict, model_validator

from api.acts import client_address, of_caller
from api.deps import COOKIE, PrincipalDep, SessionDep, SettingsDep, refuse_other_sites, tries_of
from api.problems import BadRequest, documented
from api.schema import ListOf, Schema, Timestamp
from core.access import keys
from core.access.policy import Action
from core.errors import CrossOrigin, InvalidRequest, NotFound, NotSignedIn, TooLarge, TooManyTries, WrongMediaType
from core.live import announce_ended_access
from core.models import Role


class SignIn(Schema):
    """Credentials for a browser session: either an API key, or the code of a sign-in link."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)

    token: str | None = None
    """An API key."""
    code: str | None = None
    """The code of a sign-in link. It can be used once."""

    @model_validator(mode="after")
    def _one_credential(self) -> Self:
        if (self.token is None) == (self.code is None):
            raise ValueError("needs either `token` or `code`")
        return self


class SignInCode(Schema):
    """A code for a sign-in link: the dashboard's address with `?code=…`."""

    object: Literal["session.code"] = "session.code"
    """Always `session.code`."""
    code: str
    """The code. It signs a browser in once."""
    expires_at: Timestamp
    """When it stops being valid."""


class KeyRef(Schema):
    """An API key."""

    id: str
    """The key's id."""
    name: str
    """The key's name."""
    operator: bool = False
    """Whether it may change workers."""


class UserRef(Schema):
    """The member that a request acts for."""

    id: str
    """The user's id."""
    name: str
    """The user's name."""


class BrowserSession(Schema):
    """A browser that is signed in with one of your keys."""

    object: Literal["browser_session"] = "browser_session"
    """Always `browser_session`."""
    id: str
    """Begins with `ses_`."""
    key: KeyRef
    """The key that it signed in with, which it acts for."""
    address: str | None
    """The address that it signed in from; null: it did so in an older release."""
    user_agent: str | None
    """How the browser names itself; null: it signed in with an older release, or gave no name."""
    current: bool
    """Whether this request is made by it."""
    created_at: Timestamp
    """When it signed in."""
    expires_at: Timestamp
    """When the session ends by itself."""


class BrowserSessionList(ListOf[BrowserSession]):
    """The browsers that are signed in with your keys."""


class Session(Schema):
    """The caller and the session."""

    object: Literal["session"] = "session"
    """Always `session`."""
    key: KeyRef
    """The API key behind the call."""
    owner: str
    """Id of the project that the key works in."""
    user: UserRef
    """The member that the key acts for."""
    role: Role
    """The member's role in the project."""
    permissions: list[Action]
    """The actions that the caller may take, on objects that it made. `change` of what other members made also needs `change_others`."""
    change_others: bool
    """Whether the caller may change what other members made."""
    expires_at: Timestamp | None
    """When the browser session or the key ends; null for a key without an end."""


router = APIRouter(prefix="/session", tags=["Session"])
signed_in = APIRouter(prefix="/sessions", tags=["Session"])


@router.post(
    "",
    responses=documented(BadRequest, NotSignedIn, CrossOrigin, TooLarge, WrongMediaType, InvalidRequest, TooManyTries),
)
def sign_in(body: SignIn, request: Request, response: Response, session: SessionDep, settings: SettingsDep) -> Session:
    """Exchange an API key, or the code of a sign-in link, for a session cookie. A code is valid once."""
    refuse_other_sites(request, silence_is_fine=True)
    redeem, credential = (keys.authenticate, body.token) if body.token is not None else (keys.redeem_code, body.code)
    assert credential is not None
    with tries_of(settings).trying(client_address(request), credential):
        principal = redeem(session, credential)
    of_caller(request, principal)
    lifetime = timedelta(hours=settings.session_hours)
    token, expires_at = keys.open_session(
        session,
        principal.key_id,
        lifetime,
        address=client_address(request) or None,
        user_agent=request.headers.get("user-agent"),
    )
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(lifetime.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return _view(principal, expires_at)


@router.post("/codes", status_code=201, responses=documented(NotSignedIn, InvalidRequest))
def create_sign_in_code(principal: PrincipalDep, session: SessionDep, settings: SettingsDep) -> SignInCode:
    """Create a code for a link that signs a browser in once, within a few minutes. It needs the API key itself."""
    if principal.by_cookie:
        raise NotSignedIn("Send the API key. A browser session cannot create sign-in links.")
    code, expires_at = keys.create_code(session, principal.key_id, timedelta(minutes=settings.sign_in_minutes))
    return SignInCode(code=code, expires_at=expires_at)


@router.get("", responses=documented(NotSignedIn))
def who_am_i(principal: PrincipalDep) -> Session:
    """Return the caller: its key, its project, and what it may do."""
    return _view(principal, principal.expires_at)


@router.delete("", status_code=204, responses=documented(NotSignedIn, CrossOrigin))
def sign_out(_: PrincipalDep, request: Request, response: Response, session: SessionDep) -> None:
    """End the browser's session and drop its cookie."""
    if token := request.cookies.get(COOKIE):
        keys.close_session(session, token)
        announce_ended_access(session)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")


@signed_in.get("", responses=documented(NotSignedIn))
def list_sessions(principal: PrincipalDep, session: SessionDep) -> BrowserSessionList:
    """List the browsers that are signed in with your keys in this project, the newest first."""
    return BrowserSessionList.from_items(
        [
            BrowserSession(
                id=browser.id,
                key=KeyRef(id=key.id, name=key.name, operator=key.operator),
                address=browser.address,
                user_agent=browser.user_agent,
                current=browser.sha256 == principal.session_sha256,
                created_at=browser.created_at,
                expires_at=browser.expires_at,
            )
            for browser, key in keys.sessions_of(session, principal.owner_id, principal.user_id)
        ]
    )


@signed_in.delete("/{session_id}", status_code=204, responses=documented(NotSignedIn, CrossOrigin, NotFound))
def end_session(session_id: str, principal: PrincipalDep, session: SessionDep) -> None:
    """Sign a browser out that is signed in with one of your keys. Its event streams end within seconds."""
    for browser, _ in keys.sessions_of(session, principal.owner_id, principal.user_id):
        if browser.id == session_id:
            session.delete(browser)
            announce_ended_access(session)
            return
    raise NotFound(f"No browser is signed in with the session {session_id!r}.")


def _view(principal: keys.Principal, expires_at: datetime | None) -> Session:
    return Session(
        key=KeyRef(id=principal.key_id, name=principal.key_name, operator=principal.operator),
        owner=principal.owner_id,
        user=UserRef(id=principal.user_id, name=principal.user_name),
        role=principal.role,
        permissions=[action for action in Action if principal.may(action)],
        change_others=principal.may(Action.CHANGE, own=False),
        expires_at=expires_at,
    )
