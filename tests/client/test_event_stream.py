from client.sdk.connection import Message, messages


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
