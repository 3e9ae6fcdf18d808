"""Requests that arrive slowly or not at all: the rules with a clock of their own, and the server over real sockets."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import httpx
import pytest
from fastapi import FastAPI

from api.openapi import text
from api.request_timeouts import RequestTimeouts
from core.settings import Settings
from tests.api.serving import serving
from tests.waiting import eventually


@dataclass(eq=False)
class Waiting:
    """A connection that began to wait at `since`."""

    since: float
    peer: str = "192.0.2.1"
    has_header: bool = False
    moved: int = 0
    held_back: bool = False
    closed: list[str] = field(default_factory=list)

    def is_held_back(self) -> bool:
        return self.held_back

    def time_out(self, reason: str) -> None:
        self.closed.append(reason)


def tended(
    now: float, *connections: Waiting, per_address: int = 2, most: int = 100, proxies: tuple[str, ...] = ()
) -> list[bool]:
    """Which of the connections are closed at `now`."""
    timeouts = RequestTimeouts(20, 30, per_address, most, proxies)
    for connection in connections:
        timeouts.add(connection)
    timeouts.tend(now)
    return [bool(connection.closed) for connection in connections]


def test_header_may_take_its_seconds_and_no_longer() -> None:
    assert tended(100.0, Waiting(80.0), Waiting(79.9)) == [False, True]


def test_body_gets_a_second_for_every_500_bytes() -> None:
    on_time, late = (Waiting(0.0, has_header=True, moved=moved) for moved in (5000, 4999))
    assert tended(40.0, on_time, late) == [False, True]


def test_body_that_the_application_does_not_read_waits() -> None:
    paused = Waiting(0.0, has_header=True, held_back=True)
    assert tended(1000.0, paused) == [False]
    assert paused.since == 1.0


def test_address_beyond_its_limit_loses_the_oldest_header_first() -> None:
    body, oldest, newest = Waiting(1.0, has_header=True), Waiting(2.0), Waiting(3.0)
    assert tended(10.0, body, oldest, newest) == [False, True, False]


def test_limit_counts_addresses_apart_and_ipv6_by_network() -> None:
    others = [Waiting(1.0), Waiting(2.0), Waiting(1.0, "192.0.2.2")]
    network = [Waiting(float(n), f"2001:db8:0:1::{n}") for n in (1, 2, 3)]
    assert tended(10.0, *others, *network) == [False, False, False, True, False, False]


def test_limit_spares_connections_opened_at_once() -> None:
    assert tended(10.0, *(Waiting(9.5) for _ in range(5))) == [False] * 5


def test_limit_of_all_addresses_holds_without_a_tick() -> None:
    """The address with most of them loses old headers, then old bodies, and what has just been opened at last."""
    attack = [Waiting(2.0, has_header=True), Waiting(2.5), Waiting(3.0), Waiting(4.8), Waiting(4.9)]
    timeouts = RequestTimeouts(20, 30, per_address=100, most=3)
    for connection in (*attack[:3], Waiting(5.0, "198.51.100.1"), *attack[3:]):
        timeouts.add(connection)
    assert [len(one.closed) for one in attack] == [1, 1, 1, 0, 0]


def test_limit_of_all_addresses_counts_what_waits_now() -> None:
    """Connections that are added twice count once, removed ones not at all, and those of proxies neither."""
    timeouts = RequestTimeouts(20, 30, per_address=100, most=2, proxies=["10.0.0.0/8"])
    one, two, three, proxy = Waiting(1.0), Waiting(2.0), Waiting(3.0, "2001:db8::1"), Waiting(1.0, "10.0.0.7")
    for connection in (one, one, two, proxy, proxy):
        timeouts.add(connection)
    for connection in (one, one, proxy):
        timeouts.remove(connection)
    timeouts.add(three)
    assert not (one.closed or two.closed or three.closed or proxy.closed)
    timeouts.add(one)
    assert (len(one.closed), len(two.closed), len(three.closed)) == (1, 0, 0)


def test_limit_spares_trusted_proxies() -> None:
    through_proxy = [Waiting(1.0, "10.0.0.7") for _ in range(5)]
    assert tended(10.0, *through_proxy, proxies=("10.0.0.0/8",)) == [False] * 5
    assert tended(30.0, *through_proxy, proxies=("10.0.0.0/8",)) == [True] * 5


@pytest.fixture
def port(app: FastAPI, settings: Settings) -> Iterator[int]:
    changed = {"header_seconds": 0.5, "body_seconds": 0.5, "unfinished_requests_per_address": 8}
    app.state.settings = settings.model_copy(update=changed)
    with serving(app) as port:
        yield port


def connected(port: int, sent: bytes = b"", source: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0))
    connection.sendall(sent)
    return connection


def everything_from(connection: socket.socket) -> bytes:
    """All that the server sends until it closes the connection."""
    with connection, connection.makefile("rb") as stream:
        return stream.read()


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (b"", b""),
        (b"\r\n", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: local", b"HTTP/1.1 408 Request Timeout"),
        (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{", b"HTTP/1.1 408 Request Timeout"),
    ],
    ids=["nothing", "an empty line", "half a header", "half a body"],
)
def test_request_that_does_not_arrive_is_closed(port: int, sent: bytes, received: bytes) -> None:
    response = everything_from(connected(port, sent))
    assert response.startswith(received) and bool(response) == bool(received)
    assert not response or b'"code":"request_timeout"' in response


@pytest.mark.parametrize(
    "start",
    [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ",
        b"GET /",
        b"POST /v1/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ",
    ],
    ids=["a value", "an address", "a trailer"],
)
def test_header_without_end_is_refused(app: FastAPI, start: bytes) -> None:
    with serving(app) as port, connected(port, start) as connection:
        with suppress(ConnectionError):
            for _ in range(200):
                connection.sendall(b"a" * 2**16)
        with suppress(ConnectionError):
            assert connection.recv(12) == b"HTTP/1.1 431"
        with pytest.raises(ConnectionError):
            for _ in range(200):
                connection.sendall(b"a" * 2**16)


def test_body_in_many_small_chunks_is_no_large_header(app: FastAPI, settings: Settings) -> None:
    """A megabyte of chunks of one byte each, with five bytes around each."""
    head = b"POST /v1/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with serving(app) as port, connected(port, head + b"1\r\n \r\n" * 170_000 + b"0\r\n\r\n") as connection:
        assert connection.recv(12) == b"HTTP/1.1 415"


def test_empty_line_after_a_response_does_not_keep_it_open(port: int) -> None:
    """The line ends uvicorn's own time-out for idle connections, and begins no request."""
    connection = connected(port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert connection.recv(8) == b"HTTP/1.1"
    connection.sendall(b"\r\n")
    assert everything_from(connection)


def test_crowd_of_half_requests_leaves_room_for_whole_ones(app: FastAPI, settings: Settings) -> None:
    """40 connections of one address, at a limit of 8: the oldest are closed long before their time is over."""
    app.state.settings = settings.model_copy(update={"header_seconds": 600, "unfinished_requests_per_address": 8})
    with serving(app) as port, ExitStack() as crowd:
        half = [crowd.enter_context(connected(port, b"POST /v1/jobs HTTP/1.1\r\n")) for _ in range(40)]
        for connection in half[:32]:
            assert connection.recv(12) == b"HTTP/1.1 408"
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code == 200
        half[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            half[-1].recv(1)


def test_five_addresses_do_not_use_up_the_descriptors(
    app: FastAPI, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half-open requests below the limit of each address, in the first second, in which no address has a limit."""
    monkeypatch.setattr("api.server.half_of_descriptors", lambda: 10)
    app.state.settings = settings.model_copy(update={"header_seconds": 600})
    with serving(app) as port, ExitStack() as crowd:
        half = [crowd.enter_context(connected(port, b"POST /v1", f"127.0.0.{2 + n % 5}")) for n in range(40)]
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code == 200
        for connection in half[:30]:
            assert connection.recv(12) in (b"HTTP/1.1 408", b"")


def test_response_that_is_not_read_is_dropped(
    app: FastAPI, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Its end cannot be sent: a connection that is merely closed would stay open until the client reads."""
    caplog.set_level("INFO", "api.request_timeouts")
    app.state.settings = settings.model_copy(update={"body_seconds": 0.5})
    requests = 20 * b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(app) as port, connected(port, requests) as connection:
        eventually(lambda: "closed 1 connections" in caplog.text)
        received = 0
        with suppress(ConnectionResetError):
            while part := connection.recv(2**20):
                received += len(part)
    assert 0 < received < 20 * len(text(app))
