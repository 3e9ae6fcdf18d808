"""When the gradient stages save, stop and go on."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import new_codec, session_in
from tests.trainer.tiny_models import llama
from trainer.errors import Stopped
from trainer.events import CheckpointSaved, RunStopped
from trainer.session.checkpoint import TrainerState, load_numbers
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint, StageLoop
from trainer.spec import SFTSpec


def take(session: Session, total: int, save_every: int, step: Callable[[int], object]) -> None:
    """Steps of the SFT stage from wherever its checkpoints say, each doing `step`."""

    def metrics(index: int) -> dict[str, float]:
        step(index)
        return {"index": index}

    tokenizer = new_codec().tokenizer
    spec = SFTSpec(save_every=save_every)
    start, state = ResumePoint.newest(session, "sft", spec), lambda: TrainerState({}, {}, {})
    StageLoop(session, "sft", total, start, llama(), tokenizer, state, lambda knob, spec: 0.0, False).run(metrics)


def saved_at(folder: Path) -> list[int]:
    return [event.step for event in events_of(folder) if isinstance(event, CheckpointSaved)]


def test_stage_saves_every_n_steps_but_not_after_the_last(tmp_path: Path) -> None:
    taken: list[int] = []
    with session_in(tmp_path) as session:
        take(session, 6, save_every=2, step=taken.append)
    assert taken == [0, 1, 2, 3, 4, 5] and saved_at(tmp_path) == [2, 4]
    assert {step: values["index"] for (_, step), values in metrics_of(tmp_path).items()} == {n + 1: n for n in range(6)}
    assert load_numbers(tmp_path / "checkpoints" / "sft-000004")["step"] == 4


def test_stage_on_signal_finishes_the_step_saves_and_stops(tmp_path: Path) -> None:
    taken: list[int] = []

    def step(index: int) -> None:
        if index == 2:
            signal.raise_signal(signal.SIGTERM)
        taken.append(index)

    with session_in(tmp_path) as session, session.listening(), pytest.raises(Stopped, match="sft after step 3"):
        take(session, 6, save_every=100, step=step)
    assert taken == [0, 1, 2] and saved_at(tmp_path) == [3]
    last = events_of(tmp_path)[-1]
    assert isinstance(last, RunStopped) and (last.reason, last.step) == ("signal", 3)


def test_stage_resumes_after_the_saved_step(tmp_path: Path) -> None:
    taken: list[int] = []
    with session_in(tmp_path) as session:
        take(session, 5, save_every=3, step=taken.append)  # saves at 3
        take(session, 5, save_every=3, step=taken.append)
    assert taken == [0, 1, 2, 3, 4, 3, 4] and saved_at(tmp_path) == [3]


def test_stage_with_expired_lease_stops_without_saving(tmp_path: Path) -> None:
    (tmp_path / "lease").write_text("inf")
    taken: list[int] = []

    def step(index: int) -> None:
        taken.append(index)
        if index == 1:
            (tmp_path / "lease").write_text("0")

    with session_in(tmp_path, tmp_path / "lease") as session, pytest.raises(Stopped, match="lease_lost"):
        take(session, 6, save_every=2, step=step)
    assert taken == [0, 1] and saved_at(tmp_path) == []


def test_stage_seconds_go_on_from_the_checkpoint(tmp_path: Path) -> None:
    spec, state = SFTSpec(), lambda: TrainerState({}, {}, {})
    with session_in(tmp_path) as session:
        start = ResumePoint(tmp_path, 3, 100.0, spec)
        tokenizer = new_codec().tokenizer
        loop = StageLoop(session, "sft", 6, start, llama(), tokenizer, state, lambda knob, spec: 0.0, False)
        assert loop.seconds == loop.trainer_state(3).numbers["seconds"] == 100.0
        assert loop.run(lambda index: {}) > 100.0
