"""Seeds one after the other, each run by a function that stands in for the stages: it leaves a model folder and events."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.running import events_of
from trainer.errors import DataError, Diverged, Paused, Stopped, StorageError, Unhealthy
from trainer.events import (
    CheckpointDamaged,
    CheckpointSaved,
    EventLog,
    Message,
    Metrics,
    RunFinished,
    RunStarted,
    RunStopped,
    SeedFinished,
)
from trainer.run.several_seeds import RunOne, run_each
from trainer.session.checkpoint import StageResult
from trainer.session.session import Session
from trainer.spec import JobSpec

WIN_RATES = {5: 0.6, 6: 0.8, 7: 0.7}


def save_result(session: Session) -> None:
    files = {"weights": f"of seed {session.spec.seed}"}
    session.checkpoints.save_final("ppo", None, None, StageResult(1, 0.0, {}), files)  # type: ignore[arg-type]


def run_one(session: Session) -> dict[str, float]:
    seed = session.spec.seed
    session.emit(RunStarted(stages=[], device="cpu", threads=1, versions={}))
    session.report("ppo", 1, 1, {"seed": float(seed)})
    save_result(session)
    session.emit(CheckpointSaved(stage="ppo", step=1, path="checkpoints/ppo", final=True))
    session.emit(RunFinished(seconds=1.0, summary={}))
    return {"win_rate": WIN_RATES[seed], "win_rate_high": WIN_RATES[seed] + 0.1}


def run_seeds(folder: Path, one: RunOne = run_one, seeds: int = 3, **changes: object) -> dict[str, float]:
    spec = {"model": "unused", "data": {"preferences": "unused"}, "seed": 5, "seeds": seeds} | changes
    log = EventLog(folder / "events.jsonl")
    try:
        return run_each(Session(JobSpec.model_validate(spec), folder, log), one)
    finally:
        log.close()


def test_several_seeds_log_each_with_seed_and_keep_best(tmp_path: Path) -> None:
    summary = run_seeds(tmp_path, run_one)
    assert summary["win_rate"] == pytest.approx(0.7) and (summary["seeds"], summary["collapsed_seeds"]) == (3, 0)
    assert summary["best_seed"] == 6
    events = events_of(tmp_path)
    assert [(e.seed, e.values["seed"]) for e in events if isinstance(e, Metrics)] == [(5, 5), (6, 6), (7, 7)]
    assert [e.seed for e in events if isinstance(e, RunStarted)] == [5, 6, 7]
    assert [(e.seed, e.path) for e in events if isinstance(e, CheckpointSaved)] == [
        (5, "seeds/5/checkpoints/ppo"), (6, "seeds/6/checkpoints/ppo"), (7, "seeds/7/checkpoints/ppo"),
        (None, "checkpoints/ppo"),
    ]  # fmt: skip
    assert [(e.seed, e.number, e.of, e.collapsed) for e in events if isinstance(e, SeedFinished)] == [
        (5, 1, 3, False), (6, 2, 3, False), (7, 3, 3, False)
    ]  # fmt: skip
    finished = [e for e in events if isinstance(e, RunFinished)]
    assert [e.seed for e in finished] == [5, 6, 7, None] and finished[-1].summary == summary
    assert (tmp_path / "checkpoints" / "ppo" / "weights").read_text() == "of seed 6"
    own = [e for e in events_of(tmp_path / "seeds" / "7") if isinstance(e, Metrics)]
    assert [(e.seed, e.values["seed"]) for e in own] == [(None, 7)]  # the folder is that of a run of this seed alone


def test_several_seeds_diverged_one_is_counted_and_others_finish(tmp_path: Path) -> None:
    def some_diverge(session: Session) -> dict[str, float]:
        if session.spec.seed == 6:
            raise Diverged("The policy loss is not finite.")
        return run_one(session)

    summary = run_seeds(tmp_path, some_diverge)
    assert summary["win_rate"] == pytest.approx(0.65) and (summary["seeds"], summary["collapsed_seeds"]) == (3, 1)
    told = {e.seed: e for e in events_of(tmp_path) if isinstance(e, SeedFinished)}
    assert told[6].collapsed and told[6].why == "The policy loss is not finite." and not told[6].summary
    assert (tmp_path / "checkpoints" / "ppo" / "weights").read_text() == "of seed 7"


def test_when_none_is_left_the_job_fails(tmp_path: Path) -> None:
    def diverge(session: Session) -> dict[str, float]:
        raise Diverged("not finite")

    with pytest.raises(Unhealthy, match=r"None of the 2 seeds came to an end. seed 5: not finite; seed 6: not finite"):
        run_seeds(tmp_path, diverge, seeds=2)


def test_seeds_that_are_done_are_not_run_again(tmp_path: Path) -> None:
    ran: list[int] = []

    def stop_at_the_second(session: Session) -> dict[str, float]:
        ran.append(session.spec.seed)
        if session.spec.seed == 6 and ran.count(6) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
            session.stop_if_asked()
        return run_one(session)

    with pytest.raises(Stopped):
        run_seeds(tmp_path, stop_at_the_second)
    assert [e.seed for e in events_of(tmp_path) if isinstance(e, RunStopped)] == [6, None]
    summary = run_seeds(tmp_path, stop_at_the_second)
    assert ran == [5, 6, 6, 7] and summary["win_rate"] == pytest.approx(0.7)
    starts = [e.seed for e in events_of(tmp_path) if isinstance(e, RunStarted)]
    assert starts == [5, 6, 7]  # the second process does not start the first seed again


def test_several_seeds_signal_at_end_of_seed_stops_before_next(tmp_path: Path) -> None:
    ran: list[int] = []

    def too_late(session: Session) -> dict[str, float]:
        ran.append(session.spec.seed)
        summary = run_one(session)
        os.kill(os.getpid(), signal.SIGTERM)
        return summary

    with pytest.raises(Stopped):
        run_seeds(tmp_path, too_late)
    assert ran == [5]


def test_several_seeds_data_error_fails_the_job(tmp_path: Path) -> None:
    def no_data(session: Session) -> dict[str, float]:
        raise DataError("gone.jsonl: No such file")

    with pytest.raises(DataError):
        run_seeds(tmp_path, no_data)


def test_several_seeds_forward_all_events_of_each(tmp_path: Path) -> None:
    def with_trouble(session: Session) -> dict[str, float]:
        session.begin("ppo", 4, 0)
        session.log("3 pairs left out", warning=True)
        session.finish("evaluation", None, None, StageResult(1, 2.0, {"win_rate": 0.9}))
        return run_one(session)

    run_seeds(tmp_path, with_trouble, seeds=2)
    of_seed = [
        "stage_started",
        "message",
        "stage_finished",
        "run_started",
        "metrics",
        "checkpoint_saved",
        "run_finished",
    ]
    found = [(e.seed, e.type) for e in events_of(tmp_path)]
    ends = [(None, "message"), (None, "checkpoint_saved"), (None, "run_finished")]
    assert found == [(5, one) for one in (*of_seed, "seed_finished")] + [
        (6, one) for one in (*of_seed, "seed_finished")
    ] + ends  # fmt: skip


def test_several_seeds_failure_of_one_names_seed(tmp_path: Path) -> None:
    def pause(session: Session) -> dict[str, float]:
        if session.spec.seed == 6:
            session.begin("ppo", 4, 2)
            session.pause("The KL is high.")
        return run_one(session)

    with pytest.raises(Paused):
        run_seeds(tmp_path, pause)
    stopped = [(e.seed, e.reason, e.stage, e.step) for e in events_of(tmp_path) if isinstance(e, RunStopped)]
    assert stopped == [(6, "health", "ppo", 2), (None, "health", "ppo", 2)]


def test_seed_with_damaged_result_is_run_again(tmp_path: Path) -> None:
    """Its outcome is of no use without the model. The seeds with a good result are not run again."""
    made: list[int] = []

    def saving(session: Session) -> dict[str, float]:
        made.append(session.spec.seed)
        save_result(session)
        return {"win_rate": WIN_RATES[session.spec.seed]}

    def failing(session: Session) -> dict[str, float]:
        if session.spec.seed == 7:
            raise DataError("no more")
        return saving(session)

    with pytest.raises(DataError):
        run_seeds(tmp_path, failing)
    (tmp_path / "seeds" / "6" / "checkpoints" / "ppo" / "weights").write_text("of seed 9")
    run_seeds(tmp_path, saving)
    assert made == [5, 6, 6, 7]
    damaged = [event for event in events_of(tmp_path) if isinstance(event, CheckpointDamaged)]
    assert [(event.seed, event.path) for event in damaged] == [(6, "seeds/6/checkpoints/ppo")]
    assert (tmp_path / "checkpoints" / "ppo" / "weights").read_text() == "of seed 6"


@pytest.mark.parametrize("damaged_by", [shutil.rmtree, lambda folder: (folder / "weights").write_text("of seed 9")])
def test_best_seed_damaged_later_is_not_the_result(tmp_path: Path, damaged_by: Callable[[Path], object]) -> None:
    """Its files were good when it was done. The next start makes them again."""
    best = tmp_path / "seeds" / "6" / "checkpoints" / "ppo"

    def damaging(session: Session) -> dict[str, float]:
        summary = run_one(session)
        if session.spec.seed == 7:
            damaged_by(best)
        return summary

    with pytest.raises(StorageError, match="result of seed 6, the best one, was damaged"):
        run_seeds(tmp_path, damaging)
    run_seeds(tmp_path)
    assert (tmp_path / "checkpoints" / "ppo" / "weights").read_text() == "of seed 6"


def test_seed_with_damaged_outcome_makes_it_again(tmp_path: Path) -> None:
    summary = run_seeds(tmp_path)
    file = tmp_path / "seeds" / "5" / "outcome.json"
    file.write_text(file.read_text()[:-4])
    assert run_seeds(tmp_path) == summary
    warnings = [e.text for e in events_of(tmp_path) if isinstance(e, Message) and e.level == "warning"]
    assert len(warnings) == 1 and warnings[0].startswith("The outcome of seed 5 is damaged (")


def test_a_seed_collapses_at_the_limit_of_the_spec(tmp_path: Path) -> None:
    """Seeds 5, 6 and 7 keep .3, .4 and .5 of their entropy."""

    def one(session: Session) -> dict[str, float]:
        return run_one(session) | {"entropy_kept": session.spec.seed / 10 - 0.2}

    summary = run_seeds(tmp_path, one, health={"entropy_collapse": {"limit": 0.45}})
    assert summary["collapsed_seeds"] == 2
