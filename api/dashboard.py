"""Serves the built dashboard at `/`."""

import html
import mimetypes
from contextlib import suppress
from pathlib import Path, PurePosixPath

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

OURS = ("/v1", "/docs", "/openapi.json", "/healthz", "/readyz", "/metrics")
"""Paths that are no pages. A program that asks for one that does not exist gets an error, not the dashboard."""
_COPIES = {"br": ".br", "gzip": ".gz"}
"""Suffixes of the compressed copies, by content coding, the smallest first."""
NOT_BUILT = """<!doctype html>
<title>Proximal</title>
<h1>The dashboard is not built</h1>
<p>The API is up: see its <a href="/docs">reference</a>.
<p>To build the dashboard, run <code>make setup</code> in the repository; it goes to <code>{folder}</code>.
A wheel has the dashboard if <code>make wheels</code> built it.
"""


class Dashboard:
    """Serves the dashboard for paths without a route."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = StaticFiles(directory=folder, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or _is_ours(scope["path"]):
            raise HTTPException(404, f"There is nothing at {scope['path']}.")
        response = await self._answer(scope)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        if not (self._folder / "index.html").is_file():
            return HTMLResponse(NOT_BUILT.format(folder=html.escape(str(self._folder))), 503)
        path = scope["path"].lstrip("/")
        if path.startswith("assets/"):
            # The names of assets contain a hash of their content, so they may be cached. The page that names them may not.
            response = await self._asset(path, scope)
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
            return response
        is_page = not PurePosixPath(path).suffix
        # The page has its own router for addresses such as /jobs/job_….
        response = await self._files.get_response("index.html" if is_page else path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response

    async def _asset(self, path: str, scope: Scope) -> Response:
        """The file, or the copy that the build has compressed, if there is one in an encoding that the browser accepts."""
        accepted = _accepted(Headers(scope=scope).get("accept-encoding", ""))
        for coding, suffix in _COPIES.items():
            if coding in accepted:
                with suppress(HTTPException):  # no such copy
                    response = await self._files.get_response(path + suffix, scope)
                    response.headers["Content-Encoding"] = coding
                    response.headers["Vary"] = "Accept-Encoding"
                    response.headers["Content-Type"] = mimetypes.guess_type(path)[0] or "application/octet-stream"
                    return response
        return await self._files.get_response(path, scope)


def _accepted(header: str) -> set[str]:
    """The content codings that an `Accept-Encoding` header names and does not refuse by `q=0`."""
    items = (item.replace(" ", "").lower().partition(";q=") for item in header.split(","))
    return {name for name, _, quality in items if not quality or quality.strip("0.")}


def _is_ours(path: str) -> bool:
    return any(path == ours or path.startswith(ours + "/") for ours in OURS)
