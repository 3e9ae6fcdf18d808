"""The whole run once per seed, one after the other.

run_dir/seeds/<seed>/     a complete run folder: events.jsonl, checkpoints/, and outcome.json once it is done
run_dir/events.jsonl      the first seed's events, and what is worth saying of the others
run_dir/checkpoints/      the result of the best seed
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trainer.errors import Diverged, Stopped, TrainerError, Unhealthy
from trainer.events import CheckpointSaved, Event, EventLog, RunFinished, RunStopped, SeedFinished
from trainer.health.collapse import collapse
from trainer.run.seeds import outcome
from trainer.run.seeds.outcome import Outcome
from trainer.run.seeds.relay import Relay
from trainer.run.seeds.summary import summarise
from trainer.run_folder import alone_in, claim
from trainer.session.checkpoint import copied
from trainer.session.session import Session
from trainer.spec import StageName

RunOne = Callable[[Session], dict[str, float]]
"""Takes a run from wherever it stands to its end, and leaves a last event in its log if it fails."""


class _OneSeed(Session):
    """A run whose events are also passed on."""

    def __init__(self, whole: Session, seed: int, log: EventLog | None, relay: Relay) -> None:
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

    A seed that diverges, or that a health rule stops, counts as collapsed, and the next one begins. Raises Unhealthy if no
    seed is left; any other trouble of a seed is the job's.
    """
    began, spec = time.perf_counter(), whole.spec
    outcomes: list[Outcome] = []
    started = False
    for number, seed in enumerate(range(spec.seed, spec.seed + spec.seeds), 1):
        folder = whole.run_dir / "seeds" / str(seed)
        done = whole.world.from_main(lambda folder=folder: outcome.read(folder))  # type: ignore[misc]
        if done is None:
            whole.stop_if_asked()
            done = _run_seed(whole, run_one, folder, Relay(seed, number, spec.seeds, started))
            started = True
            _announce(whole, done, number)
            if whole.world.is_main:
                outcome.write(folder, done)
        outcomes.append(done)
    summary = _together(outcomes)
    _keep_best(whole, outcomes)
    whole.emit(RunFinished(seconds=time.perf_counter() - began, summary=summary))
    return summary


def _run_seed(whole: Session, run_one: RunOne, folder: Path, relay: Relay) -> Outcome:
    seed, began = int(folder.name), time.perf_counter()
    with ExitStack() as held:
        log = held.enter_context(_log_in(folder)) if whole.world.is_main else None
        session = _OneSeed(whole, seed, log, relay)
        whole.world.from_main(lambda: claim(session.spec, folder))
        summary, failure = _outlived(whole, session, run_one)
    why = collapse(summary, whole.spec.health.entropy_collapse.limit, failure)
    return whole.world.broadcast_object(Outcome(seed, time.perf_counter() - began, summary, failure is not None, why))


@contextmanager
def _log_in(folder: Path) -> Iterator[EventLog]:
    """The log of a seed's folder, which is held while inside."""
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        log = EventLog(folder / "events.jsonl")
        try:
            yield log
        finally:
            log.close()


def _outlived(whole: Session, session: _OneSeed, run_one: RunOne) -> tuple[dict[str, float], str | None]:
    """The seed's summary, or why it failed in a way that need not end the others."""
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
    finally:  # a signal that came too late for this seed still holds for the next
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


def _together(outcomes: list[Outcome]) -> dict[str, float]:
    finished = [o.summary for o in outcomes if not o.failed]
    if not finished:
        said = "; ".join(f"seed {o.seed}: {o.why_collapsed}" for o in outcomes)
        raise Unhealthy(f"None of the {len(outcomes)} seeds came to an end. {said}")
    collapsed = sum(o.why_collapsed is not None for o in outcomes)
    return summarise(finished) | {"seeds": float(len(outcomes)), "collapsed_seeds": float(collapsed)}


def _keep_best(whole: Session, outcomes: list[Outcome]) -> None:
    """The best seed's last policy (or whatever model its last stage made) is the job's."""
    chosen = outcome.best(outcomes)
    stage = next((stage for stage in reversed(whole.spec.stages) if stage != "evaluation"), None)
    if chosen is None or stage is None or whole.checkpoints.result(stage):
        return
    whole.check_lease()
    path = whole.world.from_main(lambda: copied(_final(whole, chosen, stage), whole.checkpoints.final(stage)))
    result = whole.checkpoints.result(stage)
    whole.say(f"The result is that of seed {chosen.seed}.")
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
