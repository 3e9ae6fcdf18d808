"""What every stage of a run needs at hand: the spec, the event log, the checkpoints, and whether to go on."""

import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import torch

from trainer.distributed import SINGLE, World
from trainer.errors import Paused, Stopped
from trainer.events import (
    CheckpointSaved,
    Event,
    EventLog,
    Message,
    Metrics,
    RunStopped,
    Sample,
    Samples,
    StageFinished,
    StageStarted,
    console,
    finite,
)
from trainer.models import Model, precision
from trainer.optim.learner import require_finite
from trainer.randomness import derive_seed
from trainer.session.checkpoint import Checkpoints, StageResult, TrainerState
from trainer.spec import JobSpec, StageName
from trainer.text.codec import Tokenizer


class Session:
    """One process's turn at a run.

    Of several processes all call the same methods in the same order; the main one alone writes, and what they ask (is the
    run to stop, is the lease still ours) is answered for all of them alike.
    """

    def __init__(
        self, spec: JobSpec, run_dir: Path, log: EventLog | None, lease: Path | None = None, world: World = SINGLE
    ) -> None:
        """`log`: None in every process but the main one."""
        self._given = spec
        self.spec = precision.resolved(spec, "cpu")
        """The spec with the type that `model.dtype` = "auto" stands for."""
        self.run_dir = run_dir
        self.world = world
        self.device = torch.device("cpu")
        self.checkpoints = Checkpoints(run_dir / "checkpoints", spec.checkpoints.keep_last, world)
        self.stage: StageName | None = None
        self.step = 0
        self._log = log
        self._lease = lease
        self._stop_asked = False

    def compute_on(self, device: torch.device) -> None:
        """Use this device from now on, and the type that belongs to it or that the run began with."""
        self.device = device
        precision.multiply_float32(self._given.model, device.type)
        if self._given.model.dtype == "auto":
            dtype = self.world.from_main(lambda: precision.recorded(self.run_dir, device.type))
            self.spec = precision.resolved(self._given, device.type, dtype)
            self.say(precision.told(dtype, device.type), warning=dtype != precision.auto(device.type))

    def emit(self, event: Event) -> None:
        if self._log is not None:
            self._log.emit(event)
            console.show(event)

    def say(self, text: str, warning: bool = False) -> None:
        self.emit(Message(text=text, level="warning" if warning else "info"))

    def warn(self, text: str) -> None:
        """Of trouble that this process alone has met, and deals with: the others may know nothing of it."""
        if self.world.is_main:
            self.say(text, warning=True)
        else:
            print(f"process {self.world.rank}: {text}", file=sys.stderr, flush=True)  # noqa: T201 events are not its to write

    def seed(self, *purpose: str | int) -> int:
        return derive_seed(self.spec.seed, *purpose)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While inside, SIGTERM and SIGINT ask the run to stop at the end of its step."""
        previous = {number: signal.signal(number, self._ask_to_stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop_asked = True

    def begin(self, stage: StageName, total_steps: int, start_step: int) -> None:
        self.stage, self.step = stage, start_step
        self.emit(StageStarted(stage=stage, total_steps=total_steps, start_step=start_step))

    def report(self, stage: StageName, step: int, total_steps: int, values: dict[str, float]) -> None:
        self.stage, self.step = stage, step
        self.emit(Metrics(stage=stage, step=step, total_steps=total_steps, values=finite(values)))

    def show(self, stage: StageName, step: int, rows: list[Sample]) -> None:
        self.emit(Samples(stage=stage, step=step, rows=rows))

    def save(self, stage: StageName, step: int, model: Model, tokenizer: Tokenizer, state: TrainerState) -> None:
        path = self.checkpoints.save(stage, step, model, tokenizer, state)
        self.emit(CheckpointSaved(stage=stage, step=step, path=str(path.relative_to(self.run_dir)), final=False))

    def save_best(
        self,
        stage: StageName,
        step: int,
        model: Model,
        tokenizer: Tokenizer,
        metrics: Mapping[str, float],
        state: TrainerState | None,
    ) -> None:
        """Keep this one as the stage's best so far, and say so."""
        self.check_lease()
        path = self.checkpoints.save_best(stage, step, model, tokenizer, metrics, state)
        relative = str(path.relative_to(self.run_dir))
        self.emit(
            CheckpointSaved(
                stage=stage, step=step, path=relative, final=False, best=True, metrics=finite(dict(metrics))
            )
        )

    def put_back(self, stage: StageName, source: Path, step: int, numbers: Mapping[str, Any]) -> None:
        """Make an earlier checkpoint the one to go on from, as of `step`, and say so."""
        self.check_lease()
        path = self.checkpoints.put_back(stage, source, step, numbers)
        self.emit(CheckpointSaved(stage=stage, step=step, path=str(path.relative_to(self.run_dir)), final=False))

    def finish(
        self,
        stage: StageName,
        model: Model | None,
        tokenizer: Tokenizer,
        result: StageResult,
        files: Mapping[str, str] | None = None,
        models: Mapping[str, Model] | None = None,
    ) -> None:
        """Save the stage's result, with further files and models by name, and say so. One without a model leaves figures only."""
        self.check_lease()
        for name, value in result.summary.items():
            require_finite(torch.tensor(value), f"{stage} figure {name}")
        path = self.checkpoints.save_final(stage, model, tokenizer, result, files, models)
        relative = str(path.relative_to(self.run_dir))
        if model is not None:
            self.emit(
                CheckpointSaved(stage=stage, step=result.steps, path=relative, final=True, metrics=result.summary)
            )
        self.emit(StageFinished(stage=stage, seconds=result.seconds, summary=result.summary))

    def stop_asked(self) -> bool:
        """Whether a signal came, to any of the processes."""
        return self.world.any(self._stop_asked)

    def stop_if_asked(self) -> None:
        """Raise Stopped when a signal came; whatever had to be saved has been."""
        if self.stop_asked():
            self._stopped("signal")

    def pause(self, why: str) -> NoReturn:
        """Raise Paused: a person should look. Whatever had to be saved has been."""
        message = f"Paused in stage {self.stage} after step {self.step}: {why}"
        self.emit(RunStopped(reason="health", stage=self.stage, step=self.step, message=message))
        raise Paused(f"{message} Run the same command to go on from there.")

    def check_lease(self) -> None:
        """Raise Stopped when the worker's lease on this job has run out: another attempt may be at work.

        Checked at every step and before every save, so that a worker that was suspended and woken cannot have two
        trainers writing.
        """
        if self._lease is None:
            return
        if self.world.any(self.world.is_main and time.time() > self._lease_end(self._lease)):
            self._stopped("lease_lost")

    def _lease_end(self, lease: Path) -> float:
        """A lease whose file is gone has ended."""
        return float(lease.read_text()) if lease.exists() else 0.0

    def _stopped(self, reason: str) -> None:
        self.emit(
            RunStopped.model_validate(
                {"reason": reason, "stage": self.stage, "step": self.step if self.stage else None}
            )
        )
        where = f"in stage {self.stage} after step {self.step}" if self.stage else "before the first stage"
        raise Stopped(f"Stopped ({reason}) {where}. Run the same command to resume.")
