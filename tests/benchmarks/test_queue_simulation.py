from benchmarks.platform_suite.queue_simulation import HOUR, simulate
from core.scheduling.policy import Policy

POLICY = Policy(half_life=24 * HOUR, ageing=6 * HOUR)


def test_simulated_day_shares_fairly_and_serves_every_line() -> None:
    """1,000 GPUs. Three ageing times make a line overdue; then it waits for a worker, and a job takes 12 hours at most."""
    found = simulate(POLICY, scale=0.1)
    assert found["gpus"] == 1000
    assert found["fair_share_error"] < 0.05
    assert found["longest_line_wait_hours"] < 3 * 6 + 12
    assert found["workers_busy"] > 0.9


def test_simulation_is_repeatable() -> None:
    assert simulate(POLICY, scale=0.01, hours=4) == simulate(POLICY, scale=0.01, hours=4)
