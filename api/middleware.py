"""Middleware for every request: an id, the check of the host, a size limit, security headers, a log line, and a handler for unexpected errors."""

import logging
import re
import secrets
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import problem
from api.response_headers import added_headers
from core.errors import PlatformError, WrongHost
from core.settings import Settings, get_settings
from core.uploads.parts import part_bytes_for

log = logging.getLogger("api")

REQUEST_ID = re.compile(r"[\w.:~+/=-]{8,128}", re.ASCII)
"""Ids of clients that are kept: those of UUIDs, trace ids and hashes. They cannot break a line of the log."""
FOR_MACHINES = ("/healthz", "/readyz", "/metrics")
"""Paths for load balancers and Prometheus, which name the host by an address. A browser's cookie opens none of them."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]/@\s]+)(:\d*)?")
FORM = ("POST", "/v1/datasets")
MULTIPART_OVERHEAD = 64 * 1024
PART = re.compile(r"/v1/uploads/[^/]+/parts/[^/]+")
IN_PARTS = " Send a larger file in parts: POST /v1/uploads."
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # The code of a sign-in link is in the address of the page until the page has removed it.
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    # Sources are limited to this server. uPlot sets sizes by inline styles.
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
}


class RequestFrame:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, settings: Settings | None = None) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, receive, send, *self._limit(scope))
        try:
            await self._app_for(scope)(scope, request.receive, request.send)
        except Exception as error:  # noqa: BLE001  process boundary: logged, and sent without a stack trace
            await request.crash(error)
        finally:
            request.log()

    def _app_for(self, scope: Scope) -> ASGIApp:
        """The application, or the refusal of a request for a foreign host.

        A web page can make its own name resolve to this machine (DNS rebinding). Its requests then are of the same origin
        for the browser, and only their `Host` shows that they come from elsewhere.
        """
        host = Headers(scope=scope).get("host", "")
        if scope["path"] in FOR_MACHINES or is_own_host(host, (self._settings or get_settings()).hosts):
            return self._app
        advice = "The operator of the platform can add its name to PROXIMAL_HOSTS."
        error = WrongHost(f"{WrongHost.title} {advice}")
        return problem(scope["state"]["request_id"], scope["path"], error)

    def _limit(self, scope: Scope) -> tuple[int, str]:
        """The maximum size of the body in bytes, and advice for larger ones."""
        settings = self._settings or get_settings()
        if (scope["method"], scope["path"]) == FORM and _is_form(scope):
            return settings.max_request_upload_bytes + MULTIPART_OVERHEAD, IN_PARTS
        if scope["method"] == "PUT" and PART.fullmatch(scope["path"]):
            return part_bytes_for(settings.max_upload_bytes, settings.upload_part_bytes), ""
        return settings.max_body_bytes, ""


def is_own_host(header: str, hosts: Sequence[str]) -> bool:
    """Whether a `Host` header names the platform: this machine, or one of `hosts`. The port does not matter."""
    found = HOST.fullmatch(header.lower())
    if found is None:
        return False
    name = found["name"].rstrip(".")
    return any(
        allowed in ("*", name) or (allowed.startswith("*.") and name.endswith(allowed[1:]))
        for allowed in (*LOCAL_HOSTS, *hosts)
    )


def _is_form(scope: Scope) -> bool:
    return Headers(scope=scope).get("content-type", "").startswith("multipart/")


class _Request:
    """A request and its response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: int, advice: str) -> None:
        sent = Headers(scope=scope).get("x-request-id", "")
        self.id = sent if REQUEST_ID.fullmatch(sent) else f"req_{secrets.token_hex(12)}"
        self._scope, self._receive, self._send = scope, receive, send
        self._limit, self._advice, self._received, self._status = limit, advice, 0, 0
        announced = Headers(scope=scope).get("content-length", "")
        self._announced = int(announced) if announced.isdigit() else 0
        self._began = self._answered = time.perf_counter()
        scope.setdefault("state", {})["request_id"] = self.id

    async def receive(self) -> Message:
        """The next piece of the body. Raises HTTPException 413 beyond the limit, whatever Content-Length announced."""
        if self._announced > self._limit:
            raise self._too_large()
        message = await self._receive()
        self._received += len(message.get("body", b""))
        if self._received > self._limit:
            raise self._too_large()
        return message

    def _too_large(self) -> HTTPException:
        # FastAPI lets only an HTTPException through while it reads a body.
        detail = f"The body may have at most {self._limit} bytes.{self._advice}"
        return HTTPException(413, detail, headers={"Connection": "close"})

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._answered = message["status"], time.perf_counter()
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.id
            for name, value in added_headers(self._scope).items():
                headers[name] = value
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            if self._scope["path"].startswith("/v1/"):
                headers.setdefault("Cache-Control", "no-store")
        await self._send(message)

    async def crash(self, error: Exception) -> None:
        log.error("request %s failed", self.id, exc_info=error)
        if self._status:
            raise error  # the response has begun, and a broken connection marks it as incomplete
        response = problem(self.id, self._scope["path"], PlatformError(f"Look for {self.id} in the server's log."))
        await response(self._scope, self._receive, self.send)

    def log(self) -> None:
        """Log one line, and count the request. The line omits the query, which may hold a sign-in code, and quotes the path, which may hold a line break."""
        milliseconds = (time.perf_counter() - self._began) * 1000
        fields: tuple[Any, ...] = (
            self._scope["method"],
            quote(self._scope["path"]),
            self._status,
            milliseconds,
            self.id,
        )
        log.info("%s %s %s %.0f ms %s", *fields)
        self._scope["app"].state.monitor.count(self._scope, self._status, self._answered - self._began)
