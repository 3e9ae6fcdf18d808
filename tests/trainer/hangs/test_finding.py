"""Tests for trainer/hangs/finding.py."""

from typing import Any

from trainer.hangs.finding import Place, finding_of


def place(phases: str, collectives: int = 0, **changes: Any) -> Place:
    return Place(
        **{"phases": phases, "ticks": 51, "collectives": collectives, "stage": "ppo", "step": 7}
        | {"last_event": "metrics of ppo, step 7, 53 seconds ago"}
        | changes
    )


def test_one_process_is_named_with_phase_and_last_event() -> None:
    finding = finding_of({0: place("score/reward")}, 1)
    assert (finding.phase, finding.ranks) == ("reward", [0])
    assert finding.text == (
        "Process 0 has been in the phase reward (in score) for 51 seconds, far longer than before. Stage ppo, after step 7; "
        "the last event is metrics of ppo, step 7, 53 seconds ago."
    )


def test_the_process_with_fewer_collectives_is_behind() -> None:
    finding = finding_of({0: place("rollout/collective", 12), 1: place("rollout", 11), 2: place("rollout", 12)}, 3)
    assert (finding.phase, finding.ranks) == ("rollout", [1])
    assert "Process 0 has waited in the phase collective (in rollout)" in finding.text


def test_a_process_outside_of_the_same_collective_is_behind() -> None:
    finding = finding_of({0: place("update/collective", 9), 1: place("update", 9)}, 2)
    assert (finding.phase, finding.ranks) == ("update", [1])


def test_processes_in_one_collective_are_all_named() -> None:
    finding = finding_of({0: place("update/collective", 9), 1: place("update/collective", 9)}, 2)
    assert (finding.phase, finding.ranks) == ("collective", [0, 1])


def test_a_process_without_a_response_is_behind() -> None:
    finding = finding_of({1: place("score/collective", 4)}, 3)
    assert (finding.phase, finding.ranks) == ("no response", [0, 2])
    assert finding.text.startswith("Processes 0, 2 did not respond")
    assert "Process 1 has waited in the phase collective (in score) for 51 seconds." in finding.text
