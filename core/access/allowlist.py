"""Models and addresses outside the platform that a job may name.

The operator allows them in the settings. Otherwise an API key would be enough to make the trainer read any folder of its
machine, or call services that only its network can reach (server-side request forgery).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from trainer.spec.path_rules import PathRules, is_hub_id

RewardUrls = Literal["any", "none"] | list[str]
_DEFAULT_PORTS = {"http": 80, "https": 443}


def model_refusal(name: str, rules: PathRules) -> str | None:
    """The reason why a job may not name this model; None if it may. A hub id is always allowed."""
    return None if is_hub_id(name) else rules.why_not(name)


def url_refusal(url: str, allowed: RewardUrls) -> str | None:
    """The reason why a job may not call this address; None if it may."""
    if allowed == "any":
        return None
    try:
        wanted = HttpAddress.parse(url)
    except ValueError as error:
        return str(error)
    prefixes = [] if allowed == "none" else allowed
    if any(HttpAddress.parse(prefix).covers(wanted) for prefix in prefixes):
        return None
    where = f"only addresses below {', '.join(prefixes)}" if prefixes else "no address"
    return f"this platform lets jobs call {where}; its operator may allow more (PROXIMAL_REWARD_URLS)"


@dataclass(frozen=True)
class HttpAddress:
    """The parts of an HTTP address that decide which server receives a request, and at which path."""

    scheme: str
    host: str
    port: int
    path: Sequence[str]

    @classmethod
    def parse(cls, url: str) -> "HttpAddress":
        """Raises ValueError for a text that two parsers could read as different addresses."""
        if not url.isascii() or any(letter.isspace() or not letter.isprintable() for letter in url):
            raise ValueError("an address consists of printable ASCII characters without spaces")
        parts = urlsplit(url)
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise ValueError("an address begins with http:// or https:// and a host")
        if "@" in parts.netloc:
            raise ValueError("an address must not contain a user or a password")
        if "\\" in url or {".", ".."} & set(_fully_unquoted(parts.path).split("/")):
            raise ValueError("an address must not contain a backslash, or `.` or `..` as a part of its path")
        port = _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
        return cls(parts.scheme, parts.hostname.rstrip("."), port, parts.path.split("/")[1:])

    def covers(self, other: "HttpAddress") -> bool:
        """Whether `other` has the same scheme, host and port, and a path below. `/a` covers `/a/b`, but not `/ab`."""
        own = self.path[:-1] if self.path and self.path[-1] == "" else self.path
        same = (self.scheme, self.host, self.port) == (other.scheme, other.host, other.port)
        return same and list(other.path[: len(own)]) == list(own)


def _fully_unquoted(path: str) -> str:
    """The path with escapes decoded until none is left, since some servers decode twice."""
    while (decoded := unquote(path)) != path:
        path = decoded
    return path.replace("\\", "/")
