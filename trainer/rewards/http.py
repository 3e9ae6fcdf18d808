"""A remote reward: responses out in batches, numbers back."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

from trainer.errors import RewardError, SpecError
from trainer.rewards.base import RewardContext, RewardInput, RewardValue
from trainer.spec import HttpReward
from trainer.text.codec import Codec

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds before the second try, doubled before each further one, up to the longest."""

GOES_ON = "; the same command goes on from the last checkpoint"
"""What a run adds to its advice, and a check cannot."""


class _MayPass(Exception):
    """Trouble that another try may not meet."""


@dataclass
class Endpoint:
    """Where to ask, how long to wait, and how often to try; counts what it meets."""

    url: str
    timeout: float
    retries: int
    notify: Callable[[str], None]
    pause: Callable[[float], None] = time.sleep
    requests: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Raises SpecError for an address that cannot be asked."""
        try:
            parts = urlsplit(self.url)
            good = bool(parts.hostname) and self.url.isascii() and not any(c.isspace() for c in self.url)
            _ = parts.port
        except ValueError:
            good = False
        if not good:
            raise SpecError(f"`url` is not an address that can be asked: {self.url}")
        if parts.username is not None or parts.password is not None:
            raise SpecError("`url` must hold no user and no password: a spec is stored and shown.")

    def ask(self, question: dict[str, Any]) -> Any:
        """The answer to POSTing `question`.

        Raises RewardError: after the last try, or at once for an answer that would not change (4xx, not JSON).
        """
        for attempt in range(self.retries + 1):
            self.requests += 1
            try:
                return self._ask_once(question)
            except _MayPass as trouble:
                self.failed += 1
                if attempt == self.retries:
                    raise RewardError(
                        f"{self.url} failed {_times(attempt + 1)}: {trouble}. See that it runs and answers, or "
                        f"raise `timeout` or `retries`{GOES_ON}."
                    ) from trouble
                seconds = min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE)
                self.notify(
                    f"{self.url}: {trouble}. Trying again in {seconds:g} s (retry {attempt + 1} of {self.retries})."
                )
                self.pause(seconds)
            except RewardError:
                self.failed += 1
                raise
        raise AssertionError("unreachable: the last try returns or raises")

    def _ask_once(self, question: dict[str, Any]) -> Any:
        try:
            status, body = self._post(json.dumps(question, ensure_ascii=False, allow_nan=False).encode())
        except TimeoutError as error:
            raise _MayPass(f"no answer within {self.timeout:g} s") from error
        except (OSError, HTTPException) as error:
            raise _MayPass(f"the connection failed ({error or type(error).__name__})") from error
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _MayPass(f"it answered {_excerpt(status, body)}")
        if status // 100 != 2:
            raise RewardError(f"{self.url} answered {_excerpt(status, body)}")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RewardError(
                f"{self.url} answered with something that is not JSON: {_excerpt(status, body)}"
            ) from error

    def _post(self, body: bytes) -> tuple[int, bytes]:
        deadline = time.monotonic() + self.timeout
        parts = urlsplit(self.url)
        connection = _connection(parts, self.timeout)
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, {"Content-Type": "application/json", "Connection": "close"})
            _wait_until(connection, deadline)
            with connection.getresponse() as response:
                return response.status, _read(response, connection, deadline)
        finally:
            connection.close()


def _connection(parts: SplitResult, timeout: float) -> HTTPConnection:
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(str(parts.hostname), parts.port, timeout=timeout)


def _read(response: HTTPResponse, connection: HTTPConnection, deadline: float) -> bytes:
    """The whole body. The deadline holds for all of it: an endpoint that trickles is as late as one that is silent."""
    chunks = []
    while chunk := response.read1(1 << 16):
        chunks.append(chunk)
        _wait_until(connection, deadline)
    if response.length:
        raise ConnectionError(f"the answer broke off {response.length} bytes before its end")
    return b"".join(chunks)


def _wait_until(connection: HTTPConnection, deadline: float) -> None:
    """Let the next read last no longer than what is left. Raises TimeoutError."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    if connection.sock is not None:
        connection.sock.settimeout(left)


def _excerpt(status: int, body: bytes) -> str:
    """A status and the beginning of what came with it."""
    text = " ".join(body[:400].decode(errors="replace").split())
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "unknown status"
    return f"{status} {phrase}" + (f": {text[:200]}" if text else "")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times, at last"


def build_http(spec: HttpReward, context: RewardContext) -> "RemoteReward":
    """Raises SpecError for an address that cannot be asked; the endpoint itself is asked only when there is something to."""
    return RemoteReward(spec, Endpoint(spec.url, spec.timeout, spec.retries, context.notify), context.codec)


class RemoteReward:
    """Asks an endpoint for scores, `batch_size` responses to a request."""

    def __init__(self, spec: HttpReward, endpoint: Endpoint, codec: Codec) -> None:
        self._spec, self._endpoint, self._codec = spec, endpoint, codec
        self._seconds = 0.0

    def score(self, answers: Sequence[RewardInput]) -> list[RewardValue]:
        """Raises RewardError where the endpoint fails for good, or gives a response anything but a number or a list of them."""
        began = time.perf_counter()
        self._endpoint.requests = self._endpoint.failed = 0
        scores: list[RewardValue] = []
        for first in range(0, len(answers), self._spec.batch_size):
            scores += self._ask(answers[first : first + self._spec.batch_size])
        self._seconds = time.perf_counter() - began
        return scores

    def figures(self) -> dict[str, float]:
        """Failed requests ÷ requests, and the seconds that asking took."""
        rate = self._endpoint.failed / self._endpoint.requests if self._endpoint.requests else 0.0
        return {"error_rate": rate, "seconds": self._seconds}

    def _ask(self, answers: Sequence[RewardInput]) -> list[RewardValue]:
        if self._spec.protocol == "openrlhf":
            return request_numbers(self._endpoint, self._openrlhf(answers), "rewards", len(answers))
        items: list[dict[str, Any]] = [
            {"prompt": a.prompt, "response": a.text, "answer": a.reference, "finished": a.finished} for a in answers
        ]
        if self._spec.send_tokens:
            items = [item | {"tokens": self._tokens(a)} for item, a in zip(items, answers, strict=True)]
        return request_numbers(self._endpoint, {"items": items}, "scores", len(answers))

    def _openrlhf(self, answers: Sequence[RewardInput]) -> dict[str, Any]:
        """Texts decoded with their special tokens, as OpenRLHF sends them: its endpoints look for the EOS."""
        decode = self._codec.tokenizer.decode
        tokens = {"tokens": [self._tokens(a) for a in answers]} if self._spec.send_tokens else {}
        return tokens | {
            "query": [decode(a.prompt_ids + a.scored_ids) for a in answers],
            "prompts": [decode(a.prompt_ids) for a in answers],
            "labels": [a.reference for a in answers],
        }

    def _tokens(self, answer: RewardInput) -> list[str]:
        return self._codec.token_texts(answer.response_ids)


def request_numbers(endpoint: Endpoint, question: dict[str, Any], key: str, count: int) -> list[RewardValue]:
    """`count` numbers or lists of numbers under `key` of the endpoint's answer."""
    found = request_values(endpoint, question, key, count)
    for value in found:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, bool) or not isinstance(one, int | float):
                raise RewardError(f"{endpoint.url} returned {one!r} where a number was expected, in `{key}`.")
    return found


def request_values(endpoint: Endpoint, question: dict[str, Any], key: str, count: int) -> list[Any]:
    """`count` values under `key` of the endpoint's answer. Raises RewardError for anything else."""
    answer = endpoint.ask(question)
    found = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise RewardError(f'{endpoint.url} must answer {{"{key}": […]}}; it answered {str(answer)[:200]}.')
    if len(found) != count:
        raise RewardError(f"{endpoint.url} returned {len(found)} values in `{key}` for {count} items.")
    return found
