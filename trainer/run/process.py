"""Runs a job in this process: sets up the device and the event log, and turns an exception into a last event."""

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

import torch
from safetensors import SafetensorError

from data.errors import is_disk_full
from trainer.distributed import World, is_peer_gone
from trainer.distributed.peer_failure import PeerMonitor, failure_of
from trainer.distributed.rendezvous import init_distributed, peer_monitor
from trainer.errors import DiskFull, InternalError, ModelError, Stopped, StorageError, TrainerError
from trainer.events import EventLog
from trainer.hangs.restart import Restarts
from trainer.out_of_memory import as_out_of_memory, is_out_of_memory
from trainer.run import pipeline
from trainer.run.hang_end import HangEnd
from trainer.run.several_seeds import run_each
from trainer.run_folder import alone_in, claim
from trainer.sampling.sampler import release_engine
from trainer.session.session import Session
from trainer.spec import JobSpec, RuntimeSpec
from trainer.tracking import tracked


def run_in_process(
    spec: JobSpec, run_dir: Path, lease: Path | None = None, restarts: Restarts | None = None
) -> dict[str, float]:
    """Run `spec` in `run_dir` from the checkpoints found there, and return the summary.

    `restarts`: those that a run without a worker makes after a hang. With None it ends with the exit status for a restart.

    Raises TrainerError. Every failure but a stop leaves a `run_failed` event; checkpoints stay as they are.
    """
    world = init_distributed(spec.runtime.device)
    try:
        with ExitStack() as held:
            world.from_main(lambda: held.enter_context(_taken(spec, run_dir)))
            with peer_monitor(run_dir, world) as monitor:
                return _with_log(spec, run_dir, lease, world, monitor, restarts)
    except OSError as error:
        if is_disk_full(error):
            raise _disk_full(run_dir, error) from error
        raise StorageError(f"{run_dir} cannot be used as a run folder: {error.strerror or error}.") from error


@contextmanager
def _taken(spec: JobSpec, run_dir: Path) -> Iterator[None]:
    """Lock the run folder for this run while inside. Raises StorageError or SpecError."""
    run_dir.mkdir(parents=True, exist_ok=True)
    with alone_in(run_dir):
        claim(spec, run_dir)
        yield


def _with_log(
    spec: JobSpec,
    run_dir: Path,
    lease: Path | None,
    world: World,
    monitor: PeerMonitor | None,
    restarts: Restarts | None,
) -> dict[str, float]:
    opened: list[EventLog] = []
    world.from_main(lambda: opened.append(EventLog(run_dir / "events.jsonl")))
    log = opened[0] if opened else None
    try:
        world.sharded = world.size > 1 and spec.runtime.sharding == "fsdp"
        session = Session(spec, run_dir, log, lease, world)
        session.on_hang = HangEnd(session, monitor, restarts)
        if monitor is not None:
            monitor.start(log, lambda: (session.stage, session.step or None))
            session.hangs.peers = monitor.places
        with tracked(spec, run_dir, session.emit) if log is not None else nullcontext(), session.listening():
            return _guarded(session, _body(spec), monitor)
    finally:
        if log is not None:
            log.close()


def _body(spec: JobSpec) -> Callable[[Session], dict[str, float]]:
    if spec.seeds == 1:
        return pipeline.run
    return lambda whole: run_each(whole, lambda one: _guarded(one, pipeline.run))


def _guarded(
    session: Session, body: Callable[[Session], dict[str, float]], monitor: PeerMonitor | None = None
) -> dict[str, float]:
    """Call `body`. An exception is logged as a last event and raised as a TrainerError.

    With `monitor`, an exception in one process ends all processes with one event. One seed of several is called without
    a monitor: an error that ends the whole job also passes through the call for the whole.
    """
    try:
        with session.hangs.watching(session):
            session.compute_on(device_of(session.spec.runtime, session.world))
            return body(session)
    except Stopped:
        raise
    except Exception as error:  # the process boundary
        if is_peer_gone(error):  # the process that ended first reports the cause
            if monitor is not None:
                monitor.fail(None)
            raise
        problem = named_error(error, session)
        if monitor is not None:
            monitor.fail(failure_of(problem, session.world.rank, session.stage, session.step or None))
        with suppress(OSError):  # the disk may be too full for even this event
            session.emit(failure_of(problem, 0, session.stage, session.step or None).event())
        if problem is error:
            raise
        raise problem from error
    finally:
        release_engine(session)  # another seed of the run may start one of its own


def named_error(error: Exception, session: Session) -> TrainerError:
    """The error as one that a user can read: out of memory, a full disk, a damaged file, or a bug of the trainer."""
    if isinstance(error, TrainerError):
        return error
    if is_out_of_memory(error):
        where = f" in stage {session.stage}" if session.stage else ""
        return as_out_of_memory(error, where, "Set or lower `micro_batch_size`, or shorten the texts.")
    if _is_disk_full(error):
        return _disk_full(session.run_dir, error)
    if isinstance(error, OSError | SafetensorError):
        return StorageError(
            f"A file of the run cannot be read or written: {error}. Mend this and run the same command again."
        )
    traceback.print_exception(error)  # a bug of the trainer: the event has a sentence, the log the trace
    return InternalError(f"The trainer failed unexpectedly: {type(error).__name__}: {error}")


def _disk_full(run_dir: Path, error: Exception) -> DiskFull:
    advice = "Free some space there. The run then resumes from its last checkpoint."
    return DiskFull(f"The disk that holds {run_dir} is full ({error}). {advice}")


def _is_disk_full(error: Exception) -> bool:
    """safetensors reports the system's error as text only."""
    if isinstance(error, OSError):
        return is_disk_full(error)
    told = re.search(r"\(os error (\d+)\)", str(error)) if isinstance(error, SafetensorError) else None
    return told is not None and is_disk_full(OSError(int(told[1]), ""))


def device_of(spec: RuntimeSpec, world: World) -> torch.device:
    """The device of this process. Raises ModelError if the spec demands a GPU that is absent."""
    if spec.device == "cuda" and not torch.cuda.is_available():
        raise ModelError('`runtime.device` is "cuda", but no CUDA device is available here. Use "auto" or "cpu".')
    if world.device is not None:
        return world.device
    return torch.device("cuda" if spec.device != "cpu" and torch.cuda.is_available() else "cpu")
