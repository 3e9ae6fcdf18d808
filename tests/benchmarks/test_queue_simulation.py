from benchmarks.queue_simulation import HOUR, simulate
from core.scheduling.policy import Policy

POLICY = Policy(half_life=24 * HOUR, ageing=2 * HOUR)


def test_simulated_day_shares_fairly_and_serves_every_line() -> None:
    """200 GPUs. Three ageing times make a line overdue; then it waits for a worker, and a job takes 12 hours at most."""
    found = simulate(POLICY, scale=0.02)
    assert found["gpus"] == 204
    assert found["fair_share_error"] < 0.25  # an owner's share is 10 GPUs: one job with 8 GPUs counts much
    assert found["longest_line_wait_hours"] < 3 * 2 + 12
    assert found["workers_busy"] > 0.9


def test_simulation_is_repeatable() -> None:
    assert simulate(POLICY, scale=0.01, hours=4) == simulate(POLICY, scale=0.01, hours=4)
