"""An HTTP proxy in front of an S3 server that injects faults into requests and responses."""

import http.client
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

FAULTS = (
    "busy",
    "failed after it was done",
    "slow",
    "request cut",
    "response cut",
    "response lost",
    "request changed",
    "response changed",
    "credentials lost",
)
_ERROR = '<?xml version="1.0"?><Error><Code>{}</Code><Message>injected</Message></Error>'
_NOT_COPIED = frozenset({"connection", "transfer-encoding", "keep-alive", "content-length", "expect"})


class FaultyProxy:
    """`choose` returns the fault of the next request, or None. `counted` has the number of each fault.

    `seen` has the method and the path of each request. `before` is called with them while the request waits, and may return its fault.

    Requests with a method in `refused` are answered as to a key without the permission.
    """

    def __init__(self, upstream: str, choose: Callable[[], str | None], refused: Sequence[str] = ()) -> None:
        self.refused = refused
        self.host = urlsplit(upstream).netloc
        self.choose = choose
        self.counted: Counter[str] = Counter()
        self.seen: list[tuple[str, str]] = []
        self.before: Callable[[str, str], str | None] = lambda method, path: None
        self.ignores_conditions = False
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._changes = 0

    def changed(self, data: bytes) -> bytes:
        """The bytes with one other bit, each time at another place."""
        with self._lock:
            self._changes += 1
        place = self._changes * 7919 % len(data) if data else 0
        return data[:place] + bytes(byte ^ 1 for byte in data[place : place + 1]) + data[place + 1 :]

    def next_fault(self) -> str | None:
        with self._lock:
            fault = self.choose()
            if fault is not None:
                self.counted[fault] += 1
            return fault


@contextmanager
def serving(proxy: FaultyProxy) -> Iterator[str]:
    """The address of the proxy."""

    class Handler(_Handler):
        owner = proxy

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that went away is no error here."""

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        proxy.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    owner: FaultyProxy
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.owner.seen.append((self.command, self.path))
        fault = self.owner.next_fault()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.owner.before(self.command, self.path) or fault
        if self.command in self.owner.refused:
            self._send(403, {}, _ERROR.format("AccessDenied").encode())
        elif fault == "busy":
            self._send(503, {}, _ERROR.format("SlowDown").encode())
        elif fault == "error in a 200":
            self._send(200, {}, b" \n" + _ERROR.format("InternalError").encode())
        elif fault == "credentials lost":
            self._send(403, {}, _ERROR.format("InvalidAccessKeyId").encode())
        elif fault == "slow":
            self._wait_for_hang_up()
        elif fault == "request cut":
            self._forward_half(body)
        else:
            self._answer(fault, body)

    do_PUT = do_POST = do_DELETE = do_HEAD = do_GET

    def _answer(self, fault: str | None, body: bytes) -> None:
        if fault == "request changed" and body:
            body = self.owner.changed(body)
        status, headers, answer = self._forward(body)
        if fault == "failed after it was done":
            self._send(500, {}, _ERROR.format("InternalError").encode())
        elif fault == "response lost":
            self.close_connection = True
        elif fault == "response cut":
            self._send(status, headers, answer, most=len(answer) // 2)
            self.close_connection = True
        else:
            self._send(
                status,
                headers,
                self.owner.changed(answer) if fault == "response changed" and self._is_data() else answer,
            )

    def _is_data(self) -> bool:
        """Whether the response has the bytes of an object."""
        return self.command == "GET" and not urlsplit(self.path).query

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        upstream = http.client.HTTPConnection(self.owner.host, timeout=60)
        dropped = _NOT_COPIED | {"if-none-match"} if self.owner.ignores_conditions else _NOT_COPIED
        headers = {name: value for name, value in self.headers.items() if name.lower() not in dropped}
        upstream.request(self.command, self.path, body, headers | {"Content-Length": str(len(body))})
        response = upstream.getresponse()
        answer = response.read()
        kept = {name: value for name, value in response.getheaders() if name.lower() not in _NOT_COPIED}
        if self.command == "HEAD":
            kept["Content-Length"] = response.headers.get("Content-Length", "0")
        upstream.close()
        return response.status, kept, answer

    def _forward_half(self, body: bytes) -> None:
        """Send the whole head and half of the body, then hang up on both sides."""
        head = "".join(
            f"{name}: {value}\r\n"
            for name, value in self.headers.items()
            if name.lower() not in ("connection", "expect")
        )
        with socket.create_connection(self.owner.host.split(":"), timeout=60) as upstream:
            text = f"{self.command} {self.path} HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
            upstream.sendall(text.encode() + body[: len(body) // 2])
        self.close_connection = True

    def _send(self, status: int, headers: dict[str, str], body: bytes, most: int | None = None) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:most])

    def _wait_for_hang_up(self) -> None:
        """Send nothing until the client gives up."""
        self.close_connection = True
        self.connection.settimeout(0.5)
        while not self.owner.closing.is_set():
            try:
                if not self.connection.recv(1):
                    return
            except TimeoutError:
                continue
