"""The pause of the worker between two stores of events."""

import pytest

from worker.jobs.follow import storing_pause


@pytest.mark.parametrize(
    ("cpu_seconds", "cores", "on_cpu", "pause"),
    [
        (0.004, 2, True, 0.15),  # 6 ms with the database server are 2 % of 0.15 s on two cores
        (0.004, 16, True, 0.01875),
        (0.004, 2, False, 0.03),
        (1.0, 2, True, 1.0),  # a large batch: never more than a second
        (0.0, 1, True, 0.0),
    ],
)
def test_storing_pause_bounds_the_share_of_the_cpu(cpu_seconds: float, cores: int, on_cpu: bool, pause: float) -> None:
    assert storing_pause(cpu_seconds, cores, on_cpu) == pytest.approx(pause)
