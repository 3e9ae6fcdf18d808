"""The tasks' scores over HTTP, as a reward server of one's own would give them."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from examples.strings.tasks import TASKS


class Scorer(Protocol):
    """Whatever scores a response."""

    def score(self, prompt: str, response: str) -> float: ...


@contextmanager
def serving(port: int = 0, tasks: Mapping[str, Scorer] = TASKS) -> Iterator[str]:
    """A reward server for every task at /NAME, by the `proximal` HTTP protocol, while inside; its address. Port 0: a free one."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            items = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["items"]
            task = tasks[self.path[1:]]
            found = [task.score(item["prompt"], item["response"]) for item in items]
            body = json.dumps({"scores": found}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing per request."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
