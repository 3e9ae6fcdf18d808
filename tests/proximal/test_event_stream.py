import pytest

from proximal.errors import ApiError, Unreachable
from proximal.sdk.connection import Message, messages
from proximal.sdk.following import Follower


def test_events_end_at_blank_lines() -> None:
    lines = [
        "retry: 2000",
        "",
        "id: 1",
        "event: metrics",
        'data: {"a":',
        "data: 1}",
        "",
        ": keep-alive",
        "",
        "data:x",
        "",
    ]
    assert list(messages(lines)) == [Message("metrics", '{"a":\n1}'), Message("message", "x")]


def test_what_the_connection_cut_off_is_not_an_event() -> None:
    assert list(messages(["event: metrics", "data: 1"])) == []


def event(job_id: str, seq: int) -> Message:
    return Message("metrics", f'{{"job_id": "{job_id}", "seq": {seq}}}')


def test_follower_asks_for_open_jobs_after_their_last_event() -> None:
    follower = Follower.of_jobs({"job_a": 0, "job_b": 7})
    follower.see(event("job_a", 3))
    assert follower.params == {"jobs": "job_a:3,job_b:7"}
    follower.see(Message("done", '{"job_id": "job_b"}'))
    assert follower.params == {"jobs": "job_a:3"} and not follower.ended
    follower.see(Message("done", '{"job_id": "job_a"}'))
    assert follower.ended


def test_follower_waits_longer_until_a_message_comes() -> None:
    follower = Follower.of_job("job_a", 0)
    lost = Unreachable("gone")
    assert [follower.pause_after(lost) for _ in range(6)] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0]
    follower.see(event("job_a", 1))
    assert follower.pause_after(lost) == 0.2


def test_follower_refused_request_is_raised() -> None:
    with pytest.raises(ApiError):
        Follower.of_job("job_a", 0).pause_after(ApiError(404, {}))
