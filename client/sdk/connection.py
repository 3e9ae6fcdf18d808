"""An HTTP connection to the platform. It sends the key, raises problems as exceptions, and reads lists page by page."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from client.errors import ApiError, Unreachable

_PAGE = 100
Params = Mapping[str, Any]


class Connection:
    """`with Connection(url, key) as connection: …`"""

    def __init__(self, url: str, key: str, timeout: float = 30.0) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {key}"}
        # trust_env=False: a proxy for the internet cannot reach a platform on this machine.
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        with self._reaching():
            response = self._http.request(method, path, **options)
        _raise_for_problem(response)
        return response

    def _get(self, path: str, **params: Any) -> Any:
        return self._request("GET", path, params=_without_none(params)).json()

    def _pages(self, path: str, **params: Any) -> Iterator[Any]:
        """Every item of a list, page after page."""
        cursor: Any = params.pop("after", None)
        while True:
            page = self._get(path, **params, limit=_PAGE, after=cursor)
            yield from page["data"]
            if not page["has_more"]:
                return
            cursor = page["last_id"]

    @contextmanager
    def _stream(self, path: str, **options: Any) -> Iterator[httpx.Response]:
        with self._reaching(), self._http.stream("GET", path, **options) as response:
            if response.is_error:
                response.read()
            _raise_for_problem(response)
            yield response

    def _download(self, path: str, target: Path) -> Path:
        """Write the response to `target`, which appears once it is complete."""
        draft = target.with_name(f".{target.name}.part")
        with self._stream(path) as response, draft.open("wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
        return draft.replace(target)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            raise Unreachable(f"No answer from the platform at {self.url}: {error}") from error


def _without_none(params: Params) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _raise_for_problem(response: httpx.Response) -> None:
    if not response.is_error:
        return
    try:
        problem = response.json()
    except ValueError:
        problem = {"detail": response.text[:500]}
    raise ApiError(response.status_code, problem if isinstance(problem, dict) else {})


# Server-sent events, in the format of the WHATWG HTML standard.
@dataclass(frozen=True)
class Message:
    """One dispatched event."""

    event: str
    data: str

    def json(self) -> Any:
        return json.loads(self.data)


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """Parse events. A blank line ends an event; an event without one is incomplete and dropped."""
    event = "message"
    data: list[str] = []
    for line in lines:
        if not line:
            if data:
                yield Message(event, "\n".join(data))
            event, data = "message", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
