"""Client of the platform: `Client` and `AsyncClient` have a method for each operation of the REST API (see `proximal.sdk`).

`proximal.local` and `proximal.demo`, which run a platform on this machine, come with the platform's own distribution.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proximal.errors import ApiError, ClientError, Unreachable
    from proximal.sdk import AsyncClient, Client, sign_in_link

__all__ = ["ApiError", "AsyncClient", "Client", "ClientError", "Unreachable", "sign_in_link"]
_ERRORS = ("ApiError", "ClientError", "Unreachable")


def __getattr__(name: str) -> Any:
    """Imports at the first use: the `proximal` command starts without httpx."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from proximal import errors, sdk

    return getattr(errors if name in _ERRORS else sdk, name)
