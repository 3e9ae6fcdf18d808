"""Compression of responses: zstd or gzip, for the media types that compress well.

Event streams are sent as they are: a compressor for each of a thousand clients would take more memory than the streams
themselves. A checkpoint (zip, safetensors) is not compressed, and neither is a file that was compressed at build time.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette_compress import CompressMiddleware, remove_compress_type

_SMALLEST_BYTES = 500


class Compression:
    """Middleware. It compresses, and keeps entity tags correct.

    A strong ETag identifies exact bytes, so that of a compressed response becomes weak. `If-Match` compares strongly. The
    middleware restores the strong tag in it, so a client can send back the tag of a compressed response.
    """

    def __init__(self, app: ASGIApp) -> None:
        remove_compress_type("text/event-stream")
        self._app = CompressMiddleware(app, minimum_size=_SMALLEST_BYTES, brotli=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if "if-match" in Headers(scope=scope):
            scope["headers"] = [(name, _strong(name, value)) for name, value in scope["headers"]]

        async def send_with_tag(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "content-encoding" in headers and headers.get("etag", "").startswith('"'):
                    headers["etag"] = f"W/{headers['etag']}"
            await send(message)

        await self._app(scope, receive, send_with_tag)


def _strong(name: bytes, value: bytes) -> bytes:
    return value.replace(b'W/"', b'"') if name == b"if-match" else value
