"""Tests for trainer/session/hang_watch.py."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.stage_tools import session_in
from trainer.session.hang_watch import Deadlines, HangWatch, Phase
from trainer.session.session import Session


def ticks_until_report(deadlines: Deadlines, phase: Phase) -> int:
    deadlines.begin(phase)
    for count in range(1, 10_000):
        if deadlines.tick() is not None:
            return count
    raise AssertionError("never reported")


def ran_for(deadlines: Deadlines, phase: Phase, ticks: int) -> None:
    deadlines.begin(phase)
    for _ in range(ticks):
        deadlines.tick()
    deadlines.end()


def test_the_first_run_of_a_phase_has_half_an_hour() -> None:
    assert ticks_until_report(Deadlines(), "rollout") == 1801


@pytest.mark.parametrize(("took", "reported"), [(0, 46), (2, 46), (20, 201)])
def test_a_later_deadline_follows_the_longest_run(took: int, reported: int) -> None:
    deadlines = Deadlines()
    ran_for(deadlines, "update", took)
    ran_for(deadlines, "update", 0)
    assert ticks_until_report(deadlines, "update") == reported


def test_a_phase_has_its_own_history() -> None:
    deadlines = Deadlines()
    ran_for(deadlines, "save", 1)
    assert (deadlines.of("save"), deadlines.of("rollout")) == (45, 1800)


def test_a_hang_is_reported_once_and_idle_time_never() -> None:
    deadlines = Deadlines()
    assert all(deadlines.tick() is None for _ in range(5000))
    ran_for(deadlines, "score", 1)
    deadlines.begin("score")
    assert [deadlines.tick() for _ in range(500)].count("score") == 1


def test_a_phase_that_raises_adds_no_history() -> None:
    watch = HangWatch(lambda text: None, lambda: "")
    with pytest.raises(ValueError, match="planted"), watch.phase("update"):
        raise ValueError("planted")
    assert (watch.deadlines.longest, watch.deadlines.running) == ({}, None)


@pytest.mark.parametrize("phase", ["rollout", "score", "update"])
def test_a_hang_leaves_an_event_and_its_stack(tmp_path: Path, phase: Phase) -> None:
    released = threading.Event()

    def planted_hang(session: Session) -> None:
        with session.hangs.phase(phase):
            released.wait()

    reported_with_stack(tmp_path, phase, planted_hang, released.set)


def test_a_save_on_a_blocked_file_is_named(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def planted_hang(session: Session) -> None:
        with session.hangs.phase("save"):
            fifo.read_bytes()

    reported_with_stack(tmp_path, "save", planted_hang, lambda: fifo.write_bytes(b""))


def reported_with_stack(
    folder: Path, phase: Phase, hang: Callable[[Session], None], release: Callable[[], object]
) -> None:
    """Hang in a thread, count the ticks by hand, and check the event and the stacks."""
    (folder / "run").mkdir()
    with session_in(folder / "run") as session, (folder / "stderr").open("w+") as stderr:
        session.stage, session.step = "ppo", 7
        session.hangs.deadlines.longest[phase] = 1
        thread = threading.Thread(target=hang, args=(session,))
        thread.start()
        try:
            while session.hangs.deadlines.running is None:
                thread.join(0.001)
            for _ in range(46):
                session.hangs.look(stderr)
        finally:
            release()
            thread.join()
        events = (folder / "run" / "events.jsonl").read_text()
        assert f"The phase {phase} has run for 46 seconds" in events
        assert "process 0, stage ppo, after step 7" in events
        stderr.seek(0)
        assert "in planted_hang" in stderr.read()
