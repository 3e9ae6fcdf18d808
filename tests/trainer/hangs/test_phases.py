"""Tests for trainer/hangs/phases.py."""

import json

import pytest

from trainer.hangs.phases import Floors, Phase, PhaseClock, Running


def ran_for(clock: PhaseClock, phase: Phase, ticks: int) -> None:
    clock.begin(phase)
    for _ in range(ticks):
        clock.tick()
    clock.end(completed=True)


def ticks_until_report(clock: PhaseClock, phase: Phase | None) -> int:
    """`phase`: None for the time between phases. The phase is ended without a trace."""
    if phase is not None:
        clock.begin(phase)
    count = next(count for count in range(1, 30_000) if clock.tick() is not None)
    if phase is not None:
        clock.end(completed=False)
    return count


def first_report(clock: PhaseClock) -> Running:
    return next(running for _ in range(30_000) if (running := clock.tick()) is not None)


def test_the_first_run_of_a_phase_has_half_an_hour() -> None:
    assert ticks_until_report(PhaseClock(), "rollout") == 1801


@pytest.mark.parametrize(("took", "reported"), [(0, 46), (2, 46), (20, 201)])
def test_a_later_deadline_follows_the_longest_run(took: int, reported: int) -> None:
    clock = PhaseClock()
    for ticks in (0, took, 0):
        ran_for(clock, "update", ticks)
    assert ticks_until_report(clock, "update") == reported


def test_a_slow_first_compile_leaves_later_deadlines_short() -> None:
    clock = PhaseClock()
    ran_for(clock, "rollout", 1700)
    assert clock.history["start/rollout"].first == 1700
    ran_for(clock, "rollout", 2)
    assert ticks_until_report(clock, "rollout") == 46


def test_floors_are_the_shortest_deadlines() -> None:
    clock = PhaseClock(Floors(first=7, later=3))
    ran_for(clock, "save", 0)
    assert (ticks_until_report(clock, "save"), ticks_until_report(clock, "load")) == (4, 8)


def test_a_phase_has_a_history_for_each_place() -> None:
    clock = PhaseClock()
    clock.enter_stage("ppo")
    ran_for(clock, "rollout", 3)
    clock.begin("evaluate")
    ran_for(clock, "rollout", 9)
    clock.end(completed=True)
    clock.enter_stage("evaluation")
    ran_for(clock, "rollout", 5)
    firsts = {key: durations.first for key, durations in clock.history.items()}
    assert firsts == {"ppo/rollout": 3, "ppo/evaluate/rollout": 9, "ppo/evaluate": 0, "evaluation/rollout": 5}


def test_only_the_innermost_phase_is_counted_and_named() -> None:
    clock = PhaseClock(Floors(later=5))
    clock.begin("score")
    ran_for(clock, "reward", 0)
    clock.end(completed=True)
    clock.begin("score")
    for _ in range(4):
        assert clock.tick() is None
    clock.begin("reward")
    assert first_report(clock).key == "start/score/reward"
    clock.end(completed=True)
    assert [clock.tick() for _ in range(2)] == [None, clock.innermost]
    assert clock.innermost.name == "score"


def test_a_hang_is_reported_once() -> None:
    clock = PhaseClock()
    ran_for(clock, "score", 1)
    clock.begin("score")
    assert sum(clock.tick() is not None for _ in range(500)) == 1
    clock.begin("reward")
    clock.silence()
    assert all(clock.tick() is None for _ in range(5000))


def test_a_phase_that_raises_adds_no_history() -> None:
    clock = PhaseClock()
    clock.begin("update")
    clock.end(completed=False)
    assert clock.history == {} and clock.deadline(Running("update", "start/update", rests=False)) == 1800


def test_time_between_phases_has_the_first_floor() -> None:
    clock = PhaseClock()
    clock.enter_stage("ppo")
    clock.step_ended()
    clock.begin("collective")
    clock.end(completed=True)
    assert ticks_until_report(clock, "collective") == 1801
    assert ticks_until_report(clock, None) == 1801
    clock.step_ended()
    assert ticks_until_report(clock, None) == 18_011  # ten times the step before


def test_history_survives_a_resume() -> None:
    before, after = PhaseClock(), PhaseClock()
    for ticks in (300, 2, 6):
        ran_for(before, "rollout", ticks)
    after.recall(json.loads(json.dumps(before.stored())))
    ran_for(after, "rollout", 4)
    assert after.stored() == {"start/rollout": [300, 6]}
    assert ticks_until_report(after, "rollout") == 61


def test_first_phase_after_a_resume_has_a_real_deadline() -> None:
    after = PhaseClock()
    after.recall({"start/rollout": [7, 2], "start/save": [90, None]})
    assert ticks_until_report(after, "rollout") == 71  # ten times the first one, which compiled too
    assert ticks_until_report(after, "save") == 901


def test_collectives_are_counted() -> None:
    clock = PhaseClock()
    for phase in ("update", "collective", "collective", "save"):
        ran_for(clock, phase, 0)  # type: ignore[arg-type]
    assert clock.collectives == 2


def test_a_request_has_its_own_limit_besides() -> None:
    clock = PhaseClock()
    ran_for(clock, "request", 0)
    clock.begin("request", at_most=60)
    assert next(count for count in range(1, 999) if clock.tick() is not None) == 106


def test_collectives_of_a_new_phase_have_the_first_floor() -> None:
    """The other processes wait in one of them while the main process writes its first checkpoint."""
    clock = PhaseClock()
    clock.begin("save")
    ran_for(clock, "collective", 0)
    assert ticks_until_report(clock, "collective") == 1801
    ran_for(clock, "collective", 30)
    clock.end(completed=True)
    clock.begin("save")
    assert ticks_until_report(clock, "collective") == 301


def test_collectives_after_a_resume_have_the_longest_of_all() -> None:
    clock = PhaseClock()
    clock.recall({"start/save": [40, 20], "start/save/collective": [0, 30]})
    clock.begin("save")
    assert ticks_until_report(clock, "collective") == 301
