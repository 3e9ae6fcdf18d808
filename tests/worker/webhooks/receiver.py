"""A receiver of webhooks: a real HTTP server that keeps what arrives, and responds as a test wants."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from sqlalchemy.orm import Session

from core.models import Webhook
from core.settings import Settings
from core.webhooks import webhooks
from core.webhooks.event_types import EventType


@dataclass(frozen=True)
class Arrival:
    """One request, and the status that it got."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    status: int

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    def signed_by(self, secret: str) -> bool:
        """Whether one of the signatures is that of the secret: written by hand, apart from the sender's code."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        content = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        wanted = "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
        return wanted in self.headers["webhook-signature"].split(" ")


Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Receiver:
    url: str = ""
    answer: Callable[[Arrival], Answer] = lambda _: (200, {}, b"ok")
    arrivals: list[Arrival] = field(default_factory=list)
    lock: Any = field(default_factory=Lock)

    @property
    def accepted(self) -> list[Arrival]:
        with self.lock:
            return [one for one in self.arrivals if one.status < 300]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Serve on a free port of 127.0.0.1."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with receiver.lock:
                status, more, content = receiver.answer(Arrival(self.path, headers, body, 0))
                receiver.arrivals.append(Arrival(self.path, headers, body, status))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # the sender was killed, or gave up
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook?from=proximal"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def add_webhook(session: Session, settings: Settings, owner_id: str, url: str, *types: EventType) -> Webhook:
    """A committed webhook for all events, or for these."""
    made = webhooks.create(session, settings, owner_id, url, types or list(EventType))
    session.commit()
    return made
