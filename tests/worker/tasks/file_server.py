"""A web server whose responses fail in configurable ways."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class File:
    """A file of the server, and how its requests fail."""

    content: bytes = b""
    etag: str | None = None
    statuses: list[int] = field(default_factory=list)
    """Statuses of the first responses. Later ones have the status 200."""
    cuts: list[int] = field(default_factory=list)
    """Number of bytes after which the first responses break off."""
    redirect: str | None = None
    says_length: bool = True
    takes_ranges: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    meanwhile: Callable[[], object] | None = None
    """Called after half of the bytes were sent."""


@dataclass
class Files:
    """The files of a server by path, and the requests that it received."""

    port: int = 0
    files: dict[str, File] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving_files() -> Iterator[Files]:
    """A server on loopback."""
    served = Files()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            served.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            _answer(self, served.files.get(self.path.partition("?")[0], File(statuses=[404])))

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.port = server.server_address[1]
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()


def _answer(handler: BaseHTTPRequestHandler, file: File) -> None:
    handler.close_connection = True
    if file.redirect is not None:
        _head(handler, 302, {"Location": file.redirect, "Content-Length": "0"})
        return
    if file.statuses and (status := file.statuses.pop(0)) != 200:
        _head(handler, status, {"Content-Length": "0"})
        return
    start = _start(handler, file)
    content = file.content[start:]
    named = {"ETag": file.etag} if file.etag else {}
    length = {"Content-Length": str(len(content))} if file.says_length else {"Transfer-Encoding": "chunked"}
    placed = {"Content-Range": f"bytes {start}-{len(file.content) - 1}/{len(file.content)}"} if start else {}
    _head(handler, 206 if start else 200, {**named, **length, **placed, **file.headers})
    _send(handler, file, content[: file.cuts.pop(0)] if file.cuts else content, len(content))


def _start(handler: BaseHTTPRequestHandler, file: File) -> int:
    wanted = handler.headers.get("Range", "")
    fits = file.takes_ranges and handler.headers.get("If-Range") == file.etag
    return int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and fits else 0


def _head(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in {**headers, "Connection": "close"}.items():
        handler.send_header(name, value)
    handler.end_headers()


def _send(handler: BaseHTTPRequestHandler, file: File, content: bytes, whole: int) -> None:
    half = len(content) // 2
    for piece in (content[:half], content[half:]):
        if piece:
            handler.wfile.write(piece if file.says_length else b"%x\r\n%s\r\n" % (len(piece), piece))
        if file.meanwhile is not None:
            file.meanwhile, call = None, file.meanwhile
            call()
    if not file.says_length and len(content) == whole:
        handler.wfile.write(b"0\r\n\r\n")
