"""One process's turn at a run: set up the device and the event log, run, and turn trouble into a last event."""

import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError

from trainer import run
from trainer.errors import InternalError, ModelError, OutOfMemory, Stopped, StorageError, TrainerError
from trainer.events import EventLog, RunFailed
from trainer.identity import alone_in, claim
from trainer.seeds import run_each
from trainer.session import Session
from trainer.spec import JobSpec, RuntimeSpec


def run_in_process(spec: JobSpec, run_dir: Path, lease: Path | None = None) -> dict[str, float]:
    """Run `spec` in `run_dir`, going on from the checkpoints found there; return the summary.

    Raises TrainerError. Every failure but a stop leaves a `run_failed` event; checkpoints stay as they are.
    """
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        with alone_in(run_dir):
            claim(spec, run_dir)
            return _with_log(spec, run_dir, lease)
    except OSError as error:
        raise StorageError(f"{run_dir} cannot be used as a run folder: {error.strerror or error}.") from error


def _with_log(spec: JobSpec, run_dir: Path, lease: Path | None) -> dict[str, float]:
    log = EventLog(run_dir / "events.jsonl")
    try:
        session = Session(spec, run_dir, log, lease)
        with session.listening():
            return _guarded(session, _body(spec))
    finally:
        log.close()


def _body(spec: JobSpec) -> Callable[[Session], dict[str, float]]:
    if spec.seeds == 1:
        return run.run
    return lambda whole: run_each(whole, lambda one: _guarded(one, run.run))


def _guarded(session: Session, body: Callable[[Session], dict[str, float]]) -> dict[str, float]:
    """Do it, and see to it that trouble leaves a last event and has a name."""
    try:
        session.device = _device(session.spec.runtime)
        return body(session)
    except Stopped:
        raise
    except TrainerError as error:
        _fail(session, error)
        raise
    except torch.OutOfMemoryError as error:
        problem: TrainerError = OutOfMemory(
            f"The device ran out of memory{f' in stage {session.stage}' if session.stage else ''}. "
            "Set or lower `micro_batch_size`, or shorten the texts."
        )
        _fail(session, problem)
        raise problem from error
    except (OSError, SafetensorError) as error:
        problem = StorageError(
            f"The run folder cannot be written: {error}. Free some space and run the same command again."
        )
        with suppress(OSError):  # the disk may be too full for even this event
            _fail(session, problem)
        raise problem from error
    except Exception as error:  # the process edge: a mistake of ours; people get a sentence, the log the trace
        traceback.print_exc()
        problem = InternalError(f"The trainer failed unexpectedly: {type(error).__name__}: {error}")
        _fail(session, problem)
        raise problem from error


def _fail(session: Session, error: TrainerError) -> None:
    session.emit(RunFailed(code=error.code, message=str(error), stage=session.stage, step=session.step or None))


def _device(spec: RuntimeSpec) -> torch.device:
    if spec.device == "cuda" and not torch.cuda.is_available():
        raise ModelError('`runtime.device` is "cuda", but no CUDA device is available here. Use "auto" or "cpu".')
    return torch.device("cuda" if spec.device != "cpu" and torch.cuda.is_available() else "cpu")
