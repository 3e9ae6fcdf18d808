"""The steps of a gradient stage: resume, check the lease, report, save, stop."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trainer.models import Model
from trainer.session.checkpoint import TrainerState, load_numbers
from trainer.session.session import Session
from trainer.spec import StageName
from trainer.text.codec import Tokenizer


@dataclass(frozen=True)
class ResumePoint:
    """The newest checkpoint of a stage (None: the stage starts), the steps done before it, and the seconds they took."""

    checkpoint: Path | None
    step: int
    seconds: float

    @classmethod
    def newest(cls, session: Session, stage: StageName) -> "ResumePoint":
        """Raises StorageError if the files of the newest checkpoint are damaged."""
        found = session.checkpoints.newest(stage)
        return cls(None, 0, 0.0) if found is None else cls(*found, float(load_numbers(found[0])["seconds"]))


@dataclass
class StageLoop:
    """The steps of one stage that remain after `start`. Steps are counted from 0 before they are taken, from 1 after."""

    session: Session
    stage: StageName
    total_steps: int
    save_every: int
    start: ResumePoint
    model: Model
    tokenizer: Tokenizer
    state: Callable[[], TrainerState]
    """Returns what a resume needs besides the model."""
    _began: float | None = None
    _step_began: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds that the stage's steps have taken so far, those before a resume included."""
        return self.start.seconds + (0.0 if self._began is None else time.perf_counter() - self._began)

    def run(self, step: Callable[[int], dict[str, float]]) -> float:
        """Take every remaining step and return the stage's seconds. `step(index)` trains and returns the metrics."""
        for index in self.steps():
            self.report(index + 1, step(index))
            self.save_if_due(index + 1)
        return self.seconds

    def steps(self) -> Iterator[int]:
        """Yield the index of each remaining step. Raises Stopped before a step if the lease has expired."""
        self._began = time.perf_counter()
        for index in range(self.start.step, self.total_steps):
            self.session.check_lease()
            self._step_began = time.perf_counter()
            yield index

    def report(self, done: int, metrics: dict[str, float]) -> dict[str, float]:
        """Report the metrics after `done` steps, and return those of the main process.

        Decisions that depend on a metric use the returned values, so that all processes decide alike.
        """
        metrics = self.session.world.broadcast_object(metrics)
        timed = metrics | {"time/step": time.perf_counter() - self._step_began}
        self.session.report(self.stage, done, self.total_steps, timed)
        return metrics

    def save_if_due(self, done: int) -> None:
        """Save every `save_every` steps, except after the last. If the run is asked to stop, save and raise Stopped."""
        if done < self.total_steps and (done % self.save_every == 0 or self.session.stop_asked()):
            self.save(done)
            self.session.stop_if_asked()

    def save(self, done: int) -> None:
        """Save a checkpoint of the stage after `done` steps."""
        self.session.check_lease()
        self.session.save(self.stage, done, self.model, self.tokenizer, self.trainer_state(done))

    def trainer_state(self, done: int) -> TrainerState:
        """Return what a resume after `done` steps needs besides the model."""
        state = self.state()
        state.numbers |= {"step": done, "seconds": self.seconds}
        return state
