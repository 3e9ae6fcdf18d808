"""Runs the whole job once per seed, one seed after the other.

    run_dir/seeds/<seed>/     a complete run folder: events.jsonl, checkpoints/, and outcome.json once the seed is done
    run_dir/events.jsonl      the first seed's events, and a selection of the others' events
    run_dir/checkpoints/      the result of the best seed

A seed that is done is not run again.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trainer.errors import Diverged, Stopped, TrainerError, Unhealthy
from trainer.events import (
    CheckpointSaved,
    Event,
    EventLog,
    Health,
    Message,
    RolledBack,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    SeedFinished,
    StageFinished,
    StageStarted,
)
from trainer.run.seed_summary import Outcome, best_outcome, collapse, read_outcome, summarise, write_outcome
from trainer.run_folder import alone_in, claim
from trainer.session.checkpoint import copied
from trainer.session.session import Session
from trainer.spec import StageName

RunOne = Callable[[Session], dict[str, float]]
"""Resumes or starts a run and takes it to its end. On failure it appends a last event to the log."""


_ENDINGS = (RunFinished, RunFailed, RunStopped)


class SeedEvents:
    """Selects the events of one seed for the log of the whole job.

    The first seed's events are passed on, except its end. The others' events become messages, or are left out. Every
    seed's checkpoints are passed on with their path in the job's folder, because another machine resumes from them.
    """

    def __init__(self, seed: int, number: int, count: int, started: bool) -> None:
        self._seed = seed
        self._name = f"seed {seed} ({number} of {count})"
        self._first = number == 1
        self._started = started

    def pass_on(self, event: Event) -> Event | None:
        """The event for the job's log; None where it gets none."""
        if isinstance(event, CheckpointSaved):
            return event.model_copy(update={"path": f"seeds/{self._seed}/{event.path}", "seed": self._seed})
        if isinstance(event, RunStarted) and not self._started:
            return event
        if self._first:
            return None if isinstance(event, _ENDINGS) else event
        return self._line(event)

    def _line(self, event: Event) -> Message | None:
        match event:
            case StageStarted():
                return Message(text=f"{self._name}: {event.stage}, {event.total_steps} steps")
            case StageFinished():
                figures = ", ".join(f"{name} {value:.3g}" for name, value in event.summary.items())
                return Message(text=f"{self._name}: {event.stage} done in {event.seconds:.0f} s  {figures}".rstrip())
            case Health():
                return Message(text=f"{self._name}, step {event.step}: {event.cause}", level="warning")
            case RolledBack():
                text = f"{self._name}: rolled back from step {event.step} to step {event.to_step}"
                return Message(text=text, level="warning")
            case Message(level="warning" | "error"):
                return Message(text=f"{self._name}: {event.text}", level=event.level)
        return None


class _OneSeed(Session):
    """The session of one seed. It also forwards events to the session of the whole job."""

    def __init__(self, whole: Session, seed: int, log: EventLog | None, relay: SeedEvents) -> None:
        super().__init__(
            whole.spec.model_copy(update={"seed": seed, "seeds": 1}),
            whole.run_dir / "seeds" / str(seed),
            log,
            whole._lease,
            whole.world,
        )
        self._whole = whole
        self._relay = relay
        self.stopped: RunStopped | None = None

    def emit(self, event: Event) -> None:
        if self._log is not None:
            self._log.emit(event)
        if isinstance(event, RunStopped):
            self.stopped = event
        if passed := self._relay.pass_on(event):
            self._whole.emit(passed)


def run_each(whole: Session, run_one: RunOne) -> dict[str, float]:
    """Run every seed that is not done; return the summary over all.

    A seed that diverges, or that a health rule stops, counts as collapsed, and the next one begins. Raises Unhealthy
    where all seeds collapsed in this way. Any other error of a seed ends the job.
    """
    began, spec = time.perf_counter(), whole.spec
    outcomes: list[Outcome] = []
    started = False
    for number, seed in enumerate(range(spec.seed, spec.seed + spec.seeds), 1):
        folder = whole.run_dir / "seeds" / str(seed)
        done = whole.world.from_main(lambda folder=folder: read_outcome(folder))  # type: ignore[misc]
        if done is None:
            whole.stop_if_asked()
            done = _run_seed(whole, run_one, folder, SeedEvents(seed, number, spec.seeds, started))
            started = True
            _announce(whole, done, number)
            if whole.world.is_main:
                write_outcome(folder, done)
        outcomes.append(done)
    summary = _summary(outcomes)
    _keep_best(whole, outcomes)
    whole.emit(RunFinished(seconds=time.perf_counter() - began, summary=summary))
    return summary


def _run_seed(whole: Session, run_one: RunOne, folder: Path, relay: SeedEvents) -> Outcome:
    seed, began = int(folder.name), time.perf_counter()
    with ExitStack() as held:
        log = held.enter_context(_log_in(folder)) if whole.world.is_main else None
        session = _OneSeed(whole, seed, log, relay)
        whole.world.from_main(lambda: claim(session.spec, folder))
        summary, failure = _run_or_reason(whole, session, run_one)
    why = collapse(summary, whole.spec.health.entropy_collapse.limit, failure)
    return whole.world.broadcast_object(Outcome(seed, time.perf_counter() - began, summary, failure is not None, why))


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
            whole.emit(session.stopped)
        raise
    except TrainerError:
        whole.stage, whole.step = session.stage, session.step
        raise
    finally:  # a signal that arrived too late for this seed stops the next one
        whole._stop_asked = whole._stop_asked or session._stop_asked


def _announce(whole: Session, done: Outcome, number: int) -> None:
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


def _summary(outcomes: list[Outcome]) -> dict[str, float]:
    finished = [o.summary for o in outcomes if not o.failed]
    if not finished:
        reasons = "; ".join(f"seed {o.seed}: {o.why_collapsed}" for o in outcomes)
        raise Unhealthy(f"None of the {len(outcomes)} seeds came to an end. {reasons}")
    collapsed = sum(o.why_collapsed is not None for o in outcomes)
    return summarise(finished) | {"seeds": float(len(outcomes)), "collapsed_seeds": float(collapsed)}


def _keep_best(whole: Session, outcomes: list[Outcome]) -> None:
    """Copy the model that the best seed's last training stage made to the job's checkpoints."""
    chosen = best_outcome(outcomes)
    stage = next((stage for stage in reversed(whole.spec.stages) if stage != "evaluation"), None)
    if chosen is None or stage is None or whole.checkpoints.result(stage):
        return
    whole.check_lease()
    path = whole.world.from_main(lambda: copied(_final(whole, chosen, stage), whole.checkpoints.final(stage)))
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


def _final(whole: Session, chosen: Outcome, stage: StageName) -> Path:
    return whole.run_dir / "seeds" / str(chosen.seed) / "checkpoints" / stage
