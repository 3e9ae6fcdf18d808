"""A remote reward against real servers on the loopback interface: good answers, bad ones, and none."""

from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_server
from typing import Any

import pytest

from tests.trainer.rewards.tools import Reply, Server, answer, assert_missing, context, encoded, says, serving
from tests.trainer.stage_tools import new_codec
from trainer.errors import SpecError
from trainer.rewards import Missing, Rewards, build
from trainer.rewards.http import Endpoint, RemoteReward
from trainer.rewards.missing import MissingCounts
from trainer.spec import HttpReward


class Remote:
    """A reward at `url`, its messages, and the length of its pauses. Nothing really waits."""

    def __init__(self, url: str, **options: Any) -> None:
        self.told: list[str] = []
        self.pauses: list[float] = []
        spec = HttpReward(type="http", url=url, **options)
        endpoint = Endpoint(url, spec.timeout, spec.retries, self.told.append, self.pauses.append)
        self.reward = RemoteReward(spec, endpoint, new_codec())


def by_length(question: dict[str, Any]) -> Reply:
    return says({"scores": [len(item["response"]) for item in question["items"]]})


def test_http_reward_batches_return_scores_in_order() -> None:
    with serving(by_length) as server:
        rewards = build([HttpReward(type="http", url=server.url, batch_size=2)], context())
        scores = rewards.score([answer("a", "1"), answer("", finished=False), answer("ccc")])
    assert scores.totals == [1.0, 0.0, 3.0]
    assert [len(question["items"]) for question in server.questions] == [2, 1]
    assert server.questions[0]["items"] == [
        {"prompt": "q", "response": "a", "answer": "1", "finished": True},
        {"prompt": "q", "response": "", "answer": None, "finished": False},
    ]
    assert scores.figures["reward/http/error_rate"] == 0.0 and scores.figures["time/reward/http"] > 0


def test_openrlhfs_protocol_sends_whole_texts_with_their_eos() -> None:
    codec = new_codec()
    answers = [encoded(codec, "ask ", "yes"), encoded(codec, "ask ", "no", finished=False)]
    with serving(lambda question: says({"rewards": [0.5, -1]})) as server:
        reward = build([HttpReward(type="http", url=server.url, protocol="openrlhf")], context(codec=codec))
        assert reward.score(answers).totals == [0.5, -1.0]
    assert server.questions == [
        {"query": ["ask yes<|eos|>", "ask no"], "prompts": ["ask ", "ask "], "labels": [None, None]}
    ]


def test_http_reward_transient_error_is_retried_and_logged() -> None:
    replies = iter([(503, b"warming up"), (429, b""), says({"scores": [1]}), says({"scores": [2]})])
    with serving(lambda question: next(replies)) as server:
        remote = Remote(server.url, batch_size=1)
        assert remote.reward.score([answer("a"), answer("b")]) == [1, 2]
    assert remote.pauses == [0.5, 1.0]
    assert "it answered 503 Service Unavailable: warming up. Trying again in 0.5 s (retry 1 of 4)" in remote.told[0]
    assert remote.reward.figures()["error_rate"] == 0.5


def test_the_error_rate_is_that_of_the_last_batch() -> None:
    replies = iter([(500, b""), says({"scores": [1]}), says({"scores": [1]})])
    with serving(lambda question: next(replies)) as server:
        remote = Remote(server.url)
        remote.reward.score([answer("a")])
        assert remote.reward.figures()["error_rate"] == 0.5
        remote.reward.score([answer("a")])
    assert remote.reward.figures()["error_rate"] == 0.0


def test_http_reward_retry_pauses_double_up_to_a_minute() -> None:
    with serving(lambda question: (500, b"broken")) as server:
        remote = Remote(server.url, retries=9)
        (missing,) = remote.reward.score([answer("a")])
    assert_missing(missing, "crash", r"failed 10 times, at last: it answered 500 .*: broken")
    assert remote.pauses == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert len(server.questions) == 10


BAD = "bad_output"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((302, b""), "answered 302 Found"),
        ((200, b"<html>"), "not JSON: 200 OK: <html>"),
        (says([1.0]), r'must answer \{"scores": \[…\]\}; it answered \[1.0\]'),
        (says({"score": [1.0]}), "must answer"),
        (says({"scores": 1.0}), "must answer"),
        (says({"scores": [1.0, 2.0]}), "returned 2 values in `scores` for 1 items"),
        (says({"scores": []}), "returned 0 values"),
        (says({"scores": ["1.0"]}), "returned '1.0' where a number was expected"),
        (says({"scores": [None]}), "returned None where a number"),
        (says({"scores": [True]}), "returned True where a number"),
        (says({"scores": [float("nan")]}), "returned nan for response 1 of 1"),
        ((200, b'{"scores": [1e999]}'), "returned inf for response 1 of 1"),
        (says({"scores": [{"missing": "weather"}]}), "returned the cause 'weather'; it must be one of time_out, refusal,"),
    ],
)  # fmt: skip
def test_http_reward_invalid_score_is_missing_without_retry(reply: Reply, said: str) -> None:
    with serving(lambda question: reply) as server:
        scores = build([HttpReward(type="http", name="away", url=server.url)], context()).score([answer("a")])
    assert len(server.questions) == 1
    assert_missing(scores.totals[0], BAD, said)
    assert scores.parts == {"away": scores.totals} and scores.complete == []


@pytest.mark.parametrize(
    ("status", "cause", "tries"),
    [
        (400, "refusal", 1), (403, "refusal", 1), (422, "refusal", 1), (429, "refusal", 2), (500, "crash", 2),
        (501, "crash", 2), (502, "unreachable", 2), (503, "unreachable", 2), (504, "time_out", 2),
    ],
)  # fmt: skip
def test_http_reward_status_decides_the_cause(status: int, cause: str, tries: int) -> None:
    with serving(lambda question: says({"detail": "no such model"}, status)) as server:
        (missing,) = Remote(server.url, retries=1).reward.score([answer("a")])
    assert_missing(missing, cause, f"answered {status} .*no such model")
    assert len(server.questions) == tries


def test_http_reward_value_beside_missing_ones_is_kept() -> None:
    values = [1.5, {"missing": "refusal", "reason": "unsafe"}, float("nan"), None, {"missing": "time_out"}]
    with serving(lambda question: says({"scores": values})) as server:
        scores = build([HttpReward(type="http", url=server.url)], context()).score([answer("a")] * 5)
    assert scores.complete == [0] and scores.totals[0] == 1.5
    assert scores.totals[1] == Missing("refusal", "unsafe") and scores.totals[4] == Missing(
        "time_out", "no reason given"
    )
    assert str(MissingCounts.of(scores.totals)) == "4 of 5 (1 time-out, 1 refusal, 2 bad output)"


def test_http_reward_failed_request_leaves_the_others() -> None:
    """Only the responses of the second request have no value."""

    def reply(question: dict[str, Any]) -> Reply:
        return (400, b"no") if question["items"][0]["response"] == "c" else by_length(question)

    with serving(reply) as server:
        rewards = build([HttpReward(type="http", url=server.url, batch_size=2)], context())
        scores = rewards.score([answer("a"), answer("bb"), answer("c"), answer("d"), answer("eee")])
    assert scores.complete == [0, 1, 4] and [scores.totals[row] for row in scores.complete] == [1.0, 2.0, 3.0]


@contextmanager
def listening() -> Iterator[str]:
    """A server that never replies: only the kernel accepts the connection."""
    with create_server(("127.0.0.1", 0)) as silent:
        yield f"http://127.0.0.1:{silent.getsockname()[1]}/"


def test_http_reward_silent_endpoint_fails_after_timeout() -> None:
    with listening() as url:
        remote = Remote(url, timeout=0.05, retries=1)
        (missing,) = remote.reward.score([answer("a")])
    assert_missing(missing, "time_out", "failed 2 times, at last: no answer within 0.05 s")
    assert remote.pauses == [0.5] and remote.reward.figures()["error_rate"] == 1.0


def test_http_reward_refused_connection_is_reported() -> None:
    with listening() as url:
        pass
    (missing,) = Remote(url, retries=0).reward.score([answer("a")])
    assert_missing(missing, "unreachable", r"failed once: the connection failed \(.*refused")


@pytest.mark.parametrize("url", ["http://", "http://host:port/", "http://a b/", "http://me:secret@host/", "http://hö/"])
def test_http_reward_invalid_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(SpecError, match="`http`: `url`") as caught:
        build([HttpReward(type="http", url=url)], context())
    assert "secret" not in str(caught.value)


def test_http_reward_without_responses_sends_no_request() -> None:
    rewards: Rewards = build([HttpReward(type="http", url="http://127.0.0.1:9/")], context())
    assert rewards.score([]).totals == []


def test_http_reward_sends_the_text_unchanged() -> None:
    with serving(by_length) as server:
        Remote(server.url).reward.score([answer('naïve "日本" \\ \n\u2028')])
    seen: Server = server
    assert seen.questions[0]["items"][0]["response"] == 'naïve "日本" \\ \n\u2028'
