"""Runs the whole job once per seed, one seed after the other.

    run_dir/seeds/<seed>/     a complete run folder: events.jsonl, checkpoints/, and outcome.json once the seed is done
    run_dir/events.jsonl      the events of all seeds, each with its seed, and those of the job without one
    run_dir/checkpoints/      the result of the best seed

A seed that is done is not run again.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from trainer.errors import Diverged, Stopped, StorageError, TrainerError, Unhealthy
from trainer.events import CheckpointDamaged, CheckpointSaved, Event, EventLog, RunFinished, RunStopped, SeedFinished
from trainer.events.seed_summary import SeedOutcome, best_outcome, collapse, read_outcome, summary_of, write_outcome
from trainer.run_folder import alone_in, claim
from trainer.session.checkpoint import Checkpoints, copied
from trainer.session.session import Session
from trainer.spec import StageName

RunOne = Callable[[Session], dict[str, float]]
"""Resumes or starts a run and takes it to its end. On failure it appends a last event to the log."""


class _OneSeed(Session):
    """The session of one seed. It also emits its events, with the seed, in the session of the whole job."""

    def __init__(self, whole: Session, seed: int, log: EventLog | None) -> None:
        super().__init__(
            whole.spec.model_copy(update={"seed": seed, "seeds": 1}),
            whole.run_dir / "seeds" / str(seed),
            log,
            whole._lease,
            whole.world,
        )
        self.on_hang = whole.on_hang
        self.hangs = whole.hangs  # a seed has the history of those before it
        self._whole = whole
        self._seed = seed
        self.stopped: RunStopped | None = None

    def emit(self, event: Event) -> None:
        if self._log is not None:
            self._log.emit(event)
        if isinstance(event, RunStopped):
            self.stopped = event
        self._whole.emit(_of_job(event, self._seed))


def _of_job(event: Event, seed: int) -> Event:
    """The event of a seed for the log of the job, where the path of a checkpoint is one of the job's folder."""
    changes: dict[str, Any] = {"seed": seed}
    if isinstance(event, CheckpointSaved | CheckpointDamaged):
        changes["path"] = f"seeds/{seed}/{event.path}"
    return event.model_copy(update=changes)


def run_each(whole: Session, run_one: RunOne) -> dict[str, float]:
    """Run every seed that is not done; return the summary over all.

    A seed that diverges, or that a health rule stops, counts as collapsed, and the next one begins. Raises Unhealthy
    where all seeds collapsed in this way. Any other error of a seed ends the job.
    """
    began, spec = time.perf_counter(), whole.spec
    outcomes: list[SeedOutcome] = []
    for number, seed in enumerate(range(spec.seed, spec.seed + spec.seeds), 1):
        folder = whole.run_dir / "seeds" / str(seed)
        done = whole.world.from_main(lambda folder=folder: _sound_outcome(whole, folder))  # type: ignore[misc]
        if done is None:
            whole.stop_if_asked()
            done = _run_seed(whole, run_one, folder)
            _announce(whole, done, number)
            if whole.world.is_main:
                write_outcome(folder, done)
        outcomes.append(done)
    summary = _summary(outcomes)
    _keep_best(whole, best_outcome(outcomes))
    whole.emit(RunFinished(seconds=time.perf_counter() - began, summary=summary))
    return summary


def _sound_outcome(whole: Session, folder: Path) -> SeedOutcome | None:
    """The outcome of a seed that is done; None where its result is damaged or gone, so that the seed makes it again."""
    try:
        outcome, stage = read_outcome(folder), _last_training_stage(whole)
    except (ValueError, TypeError) as error:
        whole.log(f"The outcome of seed {folder.name} is damaged ({error}), so the seed makes it again.", warning=True)
        return None
    if outcome is None or outcome.failed or stage is None:
        return outcome

    def emit(event: Event) -> None:
        whole.emit(_of_job(event, int(folder.name)))

    checkpoints = Checkpoints(folder / "checkpoints", whole.spec.checkpoints.keep_last, emit=emit)
    return outcome if checkpoints.result(stage) else None


def _last_training_stage(whole: Session) -> StageName | None:
    return next((stage for stage in reversed(whole.spec.stages) if stage != "evaluation"), None)


def _run_seed(whole: Session, run_one: RunOne, folder: Path) -> SeedOutcome:
    seed, began = int(folder.name), time.perf_counter()
    with ExitStack() as held:
        log = held.enter_context(_log_in(folder)) if whole.world.is_main else None
        session = _OneSeed(whole, seed, log)
        whole.world.from_main(lambda: claim(session.spec, folder))
        summary, failure = _run_or_reason(whole, session, run_one)
    why = collapse(summary, whole.spec.health.entropy_collapse.limit, failure)
    return whole.world.broadcast_object(
        SeedOutcome(seed, time.perf_counter() - began, summary, failure is not None, why)
    )


@contextmanager
def _log_in(folder: Path) -> Iterator[EventLog]:
    """The log of a seed's folder, which is locked while inside."""
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        log = EventLog(folder / "events.jsonl")
        try:
            yield log
        finally:
            log.close()


def _run_or_reason(whole: Session, session: _OneSeed, run_one: RunOne) -> tuple[dict[str, float], str | None]:
    """The seed's summary, or the reason of a failure that does not end the other seeds."""
    try:
        with session.listening():
            return run_one(session), None
    except (Diverged, Unhealthy) as error:
        return {}, str(error)
    except Stopped:
        if session.stopped:
            whole.emit(session.stopped)  # without the seed: the job has stopped
        raise
    except TrainerError:
        whole.stage, whole.step = session.stage, session.step
        raise
    finally:  # a signal that arrived too late for this seed stops the next one
        whole._stop_asked = whole._stop_asked or session._stop_asked


def _announce(whole: Session, done: SeedOutcome, number: int) -> None:
    whole.emit(
        SeedFinished(
            seed=done.seed,
            number=number,
            of=whole.spec.seeds,
            seconds=done.seconds,
            summary=done.summary,
            collapsed=done.why_collapsed is not None,
            why=done.why_collapsed,
        )
    )


def _summary(outcomes: list[SeedOutcome]) -> dict[str, float]:
    finished = [o.summary for o in outcomes if not o.failed]
    if not finished:
        reasons = "; ".join(f"seed {o.seed}: {o.why_collapsed}" for o in outcomes)
        raise Unhealthy(f"None of the {len(outcomes)} seeds came to an end. {reasons}")
    return summary_of(outcomes)


def _keep_best(whole: Session, chosen: SeedOutcome | None) -> None:
    """Copy the model that the best seed's last training stage made to the job's checkpoints."""
    stage = _last_training_stage(whole)
    if chosen is None or stage is None or whole.checkpoints.result(stage):
        return
    whole.check_lease()
    folder = whole.run_dir / "seeds" / str(chosen.seed)
    if whole.world.from_main(lambda: _sound_outcome(whole, folder)) is None:
        raise StorageError(
            f"The result of seed {chosen.seed}, the best one, was damaged while later seeds ran. Run the same command again: "
            "the seed makes it again."
        )
    path = whole.world.from_main(lambda: copied(folder / "checkpoints" / stage, whole.checkpoints.final(stage)))
    result = whole.checkpoints.result(stage)
    whole.log(f"The result is that of seed {chosen.seed}.")
    whole.emit(
        CheckpointSaved(
            stage=stage,
            step=result.steps if result else 0,
            path=str(path.relative_to(whole.run_dir)),
            final=True,
            metrics=chosen.summary,
        )
    )
