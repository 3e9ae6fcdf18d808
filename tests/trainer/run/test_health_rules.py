"""Health rules on real runs: those that should speak, and those that should keep silent."""

from pathlib import Path

import pytest

from tests.trainer.run.tools import run
from tests.trainer.running import events_of
from trainer.events import Health

HAS_AN_E = {"type": "regex", "pattern": "e"}
"""Worth 1 or 0, which about half of the responses are."""


@pytest.mark.parametrize(("coef", "fired"), [(10.0, ["kl_outweighs_reward"]), (0.01, [])])
def test_a_penalty_that_outweighs_the_reward_is_reported(
    first: Path, tmp_path: Path, coef: float, fired: list[str]
) -> None:
    ppo = {
        "steps": 12,
        "batch_size": 16,
        "learning_rate": 3e-3,
        "kl": {"coef": coef},
        "save_every": 12,
        "eval_every": 12,
    }
    run(tmp_path, ["ppo"], model=str(first / "sft"), rewards=[HAS_AN_E], ppo=ppo)
    findings = [event for event in events_of(tmp_path) if isinstance(event, Health)]
    assert [event.rule for event in findings if event.rule == "kl_outweighs_reward"] == fired
    assert all("Lower `ppo.kl.coef` to 0.0" in event.suggestion for event in findings if event.rule in fired)
