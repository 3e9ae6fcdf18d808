"""HTTP connections to the platform. They send the key, raise problems as exceptions, and read lists page by page."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self
from urllib.parse import quote

import httpx
from tenacity import AsyncRetrying, Retrying

from proximal.errors import ApiError, ClientError, Unreachable
from proximal.sdk import file_downloads, retries

_PAGE = 100
Params = Mapping[str, Any]


class SpecModel(Protocol):
    """`trainer.spec.JobSpec`, or another pydantic model. pydantic is not imported here, since that takes long."""

    def model_dump(self, *, mode: str) -> dict[str, Any]: ...


Body = Mapping[str, Any] | SpecModel


class _Omitted(Enum):
    OMITTED = "omitted"


OMITTED = _Omitted.OMITTED
"""The default of an argument whose None has a meaning: the field is left as it is."""
Omitted = Literal[_Omitted.OMITTED]


class _Settings:
    """The parts that both kinds of connection share."""

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self.url = url.rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise ClientError(
                f"{url!r} is no address of a platform: it must begin with http:// or https://, as in http://{url}."
            )
        headers = {"Authorization": f"Bearer {key}"}
        # trust_env=False: a proxy for the internet cannot reach a platform on this machine.
        self._options: dict[str, Any] = {
            "base_url": self.url,
            "headers": headers,
            "timeout": timeout,
            "trust_env": False,
            # Without TLS, no certificates are read, which takes 20 ms.
            "verify": self.url.startswith("https:"),
        }

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            raise Unreachable(f"No answer from the platform at {self.url}: {error}") from error


class Connection(_Settings):
    """`with Connection(url, key) as connection: …`"""

    def __init__(self, url: str, key: str, timeout: float = 30.0) -> None:
        super().__init__(url, key, timeout)
        self._http = httpx.Client(**self._options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The response. Temporary errors are retried. Raises ApiError and Unreachable."""
        once = retries.with_key(method, options)
        return Retrying(**retries.policy(path, once))(self._send, method, path, **once)

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        with self._reaching():
            response = self._http.request(method, path, **options)
        _raise_for_problem(response)
        return response

    def _json(self, method: str, path: str, **content: Any) -> Any:
        """The body of the response; None without one."""
        response = self._request(method, path, **_options(**content))
        return response.json() if response.content else None

    def _pages(self, path: str, params: Params | None = None) -> Iterator[Any]:
        """Every item of a list, page after page."""
        query = {"limit": _PAGE, **(params or {})}
        while True:
            page = self._json("GET", path, params=query)
            yield from page["data"]
            if not page["has_more"]:
                return
            query["after"] = page["last_id"]

    @contextmanager
    def _stream(self, path: str, **options: Any) -> Iterator[httpx.Response]:
        with self._reaching(), self._http.stream("GET", path, **options) as response:
            if response.is_error:
                response.read()
            _raise_for_problem(response)
            yield response

    def _download(self, path: str, target: str | Path, **options: Any) -> httpx.Headers:
        """Write the response to `target`, which appears once it is complete. Returns the headers."""
        target = Path(target)
        with self._stream(path, **options) as response:
            if response.status_code != file_downloads.REDIRECT:
                file_downloads.write(response.iter_bytes(), target)
        if response.status_code == file_downloads.REDIRECT:
            file_downloads.follow(response.headers, target)
        return response.headers


class AsyncConnection(_Settings):
    """`async with AsyncConnection(url, key) as connection: …`"""

    def __init__(self, url: str, key: str, timeout: float = 30.0) -> None:
        super().__init__(url, key, timeout)
        self._http = httpx.AsyncClient(**self._options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        once = retries.with_key(method, options)
        return await AsyncRetrying(**retries.policy(path, once))(self._send, method, path, **once)

    async def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        with self._reaching():
            response = await self._http.request(method, path, **options)
        _raise_for_problem(response)
        return response

    async def _json(self, method: str, path: str, **content: Any) -> Any:
        response = await self._request(method, path, **_options(**content))
        return response.json() if response.content else None

    async def _pages(self, path: str, params: Params | None = None) -> AsyncIterator[Any]:
        query = {"limit": _PAGE, **(params or {})}
        while True:
            page = await self._json("GET", path, params=query)
            for item in page["data"]:
                yield item
            if not page["has_more"]:
                return
            query["after"] = page["last_id"]

    @asynccontextmanager
    async def _stream(self, path: str, **options: Any) -> AsyncIterator[httpx.Response]:
        with self._reaching():
            async with self._http.stream("GET", path, **options) as response:
                if response.is_error:
                    await response.aread()
                _raise_for_problem(response)
                yield response

    async def _download(self, path: str, target: str | Path, **options: Any) -> httpx.Headers:
        """Write the response to `target`, which appears once it is complete. Returns the headers."""
        target = Path(target)
        async with self._stream(path, **options) as response:
            if response.status_code != file_downloads.REDIRECT:
                await file_downloads.write_async(response.aiter_bytes(), target)
        if response.status_code == file_downloads.REDIRECT:
            await file_downloads.follow_async(response.headers, target)
        return response.headers


def escaped(value: object) -> str:
    """A value as one segment of a path."""
    return quote(str(value), safe="")


def commas(names: Sequence[str] | None) -> str | None:
    """Names as one parameter."""
    return ",".join(names) if names else None


def _options(params: Params | None = None, body: Body | None = None, **more: Any) -> dict[str, Any]:
    """The arguments of httpx. Parameters that are None and fields that are OMITTED are not sent."""
    if params is not None:
        more["params"] = given(params)
    if body is not None:
        whole = body if isinstance(body, Mapping) else body.model_dump(mode="json")
        more["json"] = {name: value for name, value in whole.items() if value is not OMITTED}
    return more


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def unchanged(etag: str | None) -> dict[str, str]:
    """The header of a request that must not overwrite a later change: `etag` is the member of the object that was read."""
    return {} if etag is None else {"If-Match": f'"{etag}"'}


def _raise_for_problem(response: httpx.Response) -> None:
    if not response.is_error:
        return
    try:
        problem = response.json()
    except ValueError:
        problem = {"detail": response.text[:500]}
    raise ApiError(response.status_code, problem if isinstance(problem, dict) else {}, response.headers)


# Server-sent events, in the format of the WHATWG HTML standard.
@dataclass(frozen=True)
class Message:
    """One dispatched event."""

    event: str
    data: str

    def json(self) -> Any:
        return json.loads(self.data)


class MessageParser:
    """Puts messages together from lines. A message without its blank line is incomplete and dropped."""

    def __init__(self) -> None:
        self._event, self._data = "message", list[str]()

    def feed(self, line: str) -> Message | None:
        """The message that ends with this line; None within a message."""
        if not line:
            message = Message(self._event, "\n".join(self._data)) if self._data else None
            self._event, self._data = "message", []
            return message
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        return None


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """The messages of a stream."""
    parser = MessageParser()
    for line in lines:
        if (message := parser.feed(line)) is not None:
            yield message
