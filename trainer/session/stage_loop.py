"""The shape that the gradient stages share: resume, step, report, save, stop."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trainer.models import Model
from trainer.session.checkpoint import TrainerState, load_numbers
from trainer.session.session import Session
from trainer.spec import StageName
from trainer.text.codec import Tokenizer


@dataclass
class StageRun:
    """A stage in progress: how to take one step, and what to save."""

    stage: StageName
    total_steps: int
    save_every: int
    model: Model
    tokenizer: Tokenizer
    step: Callable[[int], dict[str, float]]
    """Take step `step` (0-based) and return its metrics."""
    state: Callable[[], TrainerState]
    """What a resume needs beside the model."""
    look: Callable[[int, dict[str, float], float], None] = lambda done, values, seconds: None
    """Sees each step's number (1-based), its metrics and the stage's seconds so far; may save, and end the run."""


@dataclass(frozen=True)
class ResumePoint:
    """Where a stage goes on: a checkpoint (None: from the start), the steps behind it, and the seconds they took."""

    checkpoint: Path | None
    step: int
    seconds: float

    @classmethod
    def of(cls, session: Session, stage: StageName) -> "ResumePoint":
        found = session.checkpoints.newest(stage)
        return cls(None, 0, 0.0) if found is None else cls(*found, float(load_numbers(found[0])["seconds"]))


def run_steps(session: Session, run: StageRun, point: ResumePoint) -> float:
    """Take the stage's steps from `point` on, saving every `save_every` and when asked to stop; return the seconds taken."""
    began = time.perf_counter() - point.seconds
    for step in range(point.step, run.total_steps):
        session.check_lease()
        step_began = time.perf_counter()
        values = session.world.broadcast_object(run.step(step))  # what is decided from them is decided alike everywhere
        done = step + 1
        session.report(run.stage, done, run.total_steps, values | {"time/step": time.perf_counter() - step_began})
        run.look(done, values, time.perf_counter() - began)
        last = done == run.total_steps
        if not last and (done % run.save_every == 0 or session.stop_asked()):
            save(session, run, done, time.perf_counter() - began)
            session.stop_if_asked()
    return time.perf_counter() - began


def save(session: Session, run: StageRun, done: int, seconds: float) -> None:
    """Save the stage as it stands after `done` steps."""
    session.check_lease()
    session.save(run.stage, done, run.model, run.tokenizer, state_after(run, done, seconds))


def state_after(run: StageRun, done: int, seconds: float) -> TrainerState:
    """What a resume needs beside the model, its place in the stage included."""
    state = run.state()
    state.numbers |= {"step": done, "seconds": seconds}
    return state
