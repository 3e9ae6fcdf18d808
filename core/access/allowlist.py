"""What a job may name outside the platform: folders of the worker's machine, and addresses that the trainer calls.

The operator allows both. Otherwise a key would be enough to make the trainer read any folder of its machine, or reach
services that only its network can reach (server-side request forgery).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from trainer.spec.path_rules import PathRules, is_hub_id

RewardUrls = Literal["any", "none"] | list[str]
_PORTS = {"http": 80, "https": 443}


def why_not_model(name: str, rules: PathRules) -> str | None:
    """The reason why a job may not name this model; None if it may. A hub id is always allowed."""
    return None if is_hub_id(name) else rules.why_not(name)


def why_not_url(url: str, allowed: RewardUrls) -> str | None:
    """Why an address may not be asked; None if it may."""
    if allowed == "any":
        return None
    try:
        wanted = Address.of(url)
    except ValueError as error:
        return str(error)
    prefixes = [] if allowed == "none" else allowed
    if any(Address.of(prefix).covers(wanted) for prefix in prefixes):
        return None
    where = f"only below {', '.join(prefixes)}" if prefixes else "no address"
    return f"this platform lets jobs ask {where}; its operator may allow more (PROXIMAL_REWARD_URLS)"


@dataclass(frozen=True)
class Address:
    """An HTTP address in the parts that decide who answers it."""

    scheme: str
    host: str
    port: int
    path: Sequence[str]

    @classmethod
    def of(cls, url: str) -> "Address":
        """Raises ValueError for what two readers could understand in two ways."""
        if not url.isascii() or any(letter.isspace() or not letter.isprintable() for letter in url):
            raise ValueError("an address consists of printable ASCII characters without spaces")
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("an address begins with http:// or https:// and a host")
        if "@" in parts.netloc:
            raise ValueError("an address must hold no user and no password")
        if "\\" in url or {".", ".."} & set(_decoded(parts.path).split("/")):
            raise ValueError("an address must hold no backslash, and no step to another folder")
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
        return cls(parts.scheme, parts.hostname.rstrip("."), port, parts.path.split("/")[1:])

    def covers(self, other: "Address") -> bool:
        """The same scheme, host and port, and a path below (whole names: `/a` is not above `/ab`)."""
        own = self.path[:-1] if self.path and self.path[-1] == "" else self.path
        same = (self.scheme, self.host, self.port) == (other.scheme, other.host, other.port)
        return same and list(other.path[: len(own)]) == list(own)


def _decoded(path: str) -> str:
    """As the most eager reader would decode it."""
    while (decoded := unquote(path)) != path:
        path = decoded
    return path.replace("\\", "/")
