"""The session of a run: its spec, event log, checkpoints and device, and the requests to stop."""

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NoReturn

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
from trainer.hangs import Finding, Floors, HangWatch, PhaseClock, phase
from trainer.models import Model, precision
from trainer.optim.learner import require_finite
from trainer.randomness import derive_seed
from trainer.session.checkpoint import Checkpoints, StageResult, TrainerState, load_numbers
from trainer.spec import JobSpec, StageName
from trainer.text.codec import Tokenizer


class Session:
    """One process's work on a run, from its start or resume to its end.

    With several processes, all call the same methods in the same order. Only the main one writes. A request to stop and an
    expired lease reach all processes at the same call.
    """

    def __init__(
        self, spec: JobSpec, run_dir: Path, log: EventLog | None, lease: Path | None = None, world: World = SINGLE
    ) -> None:
        """`log`: None in every process but the main one."""
        self._given = spec
        self.spec = precision.resolved(spec, "cpu")
        """The spec with `model.dtype` = "auto" replaced by the type that it selects."""
        self.run_dir = run_dir
        self.world = world
        self.device = torch.device("cpu")
        self.checkpoints = Checkpoints(run_dir / "checkpoints", spec.checkpoints.keep_last, world, self.emit)
        self.stage: StageName | None = None
        self.step = 0
        hang = spec.hang
        self.hangs = HangWatch(Floors(hang.first_seconds, hang.least_seconds), is_on=hang.action != "off")
        self.on_hang: Callable[[Session, Finding], None] | None = None
        """Ends the run that hangs; None: it is only reported."""
        self.has_saved = False
        """Whether this process has saved a checkpoint, one of a seed included."""
        self._log = log
        self._lease = lease
        self._stop_asked = False

    def compute_on(self, device: torch.device) -> None:
        """Use this device from now on. "auto" then selects the type that the run began with, or the device's default."""
        self.device = device
        precision.multiply_float32(self._given.model, device.type)
        if self._given.model.dtype == "auto":
            dtype = self.world.from_main(lambda: precision.recorded(self.run_dir, device.type))
            self.spec = precision.resolved(self._given, device.type, dtype)
            self.log(precision.describe_dtype(dtype, device.type), warning=dtype != precision.auto(device.type))

    def emit(self, event: Event) -> None:
        self.hangs.note_event(_described(event))
        self.has_saved |= isinstance(event, CheckpointSaved)
        if self._log is not None:
            self._log.emit(event)
            console.show(event)

    def log(self, text: str, warning: bool = False) -> None:
        self.emit(Message(text=text, level="warning" if warning else "info"))

    def warn(self, text: str) -> None:
        """Report a problem that only this process has met and that it has dealt with."""
        if self.world.is_main:
            self.log(text, warning=True)
        else:
            print(f"process {self.world.rank}: {text}", file=sys.stderr, flush=True)  # noqa: T201 events are not its to write

    def position(self) -> tuple[str | None, int]:
        """The stage and the last step."""
        return self.stage, self.step

    def hangs_in(self, finding: Finding) -> None:
        """Warn of a phase that has passed its deadline, or end the run. It is called in the watching thread."""
        if self.spec.hang.action != "warn" and self.on_hang is not None:
            self.on_hang(self, finding)
        self.warn(
            f"The run may hang. {finding.text} The trainer's log has the stacks of its threads. Stop the run and run it "
            "again to resume from its checkpoint."
        )

    def recall_phases(self, stage: StageName) -> None:
        """Take over how long the phases took until the stage's newest checkpoint, on the same hardware.

        Raises StorageError if the files of the newest checkpoint cannot be read.
        """
        found = self.checkpoints.newest(stage)
        stored = None if found is None else load_numbers(found[0]).get("phases")
        if stored is not None and stored["hardware"] == self._hardware():
            self.hangs.recall(stored["ticks"])

    def _add_phases(self, state: TrainerState) -> None:
        """Add how long each phase took in the process in which it took longest."""
        together = PhaseClock()
        for ticks in self.world.all_gather_object(self.hangs.stored()):
            together.recall(ticks)
        state.numbers["phases"] = {"hardware": self._hardware(), "ticks": together.stored()}

    def _hardware(self) -> str:
        """Runs with equal descriptions take about as long."""
        device = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else self.device.type
        return f"{self.world.size} x {device}"

    def seed(self, *purpose: str | int) -> int:
        return derive_seed(self.spec.seed, *purpose)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While inside, SIGTERM and SIGINT request the run to stop at the end of its step."""
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
        self.hangs.enter_stage(stage)
        self.emit(StageStarted(stage=stage, total_steps=total_steps, start_step=start_step))

    def report(self, stage: StageName, step: int, total_steps: int, values: dict[str, float]) -> None:
        self.stage, self.step = stage, step
        self.emit(Metrics(stage=stage, step=step, total_steps=total_steps, values=finite(values)))
        self.hangs.step_ended()

    def show(self, stage: StageName, step: int, rows: list[Sample]) -> None:
        self.emit(Samples(stage=stage, step=step, rows=rows))

    def save(self, stage: StageName, step: int, model: Model, tokenizer: Tokenizer, state: TrainerState) -> None:
        with phase("save"):
            self._add_phases(state)
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
        """Save the stage's best checkpoint so far, and emit its event."""
        self.check_lease()
        with phase("save_result"):
            if state is not None:
                self._add_phases(state)
            path = self.checkpoints.save_best(stage, step, model, tokenizer, metrics, state)
        relative = str(path.relative_to(self.run_dir))
        self.emit(
            CheckpointSaved(
                stage=stage, step=step, path=relative, final=False, best=True, metrics=finite(dict(metrics))
            )
        )

    def restore(self, stage: StageName, source: Path, step: int, numbers: Mapping[str, Any]) -> None:
        """Make an earlier checkpoint the newest one, at `step`, and emit its event."""
        self.check_lease()
        with phase("save"):
            path = self.checkpoints.restore(stage, source, step, numbers)
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
        """Save the stage's result, with further files and models by name, and emit its events. `model` None saves only figures."""
        self.check_lease()
        for name, value in result.summary.items():
            require_finite(torch.tensor(value), f"{stage} figure {name}")
        with phase("save_result"):
            path = self.checkpoints.save_final(stage, model, tokenizer, result, files, models)
        relative = str(path.relative_to(self.run_dir))
        if model is not None:
            self.emit(
                CheckpointSaved(stage=stage, step=result.steps, path=relative, final=True, metrics=result.summary)
            )
        self.emit(StageFinished(stage=stage, seconds=result.seconds, summary=result.summary))

    def stop_asked(self) -> bool:
        """Whether any process has received a signal."""
        return self.world.any(self._stop_asked)

    def stop_if_asked(self) -> None:
        """Raise Stopped if a signal came. The caller has saved everything."""
        if self.stop_asked():
            self._stopped("signal")

    def pause(self, why: str, reason: Literal["health", "rewards"] = "health") -> NoReturn:
        """Raise Paused, for a person to look at the run. The caller has saved everything."""
        message = f"Paused in stage {self.stage} after step {self.step}: {why}"
        self.emit(RunStopped(reason=reason, stage=self.stage, step=self.step, message=message))
        raise Paused(f"{message} Run the same command to go on from there.")

    def check_lease(self) -> None:
        """Raise Stopped if the worker's lease on this job has expired, because another attempt may be running.

        It is checked at every step and before every save. A suspended worker that wakes therefore cannot make two trainers
        write to one run.
        """
        if self._lease is None:
            return
        if self.world.any(self.world.is_main and time.time() > self._lease_end(self._lease)):
            self._stopped("lease_lost")

    def _lease_end(self, lease: Path) -> float:
        """When the lease expires, in Unix time; 0 if its file is gone."""
        return float(lease.read_text()) if lease.exists() else 0.0

    def _stopped(self, reason: str) -> None:
        self.emit(
            RunStopped.model_validate(
                {"reason": reason, "stage": self.stage, "step": self.step if self.stage else None}
            )
        )
        where = f"in stage {self.stage} after step {self.step}" if self.stage else "before the first stage"
        raise Stopped(f"Stopped ({reason}) {where}. Run the same command to resume.")


def _described(event: Event) -> str:
    """The kind of an event and its place, in words."""
    stage, step = getattr(event, "stage", None), getattr(event, "step", None)
    where = "" if stage is None else f" of {stage}" + ("" if step is None else f", step {step}")
    return f"{event.type}{where}"
