"""A bucket and the requests to it: each is repeated after a passing error."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote

from pydantic import SecretStr

from core.blobs.s3.failures import Refusal, RequestFailed, code_of, failure_of
from core.errors import NotFound, StoreFailed
from core.settings import Settings

if TYPE_CHECKING:
    from obstore.store import S3Store

Result = TypeVar("Result")
_PAUSE_SECONDS = 0.2
log = logging.getLogger(__name__)


class UnusableResponse(Exception):
    """A response without the bytes that it should have."""


class ObjectExists(Exception):
    """An object was not written, because there is one under its key."""


@dataclass(frozen=True)
class Bucket:
    """A bucket of an S3 server, the prefix of the platform's keys, and the credentials."""

    name: str
    prefix: str = ""
    endpoint: str = ""
    """Empty: Amazon S3."""
    region: str = "us-east-1"
    access_key_id: SecretStr | None = None
    """None: the role of the machine or the container."""
    secret_access_key: SecretStr | None = None
    session_token: SecretStr | None = None
    redirects: bool = True
    seconds: float = 120
    """Time that one request may take, with its body."""
    tries: int = 3
    """Tries of a request without a usable response. In each of several, obstore repeats it after 5xx and broken connections."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The bucket of the settings, which name one."""
        assert settings.blob_bucket is not None
        return cls(
            *settings.blob_bucket,
            endpoint=settings.blob_endpoint,
            region=settings.blob_region,
            access_key_id=settings.blob_access_key_id,
            secret_access_key=settings.blob_secret_access_key,
            session_token=settings.blob_session_token,
            redirects=settings.blob_redirects,
        )

    @cached_property
    def objects(self) -> "S3Store":
        """The store of obstore, which keeps connections open."""
        return self._store(self.server, prefix=self.prefix or None)

    def request(self, key: str, action: Callable[[], Result], *, writes: bool = False) -> Result:
        """The result of an action, which is repeated after a passing error. Raises StoreFailed, and NotFound for a read."""
        from obstore.exceptions import BaseError

        for attempt in range(self.tries):
            try:
                return action()
            except FileNotFoundError as error:
                if not writes and code_of(error) in (None, "NoSuchKey"):
                    raise NotFound(f"There is no blob {key!r}.") from None
                failure = failure_of(error)
            except UnusableResponse as error:
                failure = StoreFailed(f"The S3 server did not take or return the bytes of a file: {error}.")
            except (BaseError, RequestFailed) as error:
                # The text of the cause has the request and the response, in which keys stand.
                failure = failure_of(error)
            log.warning("%s: %s", key or self.name, failure.detail)
            if isinstance(failure, Refusal) or attempt == self.tries - 1:
                break
            time.sleep(_PAUSE_SECONDS * 2**attempt)
        raise failure

    def signed_url(self, method: str, key: str, seconds: int) -> str:
        """An address that permits one kind of request for a blob, without a key. Raises StoreFailed."""
        import obstore

        lifetime = timedelta(seconds=seconds)
        return self.request(key, lambda: obstore.sign(self.objects, method, key, lifetime))  # type: ignore[call-overload,no-any-return]

    def signed_query(self, method: str, path: str, query: str) -> str:
        """An address for a request that obstore has no function for, such as the list of multipart uploads.

        obstore signs an address with the credentials that it finds itself. The query belongs to the address of the server,
        and its last parameter takes the `/` that obstore appends. S3 ignores parameters that begin with `x-`.
        """
        import obstore

        whole = f"{self.server}/{self.name}{f'/{quote(path)}' if path else ''}?{query}&x-end="
        store = self._store(whole, virtual_hosted_style_request=True)
        return self.request(path, lambda: obstore.sign(store, method, "", timedelta(minutes=5)))  # type: ignore[call-overload,no-any-return]

    def object_name(self, key: str) -> str:
        """The name of a blob's object, with the prefix of the platform."""
        return f"{self.prefix}/{key}" if self.prefix else key

    @property
    def server(self) -> str:
        """The address of the S3 server."""
        return self.endpoint or f"https://s3.{self.region}.amazonaws.com"

    @property
    def _credentials(self) -> dict[str, Any]:
        """The option for the credentials of the settings; none for those of the machine's role.

        obstore would complete options with variables that begin with `AWS_` and belong to another key. It asks a provider alone.
        """
        if self.access_key_id is None or self.secret_access_key is None:
            return {}
        key, secret = self.access_key_id.get_secret_value(), self.secret_access_key.get_secret_value()
        token = self.session_token.get_secret_value() if self.session_token else None
        given = {"access_key_id": key, "secret_access_key": secret, "token": token, "expires_at": None}
        return {"credential_provider": lambda: given}

    def _store(self, server: str, **options: Any) -> "S3Store":
        """A store of obstore at an address, also where `AWS_ENDPOINT_URL_S3` names another one."""
        from obstore.store import S3Store

        client: Any = {
            "timeout": f"{self.seconds * 1000:.0f}ms",
            "connect_timeout": f"{min(self.seconds, 5) * 1000:.0f}ms",
            "allow_http": self.endpoint.startswith("http:"),
        }
        backoff: Any = {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2}
        retries: Any = {
            "max_retries": self.tries + 1 if self.tries > 1 else 0,
            "retry_timeout": timedelta(seconds=2 * self.seconds),
            "backoff": backoff,
        }
        with _quiet_configuration():
            return S3Store(
                self.name,
                region=self.region,
                endpoint=server,
                aws_endpoint_url_s3=server,
                client_options=client,
                retry_config=retries,
                **self._credentials,
                **options,
            )


@contextmanager
def _quiet_configuration() -> Iterator[None]:
    """Raise StoreFailed in place of an error about the options, whose text may hold a secret."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, ValueError):
        raise StoreFailed(
            "The settings of the bucket are not usable. Check those that begin with PROXIMAL_BLOB."
        ) from None
