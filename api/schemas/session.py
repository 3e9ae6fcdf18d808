from typing import Literal

from api.schemas.base import Schema, Timestamp


class SignIn(Schema):
    """What signs a browser in."""

    token: str
    """An API key."""


class KeyRef(Schema):
    """Whose session this is."""

    id: str
    """The key's id."""
    name: str
    """The key's name."""


class Session(Schema):
    """Who is calling."""

    object: Literal["session"] = "session"
    """Always `session`."""
    key: KeyRef
    """The API key behind the call."""
    expires_at: Timestamp | None
    """When the browser will have to sign in again; null for a call with the key itself."""
