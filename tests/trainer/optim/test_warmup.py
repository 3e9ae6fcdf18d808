import pytest

from trainer.optim.learner import schedule_factor


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.25, [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]),  # 1.5 of 6 steps: 2
        (0.01, [1.0, 1.0, 0.8, 0.6, 0.4, 0.2]),  # .06 of a step: 1
        (0.0, [1.0, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]),
    ],
)
def test_part_of_a_warm_up_step_is_a_whole_one(ratio: float, expected: list[float]) -> None:
    assert [schedule_factor("linear", step, 6, ratio) for step in range(6)] == pytest.approx(expected)
