"""Responses without a value: failures of a real endpoint are counted by cause, and the window that `max_missing` limits."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import create_server
from threading import Event, Thread
from typing import get_args

import pytest
from pydantic import ValidationError

from tests.trainer.rewards.tools import answer, context
from trainer.rewards import Missing, Rewards, build
from trainer.rewards.missing import (
    FEWEST,
    JUDGE,
    LABELS,
    WINDOW,
    MissingCounts,
    MissingWatch,
    counts_of,
    limits_of,
    missing_metrics,
    together,
)
from trainer.spec import HttpReward, JobSpec, LengthReward, MissingCause

FAILURES = 200
"""Failures of each cause."""


@contextmanager
def failing() -> Iterator[str]:
    """An endpoint that scores `fine` and fails on purpose in the way that its first other response names."""
    done = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = [
                item["response"] for item in json.loads(self.rfile.read(int(self.headers["Content-Length"])))["items"]
            ]
            kind = next((text for text in texts if text != "fine"), "fine")
            if kind == "time_out":
                done.wait()
            elif kind == "crash":
                self.close_connection = True  # without a response
            elif kind == "refusal":
                self.reply(403, {"detail": "unsafe"})
            else:
                self.reply(200, {"scores": [float("nan") if text == "bad_output" else 0.5 for text in texts]})

        def reply(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            done.set()
            server.shutdown()
            thread.join()


def nobody() -> str:
    """An address at which nothing listens any more."""
    with create_server(("127.0.0.1", 0)) as gone:
        return f"http://127.0.0.1:{gone.getsockname()[1]}/"


def test_injected_failures_are_all_counted_and_none_is_scored() -> None:
    """200 failures of each cause, of real requests, between 200 responses that get their value."""
    with failing() as url:
        rewards = {
            cause: remote(nobody() if cause == "unreachable" else url, cause) for cause in get_args(MissingCause)
        }
        for cause, reward in rewards.items():
            fine, bad = [answer("fine")] * 40, [answer(cause)] * FAILURES
            scores = reward.score([*fine, *bad])
            found = [total for total in scores.totals if isinstance(total, Missing)]
            expected = [] if cause == "unreachable" else [0.5] * 40
            assert [scores.totals[row] for row in scores.complete] == expected
            assert Counter(one.cause for one in found) == {cause: FAILURES + (40 if cause == "unreachable" else 0)}
            counts = counts_of(scores.parts)
            assert missing_metrics(counts, MissingWatch())[f"reward/remote/{cause}"] == len(found)


def remote(url: str, cause: str) -> Rewards:
    timeout = 0.5 if cause == "time_out" else 60.0
    spec = HttpReward(type="http", name="remote", url=url, batch_size=40, timeout=timeout, retries=0)
    return build([spec], context())


def counts(asked: int, missing: int, cause: MissingCause = "crash") -> MissingCounts:
    return MissingCounts(asked, Counter({cause: missing} if missing else {}), "gone" if missing else "")


def test_window_is_the_newest_batches_of_1000_responses() -> None:
    watch = MissingWatch()
    watch.add({"a": counts(400, 100)})
    assert watch.share("a") == 100 / 400
    watch.add({"a": counts(400, 0)})
    watch.add({"a": counts(400, 4)})
    assert watch.windows["a"] == [[400, 100], [400, 0], [400, 4]] and watch.share("a") == 104 / 1200
    watch.add({"a": counts(400, 0)})
    assert watch.windows["a"] == [[400, 0], [400, 4], [400, 0]] and watch.share("a") == 4 / 1200
    assert WINDOW == 1000


def test_window_of_few_responses_counts_as_200() -> None:
    watch = MissingWatch()
    watch.add({"a": counts(8, 8)})
    assert FEWEST == 200 and watch.share("a") == 8 / 200 and watch.exceeded({"a": 0.05}) is None
    watch.add({"a": counts(8, 2)})
    assert watch.share("a") == 10 / 200 and watch.exceeded({"a": 0.05}) is None  # not above it
    watch.add({"a": counts(8, 1)})
    assert watch.exceeded({"a": 0.05}) is not None


def test_limit_0_pauses_at_the_first_and_1_never() -> None:
    watch = MissingWatch()
    watch.add({"a": counts(1000, 0), "b": counts(1000, 1), "c": counts(1000, 1000)})
    assert watch.exceeded({"a": 0.0, "b": 0.0, "c": 1.0}) == (
        "Reward `b` gave no value for 1 of its last 1000 responses, more than its `max_missing` (0) allows. The newest reason: gone."
    )
    assert watch.windows == {"a": [[1000, 0]], "c": [[1000, 1000]]}  # what was reported is counted anew


def test_watch_survives_a_checkpoint() -> None:
    watch = MissingWatch()
    watch.add({"a": counts(8, 2), JUDGE: counts(4, 0)})
    assert MissingWatch.from_json(json.loads(json.dumps(watch.to_json()))) == watch
    assert MissingWatch.from_json({}) == MissingWatch()


def test_counts_of_two_batches_are_added_by_name() -> None:
    late = MissingCounts(3, Counter({"time_out": 1}), "late")
    assert together({"a": counts(8, 2)}, {"a": late, "b": late}) == {
        "a": MissingCounts(11, Counter({"crash": 2, "time_out": 1}), "gone"),
        "b": late,
    }
    assert str(counts(8, 2) + late) == "3 of 11 (1 time-out, 2 crash)"


def test_limits_are_those_of_the_rewards_and_judges() -> None:
    spec = JobSpec.model_validate(
        {
            "model": "m",
            "data": {"preferences": "p"},
            "rewards": [
                {"type": "http", "url": "http://a/", "max_missing": 0.5},
                {"type": "length", "target": 3},
                {"type": "model", "name": "own"},
            ],
            "evaluation": {"judge": {"type": "http_judge", "url": "http://b/", "max_missing": 0}},
            "ppo": {"online": {"label_by": {"type": "regex", "pattern": "x", "max_missing": 1}}},
        }
    )
    assert limits_of(spec) == {"http": 0.5, "length": 0.05, "own": 0.05, JUDGE: 0.0, LABELS: 1.0}


@pytest.mark.parametrize("share", [-0.1, 1.1, "many"])
def test_max_missing_is_a_share(share: object) -> None:
    with pytest.raises(ValidationError, match="max_missing"):
        HttpReward.model_validate({"type": "http", "url": "http://a/", "max_missing": share})


def test_max_missing_is_refused_for_a_reward_that_cannot_fail() -> None:
    with pytest.raises(ValidationError, match="max_missing"):
        LengthReward.model_validate({"type": "length", "target": 3, "max_missing": 0.1})
