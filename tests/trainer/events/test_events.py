import math
from pathlib import Path

from trainer.events import EventLog, Message, finite, read


def texts(path: Path, offset: int = 0) -> list[str]:
    return [event.text for event, _ in read(path, offset) if isinstance(event, Message)]


def test_a_reader_goes_on_where_it_stopped(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    log.emit(Message(text="one"))
    *_, (_, offset) = read(tmp_path / "events.jsonl")
    log.emit(Message(text="zwei ✓"))
    log.close()
    assert texts(tmp_path / "events.jsonl", offset) == ["zwei ✓"]


def test_event_log_partial_line_is_skipped_and_stays_separate(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    log.emit(Message(text="whole"))
    log.close()
    with path.open("a") as file:
        file.write('{"type": "message", "te')
    assert texts(path) == ["whole"]
    log = EventLog(path)
    log.emit(Message(text="after the crash"))
    log.close()
    assert texts(path) == ["whole", "after the crash"]


def test_what_is_not_finite_is_left_out() -> None:
    assert finite({"a": 1.0, "b": math.nan, "c": math.inf}) == {"a": 1.0}
