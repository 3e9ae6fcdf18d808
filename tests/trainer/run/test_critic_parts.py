"""Runs whose critic learns in part: how it begins, and a choice that the model does not have."""

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.run.tools import LENGTH, finished, run
from tests.trainer.running import metrics_of
from trainer.errors import ModelError

CHOICES: list[dict[str, Any]] = [
    {"train": "adapters", "adapters": {"rank": 2}},
    {"train": "all_but_attention"},
    {"train": "last_layers", "last_layers": 1},
]


def test_critic_that_learns_in_part_begins_as_the_reward_model(first: Path, tmp_path: Path) -> None:
    """Its values before the first update are those of a whole critic, and then it learns something else."""
    stages, common = ["reward_model", "ppo"], {"steps": 2, "self_test": False}
    figures = []
    for number, critic in enumerate([{}, *CHOICES]):
        folder = tmp_path / str(number)
        critic = critic | {"learning_rate": 1e-2}
        run(folder, stages, model=str(first / "sft"), reward_model={"batch_size": 32}, ppo=common | {"critic": critic})
        figures.append([metrics_of(folder)["ppo", step]["val/explained_var"] for step in (1, 2)])
    whole, *others = figures
    assert [one[0] for one in others] == pytest.approx([whole[0]] * 3, rel=1e-4, abs=1e-4)
    assert len({one[1] for one in figures}) == 4


@pytest.mark.parametrize(
    ("critic", "said"),
    [
        ({"train": "last_layers", "last_layers": 9}, r"#/ppo/critic/last_layers: .* is more than the \d layers"),
        ({"train": "adapters", "adapters": {"target_modules": ["no_such"]}}, "#/ppo/critic/train: .*target_modules"),
    ],
)
def test_parts_that_the_critic_lacks_are_refused_before_training(
    first: Path, tmp_path: Path, critic: dict[str, Any], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        run(tmp_path, ["sft", "ppo"], model=str(first / "sft"), rewards=[LENGTH], ppo={"critic": critic})
    assert finished(tmp_path) == []


def test_critic_with_bins_passes_the_self_test_and_learns(first: Path, tmp_path: Path) -> None:
    """It begins on the trunk of the run's reward model, with the middle of the range as the value of every state."""
    critic = {"classification": {"low": -4, "high": 4, "bins": 9}, "learning_rate": 1e-2}
    run(
        tmp_path, ["reward_model", "ppo"], model=str(first / "sft"), reward_model={"batch_size": 32},
        ppo={"steps": 2, "critic": critic, "log_token_tables": 1},
    )  # fmt: skip
    found = [metrics_of(tmp_path)["ppo", step] for step in (1, 2)]
    assert found[0]["val/explained_var"] == pytest.approx(0, abs=1e-6) != found[1]["val/explained_var"]
    assert found[1]["loss/value_avg"] < found[0]["loss/value_avg"]
    assert [one["val/returns_outside_bins"] for one in found] == [0, 0]


def test_normalised_critics_pass_the_self_test_and_learn(first: Path, tmp_path: Path) -> None:
    """They begin as the run's reward model, agree at first, and differ once each has learned from its own prompts."""
    critic = {"heads": {"mask_advantages": 0.25}, "normalization": {}, "learning_rate": 1e-2}
    run(
        tmp_path, ["reward_model", "ppo"], model=str(first / "sft"), reward_model={"batch_size": 32},
        ppo={"steps": 2, "critic": critic, "log_token_tables": 1},
    )  # fmt: skip
    begin, later = (metrics_of(tmp_path)["ppo", step] for step in (1, 2))
    assert begin["critic/disagreement"] == 0 == begin["policy/masked_advantages"]
    assert later["critic/disagreement"] > 0 and later["critic/agreement"] < 1
    assert 0.2 < later["policy/masked_advantages"] <= 0.25
    assert begin["val/target_std"] > 0 and begin["val/target_mean"] != later["val/target_mean"]
