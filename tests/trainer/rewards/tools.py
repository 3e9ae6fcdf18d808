"""Tools for the tests of rewards: responses, a context, and an HTTP server with given replies."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from tests.trainer.stage_tools import CPU, new_codec
from trainer.models import Model
from trainer.rewards import Missing, RewardContext, RewardInput
from trainer.text.codec import Codec


def answer(text: str, reference: str | None = None, prompt: str = "q", finished: bool = True) -> RewardInput:
    """One token per byte and an EOS, so that a finished "abc" has 4 tokens."""
    return RewardInput(prompt, [5, 6], [7] * len(text) + [1] * finished, text, finished, reference)


def encoded(codec: Codec, prompt: Any, text: str, finished: bool = True) -> RewardInput:
    """The input of a reward, as if a policy with this codec had sampled the text."""
    ids, _ = codec.completion(text)
    return RewardInput(prompt, codec.prompt(prompt) or [], ids if finished else ids[:-1], text, finished, None)


def context(own_model: Model | None = None, codec: Codec | None = None, batch_size: int | None = None) -> RewardContext:
    return RewardContext(codec or new_codec(), CPU, own_model, batch_size, notify=lambda text: None)


def assert_missing(found: object, cause: str, said: str) -> None:
    """The value is missing, for this cause. `said`: a pattern in the reason."""
    assert isinstance(found, Missing) and found.cause == cause
    assert re.search(said, found.reason), found.reason


Reply = tuple[int, bytes]
"""A status and a body."""


def says(value: Any, status: int = 200) -> Reply:
    return status, json.dumps(value).encode()


@dataclass
class Server:
    """The address of a server, and the requests that it received."""

    url: str
    questions: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def serving(reply: Callable[[dict[str, Any]], Reply]) -> Iterator[Server]:
    """A server on the loopback interface that answers each POST by `reply` and keeps what it was asked."""
    seen = Server("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.questions.append(question)
            status, body = reply(question)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        seen.url = f"http://127.0.0.1:{server.server_port}/score"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join()
