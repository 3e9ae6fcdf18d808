"""The from-scratch example against its real server: it learns, and no health rule fires for a penalty above the reward."""

import tomllib
from pathlib import Path
from statistics import fmean

import pytest

from examples.strings.__main__ import write
from examples.strings.server import serving
from tests.trainer.running import events_of, metrics_of
from trainer.cli import load_spec
from trainer.events import Health
from trainer.run.process import run_in_process


@pytest.mark.slow
def test_strings_example_learns_from_random_weights_by_reward(tmp_path: Path) -> None:
    write(tmp_path)
    spec = load_spec(tmp_path / "from_scratch.toml")
    assert spec.name == tomllib.loads((tmp_path / "from_scratch.toml").read_text())["name"]
    with serving() as url:
        reward = spec.rewards[0].model_copy(update={"url": f"{url}/copy"})
        ppo = spec.ppo.model_copy(update={"steps": 20, "lr_schedule": "constant", "log_samples": 0})
        run_in_process(spec.model_copy(update={"stages": ("ppo",), "rewards": (reward,), "ppo": ppo}), tmp_path / "run")
    metrics = metrics_of(tmp_path / "run")
    rewards = [metrics["ppo", step]["objective/raw_scores"] for step in range(1, 21)]
    assert fmean(rewards[-5:]) > 2 * fmean(rewards[:5]), rewards
    assert not [e for e in events_of(tmp_path / "run") if isinstance(e, Health) and e.rule == "kl_outweighs_reward"]
