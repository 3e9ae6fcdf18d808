"""A disk without room ends a run as `disk_full`, and the same command goes on once there is room."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.trainer.run.tools import LENGTH, run
from trainer.errors import DiskFull
from trainer.events import EventLog, Message, RunFailed, read

STAGES = ["ppo", "evaluation"]


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """The system refuses to make a file of this process larger, in the middle of a write, as a full disk does."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))


@pytest.mark.parametrize("size", [4000, 8000], ids=["a file of the folder", "a checkpoint"])
def test_a_full_disk_ends_the_run_and_the_same_command_goes_on(first: Path, tmp_path: Path, size: int) -> None:
    """The first file to grow beyond the limit is identity.json, which has 6 kB, or the weights with 140 kB."""
    calm, full = tmp_path / "calm", tmp_path / "full"
    changes = {"model": str(first / "sft"), "rewards": [LENGTH]}
    expected = run(calm, STAGES, **changes)
    with files_up_to(size), pytest.raises(DiskFull, match=rf"The disk that holds {full} is full .*Free some space"):
        run(full, STAGES, **changes)
    if size == 8000:
        *_, (last, _) = read(full / "events.jsonl")
        assert isinstance(last, RunFailed) and last.code == "disk_full"
    assert run(full, STAGES, **changes) == expected


def test_an_event_without_room_leaves_no_part_of_its_line(tmp_path: Path) -> None:
    log, path = EventLog(tmp_path / "events.jsonl"), tmp_path / "events.jsonl"
    log.emit(Message(text="é" * 50))
    whole = path.read_bytes()
    with files_up_to(len(whole) + 20), pytest.raises(OSError, match="File too large"):
        log.emit(Message(text="lost"))
    assert path.read_bytes() == whole
    log.emit(Message(text="after"))
    log.close()
    assert [event.text for event, _ in read(path)] == ["é" * 50, "after"]  # type: ignore[union-attr]
