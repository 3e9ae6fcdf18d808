"""The steps of a gradient stage: resume, check the lease, report, save, stop."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from trainer.hangs import phase
from trainer.health.losses import Losses
from trainer.models import Model
from trainer.session.checkpoint import TrainerState, load_numbers
from trainer.session.live_knobs import LiveKnobs, Retune
from trainer.session.session import Session
from trainer.spec import OptimizerSpec, StageName
from trainer.spec.knobs import Knob, KnobSetting, still_set, tuned
from trainer.text.codec import Tokenizer

Spec = TypeVar("Spec", bound=OptimizerSpec)


@dataclass(frozen=True)
class ResumePoint(Generic[Spec]):
    """The newest checkpoint of a stage (None: the stage starts), the steps done before it, and the seconds they took."""

    checkpoint: Path | None
    step: int
    seconds: float
    spec: Spec
    """The stage's section of the spec, with the knobs."""
    knobs: Mapping[Knob, KnobSetting] = field(default_factory=dict)
    """The knobs that had been changed live, except those whose field of the spec has another value by now."""
    losses: Losses = field(default_factory=Losses)
    """The losses so far, of a stage that learns from rows."""
    commands: tuple[str, ...] = ()
    """Ids of the commands that were carried out after that step, before the checkpoint was saved."""

    @classmethod
    def newest(cls, session: Session, stage: StageName, spec: Spec) -> "ResumePoint[Spec]":
        """Raises StorageError if the files of the newest checkpoint are damaged."""
        found = session.checkpoints.newest(stage)
        if found is None:
            return cls(None, 0, 0.0, spec)
        numbers = load_numbers(found[0])
        saved = {name: KnobSetting.model_validate(setting) for name, setting in numbers.get("knobs", {}).items()}
        knobs = still_set(spec, saved)
        commands = tuple(numbers.get("commands", ()))
        losses = Losses.from_state(numbers.get("losses"))
        return cls(*found, float(numbers["seconds"]), tuned(spec, knobs), knobs, losses, commands)


@dataclass
class StageLoop:
    """The steps of one stage that remain after `start`. Steps are counted from 0 before they are taken, from 1 after."""

    session: Session
    stage: StageName
    total_steps: int
    """The most steps while their number is not known. The stage may set the number at any step before the last."""
    start: ResumePoint[Any]
    model: Model
    tokenizer: Tokenizer
    state: Callable[[], TrainerState]
    """Returns what a resume needs besides the model."""
    retune: Retune
    """Called when a live knob changes."""
    held_out: bool
    """Whether the stage can be evaluated: it has held-out prompts or rows."""
    _began: float | None = None
    _step_began: float = 0.0
    _saved: int | None = None
    """The step of the newest checkpoint."""

    def __post_init__(self) -> None:
        start = self.start
        self.knobs = LiveKnobs(
            self.session, self.stage, start.spec, start.knobs, start.commands, self.retune, self.held_out
        )
        if self.start.checkpoint is not None:
            self._saved = self.start.step

    @property
    def seconds(self) -> float:
        """Seconds that the stage's steps have taken so far, those before a resume included."""
        return self.start.seconds + (0.0 if self._began is None else time.perf_counter() - self._began)

    def run(self, step: Callable[[int], dict[str, float]]) -> float:
        """Take every remaining step and return the stage's seconds. `step(index)` trains and returns the metrics.

        A loss that ends above where it began is reported as a warning.
        """
        for index in self.steps():
            with phase("update"):
                metrics = self.agreed(step(index))
            self.start.losses.add(metrics.get("loss"))
            self.report(index + 1, metrics)
            self.save_if_due(index + 1)
        risen = self.start.losses.risen()
        if risen is not None:
            self.session.log(
                f"The loss of the stage {self.stage} rose from {risen[0]:.3g} to {risen[1]:.3g} (the mean of the last "
                f"steps). Lower `{self.stage}.learning_rate`, and look at the rows.",
                warning=True,
            )
        return self.seconds

    def steps(self) -> Iterator[int]:
        """Yield the index of each remaining step, after the commands that are due.

        Raises Stopped before a step if the lease has expired.
        """
        self._began = time.perf_counter()
        index = self.start.step
        while index < self.total_steps:
            self.session.check_lease()
            self.knobs.at_boundary(index, lambda done=index: self._save_once(done))  # type: ignore[misc]
            self._step_began = time.perf_counter()
            yield index
            index += 1
        self.knobs.finish(self.total_steps)

    def agreed(self, metrics: dict[str, float]) -> dict[str, float]:
        """The metrics of the main process. Decisions that depend on a metric use these, so that all processes decide alike."""
        return self.session.world.broadcast_object(metrics)

    def report(self, done: int, metrics: dict[str, float]) -> None:
        """Report the metrics after `done` steps."""
        timed = metrics | {"time/step": time.perf_counter() - self._step_began}
        self.session.report(self.stage, done, self.total_steps, timed)

    def save_if_due(self, done: int) -> None:
        """Save every `save_every` steps, except after the last. If the run is asked to stop, save and raise Stopped."""
        if done < self.total_steps and (done % self.start.spec.save_every == 0 or self.session.stop_asked()):
            self.save(done)
            self.session.stop_if_asked()

    def stop_inside_step(self, done: int) -> None:
        """Inside a step that has changed nothing yet: if the run is asked to stop, save what `done` steps left, and raise Stopped."""
        if self.session.stop_asked():
            self._save_once(done)
            self.session.stop_if_asked()

    def is_last(self, done: int) -> bool:
        """Whether no step remains after `done` steps."""
        return done == self.total_steps

    def evaluates(self, done: int) -> bool:
        """Whether the stage is evaluated after `done` steps: with each checkpoint, after the last step, and on request."""
        return self.is_last(done) or done % self.start.spec.save_every == 0 or self.knobs.evaluation_asked

    def save(self, done: int) -> None:
        """Save a checkpoint of the stage after `done` steps."""
        self.session.check_lease()
        self._saved = done
        self.session.save(self.stage, done, self.model, self.tokenizer, self.trainer_state(done))

    def trainer_state(self, done: int) -> TrainerState:
        """Return what a resume after `done` steps needs besides the model."""
        state = self.state()
        state.numbers |= {"step": done, "seconds": self.seconds} | self.knobs.to_json(done)
        if self.start.losses.steps:
            state.numbers["losses"] = self.start.losses.state()
        return state

    def _save_once(self, done: int) -> None:
        if self._saved != done:
            self.save(done)
