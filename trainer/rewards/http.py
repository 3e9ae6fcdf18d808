"""Remote rewards: an HTTP endpoint that takes responses in batches and returns numbers as JSON.

A request has a deadline and is repeated after a temporary failure. If it fails for good, its responses have no value. It
uses Python's own HTTP client, without proxy, redirects or cookies.

    cause          the last attempt
    time_out       no whole response within `timeout`, or 504
    refusal        429, or another 4xx
    bad_output     a redirect, no JSON, another form or count, a value that is no finite number
    crash          a connection that breaks, or a 5xx
    unreachable    no connection, 502, or 503
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

from trainer.errors import SpecError
from trainer.hangs import phase
from trainer.rewards.base import RewardContext, RewardInput, RewardOutcome
from trainer.rewards.missing import Missing, NoValue, shown, stated
from trainer.rewards.steps import all_steps, placed
from trainer.spec import HttpReward, MissingCause
from trainer.text.codec import Codec

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds before the second attempt. They double before each further attempt, up to the longest."""

_STATUS_CAUSES: dict[int, MissingCause] = {
    HTTPStatus.BAD_GATEWAY: "unreachable",
    HTTPStatus.SERVICE_UNAVAILABLE: "unreachable",
    HTTPStatus.GATEWAY_TIMEOUT: "time_out",
}
"""The causes of statuses that differ from their class (`_cause_of_status`)."""


class _MayPass(NoValue):
    """A failure that may be temporary."""


@dataclass
class Endpoint:
    """An HTTP endpoint with a timeout in seconds and a number of retries. Counts requests and failures."""

    url: str
    timeout: float
    retries: int
    notify: Callable[[str], None]
    pause: Callable[[float], None] = time.sleep
    requests: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Raises SpecError for an invalid address."""
        try:
            parts = urlsplit(self.url)
            good = bool(parts.hostname) and self.url.isascii() and not any(c.isspace() for c in self.url)
            _ = parts.port
        except ValueError:
            good = False
        if not good:
            raise SpecError(f"`url` is not a valid address: {self.url}")
        if parts.username is not None or parts.password is not None:
            raise SpecError("`url` must not contain a user or password, because a spec is stored and shown.")

    def ask(self, question: dict[str, Any]) -> Any:
        """POST `question` and return the JSON of the response.

        Raises NoValue after the last attempt, or at once for a permanent failure (4xx, not JSON).
        """
        for attempt in range(self.retries + 1):
            self.requests += 1
            try:
                with phase("request", at_most=self.timeout):
                    return self._ask_once(question)
            except _MayPass as trouble:
                self.failed += 1
                if attempt == self.retries:
                    raise NoValue(
                        trouble.missing.cause,
                        f"{self.url} failed {_times(attempt + 1)}: {trouble}. Check that it runs and responds, or "
                        "raise `timeout` or `retries`",
                    ) from trouble
                seconds = min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE)
                self.notify(
                    f"{self.url}: {trouble}. Trying again in {seconds:g} s (retry {attempt + 1} of {self.retries})."
                )
                with phase("request", at_most=seconds):
                    self.pause(seconds)
            except NoValue:
                self.failed += 1
                raise
        raise AssertionError("unreachable: the last try returns or raises")

    def _ask_once(self, question: dict[str, Any]) -> Any:
        try:
            status, body = self._post(json.dumps(question, ensure_ascii=False, allow_nan=False).encode())
        except TimeoutError as error:
            raise _MayPass("time_out", f"no answer within {self.timeout:g} s") from error
        except (OSError, HTTPException) as error:
            raise _MayPass("crash", f"the connection failed ({error or type(error).__name__})") from error
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _MayPass(_cause_of_status(status), f"it answered {_excerpt(status, body)}")
        if status // 100 != 2:
            raise NoValue(_cause_of_status(status), f"{self.url} answered {_excerpt(status, body)}")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise NoValue(
                "bad_output", f"{self.url} answered with something that is not JSON: {_excerpt(status, body)}"
            ) from error

    def _post(self, body: bytes) -> tuple[int, bytes]:
        deadline = time.monotonic() + self.timeout
        parts = urlsplit(self.url)
        connection = _connection(parts, self.timeout)
        try:
            try:
                connection.connect()
            except OSError as error:
                reason = f"no connection within {self.timeout:g} s" if isinstance(error, TimeoutError) else str(error)
                raise _MayPass("unreachable", f"the connection failed ({reason})") from error
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
    """The whole body, which must arrive before the deadline."""
    chunks = []
    while chunk := response.read1(1 << 16):
        chunks.append(chunk)
        _wait_until(connection, deadline)
    if response.length:
        raise ConnectionError(f"the answer broke off {response.length} bytes before its end")
    return b"".join(chunks)


def _wait_until(connection: HTTPConnection, deadline: float) -> None:
    """Set the timeout of the next read to the time left. Raises TimeoutError where none is left."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    if connection.sock is not None:
        connection.sock.settimeout(left)


def _cause_of_status(status: int) -> MissingCause:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _STATUS_CAUSES.get(status, "crash")
    return "refusal" if status >= HTTPStatus.BAD_REQUEST else "bad_output"


def _excerpt(status: int, body: bytes) -> str:
    """A status and the beginning of the body."""
    text = " ".join(body[:400].decode(errors="replace").split())
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "unknown status"
    return f"{status} {phrase}" + (f": {text[:200]}" if text else "")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times, at last"


def build_http(spec: HttpReward, context: RewardContext) -> "RemoteReward":
    """Raises SpecError for an invalid address. The first request is sent by `score`."""
    return RemoteReward(spec, Endpoint(spec.url, spec.timeout, spec.retries, context.notify), context.codec)


class RemoteReward:
    """Requests scores from an endpoint, `batch_size` responses in each request."""

    def __init__(self, spec: HttpReward, endpoint: Endpoint, codec: Codec) -> None:
        self._spec, self._endpoint, self._codec = spec, endpoint, codec
        self._seconds = 0.0

    def score(self, answers: Sequence[RewardInput]) -> list[RewardOutcome]:
        """The values of the endpoint. All responses of a request that fails for good are `Missing`."""
        began = time.perf_counter()
        self._endpoint.requests = self._endpoint.failed = 0
        scores: list[RewardOutcome] = []
        for first in range(0, len(answers), self._spec.batch_size):
            scores += self._ask(answers[first : first + self._spec.batch_size])
        self._seconds = time.perf_counter() - began
        return scores

    def figures(self) -> dict[str, float]:
        """Failed requests ÷ requests, and the seconds of all requests."""
        rate = self._endpoint.failed / self._endpoint.requests if self._endpoint.requests else 0.0
        return {"error_rate": rate, "seconds": self._seconds}

    def _ask(self, answers: Sequence[RewardInput]) -> list[RewardOutcome]:
        try:
            return self._requested(answers)
        except NoValue as error:
            return [error.missing] * len(answers)

    def _requested(self, answers: Sequence[RewardInput]) -> list[RewardOutcome]:
        steps = all_steps(answers, self._spec.step_delimiter, self._codec)
        if self._spec.protocol == "openrlhf":
            question = self._openrlhf(answers) | ({} if steps is None else {"steps": [own.texts for own in steps]})
            return placed(request_numbers(self._endpoint, question, "rewards", len(answers)), answers, steps)
        items: list[dict[str, Any]] = [
            {"prompt": a.prompt, "response": a.text, "answer": a.reference, "finished": a.finished} for a in answers
        ]
        if self._spec.send_tokens:
            items = [item | {"tokens": self._tokens(a)} for item, a in zip(items, answers, strict=True)]
        if steps is not None:
            items = [item | {"steps": own.texts} for item, own in zip(items, steps, strict=True)]
        return placed(request_numbers(self._endpoint, {"items": items}, "scores", len(answers)), answers, steps)

    def _openrlhf(self, answers: Sequence[RewardInput]) -> dict[str, Any]:
        """OpenRLHF's request format. Texts keep their special tokens, because its endpoints look for the EOS."""
        decode = self._codec.tokenizer.decode
        tokens = {"tokens": [self._tokens(a) for a in answers]} if self._spec.send_tokens else {}
        return tokens | {
            "query": [decode(a.prompt_ids + a.scored_ids) for a in answers],
            "prompts": [decode(a.prompt_ids) for a in answers],
            "labels": [a.reference for a in answers],
        }

    def _tokens(self, answer: RewardInput) -> list[str]:
        return self._codec.token_texts(answer.response_ids)


def request_numbers(endpoint: Endpoint, question: dict[str, Any], key: str, count: int) -> list[RewardOutcome]:
    """`count` numbers, lists of numbers or `Missing` under `key` of the response. Raises as `request_values` does."""
    return [_number(value, endpoint, key) for value in request_values(endpoint, question, key, count)]


def _number(value: Any, endpoint: Endpoint, key: str) -> RewardOutcome:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool) or not isinstance(one, int | float):
            told = stated(one)
            what = f"{endpoint.url} returned {shown(one)} where a number was expected, in `{key}`"
            return told or Missing("bad_output", what)
    return value  # type: ignore[no-any-return]  # a number, or a list of numbers


def request_values(endpoint: Endpoint, question: dict[str, Any], key: str, count: int) -> list[Any]:
    """`count` values under `key` of the response. Raises NoValue if the request fails or returns anything else."""
    answer = endpoint.ask(question)
    found = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise NoValue("bad_output", f'{endpoint.url} must answer {{"{key}": […]}}; it answered {shown(answer)}')
    if len(found) != count:
        raise NoValue("bad_output", f"{endpoint.url} returned {len(found)} values in `{key}` for {count} items")
    return found
