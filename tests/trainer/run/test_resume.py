"""Ended anywhere, without warning, and started again, a run of any stages ends with the same bits."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests import tolerance
from tests.trainer.models.lora.tools import BATCH
from tests.trainer.run.tools import LENGTH, LORA, contents, crashing, model_factory, run
from tests.trainer.running import events_of, metrics_of
from trainer.events import RunStarted
from trainer.models import load_reward_model
from trainer.models.sequences import sequence_scores

ADAPTERS = ["adapter_config.json", "adapter_model.safetensors", "role.json"]


def interrupted(
    monkeypatch: pytest.MonkeyPatch, folder: Path, stages: list[str], at: list[tuple[str, int]], changes: dict[str, Any]
) -> list[tuple[str | None, int | None]]:
    """Go through the run with crashes at these steps; from where it went on each time."""
    for stage, step in at:
        with crashing(monkeypatch, stage, step):
            run(folder, stages, **changes)
    run(folder, stages, **changes)
    return [(e.resumed_stage, e.resumed_step) for e in events_of(folder) if isinstance(e, RunStarted)]


def test_adapters_on_one_small_backbone_through_all_stages(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = ["sft", "reward_model", "ppo", "evaluation"]
    model = {"path": str(first / "sft"), "lora": LORA, "gradient_checkpointing": True, "dtype": "bfloat16"}
    changes = {"model": model, "sft": {"batch_size": 64, "save_every": 2}, "reward_model": {"batch_size": 32}}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(whole, stages, **changes)
    crashes = [("sft", 3), ("reward_model", 4), ("ppo", 3)]
    resumed = interrupted(monkeypatch, broken, stages, crashes, changes)
    assert resumed == [(None, None), ("sft", 2), ("reward_model", 3), ("ppo", 2)]
    assert contents(broken) == contents(whole)
    assert metrics_of(broken) == metrics_of(whole)
    policy, critic = broken / "checkpoints" / "ppo-000002", broken / "checkpoints" / "ppo-000002/trainer_state/critic"
    assert sorted(path.name for path in critic.iterdir()) == ADAPTERS
    assert not list(policy.glob("model*.safetensors")) and set(ADAPTERS) < {path.name for path in policy.iterdir()}
    first_step = metrics_of(whole)["ppo", 1]
    assert first_step["objective/kl"] == 0
    # the minibatches are narrower than the batch that was scored, so their products round differently
    assert first_step["val/first_minibatch_ratio"] == pytest.approx(1, abs=tolerance.mean(torch.bfloat16))


@pytest.mark.slow
def test_dpo_and_a_reference_that_moves_with_adapters(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = ["reward_model", "dpo", "ppo"]
    ppo = {"reference": {"update": "ema", "decay": 0.5}, "critic": {"kind": "value_head"}}
    changes = {"model": {"path": str(first / "sft"), "lora": LORA}, "ppo": ppo}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(whole, stages, **changes)
    resumed = interrupted(monkeypatch, broken, stages, [("dpo", 4), ("ppo", 3)], changes)
    assert resumed == [(None, None), ("dpo", 3), ("ppo", 2)]
    assert contents(broken) == contents(whole) and metrics_of(broken) == metrics_of(whole)


@pytest.mark.slow
@pytest.mark.parametrize("lora", [None, LORA])
def test_a_reward_model_that_is_refitted_between_rounds(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lora: dict[str, Any] | None
) -> None:
    stages = ["reward_model", "ppo", "evaluation"]
    ppo = {"online": {"rounds": 2, "prompts": 16, "label_by": LENGTH, "learning_rate": 1e-3}, "save_every": 3}
    model = {"path": str(first / "sft")} | ({"lora": lora} if lora else {})
    changes = {"model": model, "ppo": ppo, "reward_model": {"batch_size": 32}}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(whole, stages, **changes)
    resumed = interrupted(monkeypatch, broken, stages, [("ppo", 4)], changes)
    assert resumed == [(None, None), ("ppo", 3)]
    assert contents(broken) == contents(whole) and metrics_of(broken) == metrics_of(whole)
    first_fit, refit = (
        load_reward_model(whole / "checkpoints" / name) for name in ("reward_model", "ppo/reward_model")
    )
    with model_factory(whole, stages, **changes) as factory, torch.no_grad():
        scorers = (factory.evaluated_models().models.reward_model, refit, first_fit)
        used, expected, other = (sequence_scores(model, BATCH) for model in scorers)
    assert torch.allclose(used, expected, atol=tolerance.largest()) and not torch.allclose(used, other, atol=1e-3)


@pytest.mark.parametrize(
    ("stages", "crash", "changes"),
    [
        pytest.param(["sft"], ("sft", 4), {}, marks=pytest.mark.slow),
        pytest.param(["reward_model"], ("reward_model", 4), {}, marks=pytest.mark.slow),
        (["dpo", "evaluation"], ("dpo", 4), {"rewards": [LENGTH]}),
        (["ppo"], ("ppo", 3), {"rewards": [LENGTH], "ppo": {"advantage": {"estimator": "reward_to_go"}}}),
        (
            ["ppo", "evaluation"],
            ("ppo", 3),
            {"rewards": [LENGTH], "ppo": {"reference": {"update": "reanchored", "every": 2}}},
        ),
    ],
)
def test_few_stages_on_another_runs_checkpoint(
    first: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stages: list[str],
    crash: tuple[str, int],
    changes: dict[str, Any],
) -> None:
    changes = {"model": str(first / "sft")} | changes
    run(tmp_path / "whole", stages, **changes)
    resumed = interrupted(monkeypatch, tmp_path / "broken", stages, [crash], changes)
    assert resumed[1] == (crash[0], 3 if crash[0] != "ppo" else 2)
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")
    assert metrics_of(tmp_path / "broken") == metrics_of(tmp_path / "whole")
