"""Any stages make a run, and each can start from what another run left."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.trainer.run.tools import LENGTH, Crash, finished, plan_of, run
from tests.trainer.running import unexplained
from trainer.errors import ModelError, SpecError
from trainer.randomness import batch_indices


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(AutoModelForCausalLM.from_pretrained(folder).state_dict())


def differ(one: Path, other: Path) -> bool:
    ours, theirs = weights(one), weights(other)
    return any(not torch.equal(ours[name], theirs[name]) for name in ours)


def test_two_stages_are_announced_done_and_nothing_more(first: Path) -> None:
    assert plan_of(first.parent) == finished(first.parent) == ["sft", "reward_model"]
    assert {path.name for path in first.iterdir() if "-" not in path.name} == {"sft", "reward_model"}


def test_ppo_alone_with_a_rule_from_another_runs_sft(first: Path, tmp_path: Path) -> None:
    summary = run(tmp_path, ["ppo"], model=str(first / "sft"), rewards=[LENGTH])
    assert plan_of(tmp_path) == finished(tmp_path) == ["ppo"]
    assert differ(tmp_path / "checkpoints" / "ppo", first / "sft")
    assert summary == json.loads((tmp_path / "checkpoints" / "ppo" / "stage.json").read_text())["summary"]


def test_ppo_and_evaluation_with_another_runs_reward_model(first: Path, tmp_path: Path) -> None:
    reward = {"type": "model", "path": str(first / "reward_model")}
    summary = run(tmp_path, ["ppo", "evaluation"], model=str(first / "sft"), rewards=[reward])
    assert plan_of(tmp_path) == ["ppo", "evaluation"]
    assert 0 <= summary["win_rate"] <= 1 and summary["kl"] != 0


def test_a_reward_model_alone_goes_on_from_another(first: Path, tmp_path: Path) -> None:
    model = {"path": str(first / "reward_model")}
    run(tmp_path, ["reward_model"], model=str(first / "sft"), reward_model=model | {"learning_rate": 1e-6})
    run(tmp_path / "fresh", ["reward_model"], model=str(first / "sft"), reward_model={"learning_rate": 1e-6})
    started = json.loads((first / "reward_model" / "stage.json").read_text())["summary"]["eval/loss"]
    on, anew = (
        json.loads((folder / "checkpoints" / "reward_model" / "stage.json").read_text())["summary"]["eval/loss"]
        for folder in (tmp_path, tmp_path / "fresh")
    )
    assert abs(on - started) < 1e-3 < abs(anew - started)


@pytest.mark.parametrize(
    ("stage", "module"), [("sft", "sft"), ("reward_model", "reward_model.train"), ("dpo", "offline_policy")]
)
def test_order_of_rows_follows_the_seed_of_the_spec(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, module: str
) -> None:
    orders: list[list[int]] = []

    def noted(*arguments: Any) -> list[int]:
        orders.append(batch_indices(*arguments))
        raise Crash

    monkeypatch.setattr(f"trainer.stages.{module}.batch_indices", noted)
    for seed in (0, 1):
        with pytest.raises(Crash):
            run(tmp_path / str(seed), [stage], model=str(first / "sft"), seed=seed)
    assert orders[0] != orders[1]


def test_dpo_between_sft_and_evaluation(tmp_path: Path) -> None:
    summary = run(tmp_path, ["sft", "dpo", "evaluation"], evaluation={"judge": "reviews"})
    assert plan_of(tmp_path) == finished(tmp_path) == ["sft", "dpo", "evaluation"]
    assert unexplained(tmp_path) == set()
    assert differ(tmp_path / "checkpoints" / "dpo", tmp_path / "checkpoints" / "sft")
    assert "judge_after" in summary


def test_dpo_alone_from_another_runs_sft(first: Path, tmp_path: Path) -> None:
    run(tmp_path, ["dpo"], model=str(first / "sft"))
    assert finished(tmp_path) == ["dpo"] and differ(tmp_path / "checkpoints" / "dpo", first / "sft")


def test_sft_alone_from_another_runs_sft_and_against_what_it_was(first: Path, tmp_path: Path) -> None:
    summary = run(tmp_path, ["sft", "evaluation"], model=str(first / "sft"), rewards=[LENGTH])
    assert finished(tmp_path) == ["sft", "evaluation"] and summary["kl"] != 0


def test_evaluation_alone_against_another_checkpoint(first: Path, tmp_path: Path) -> None:
    same = run(
        tmp_path / "a",
        ["evaluation"],
        model=str(first / "sft"),
        rewards=[LENGTH],
        evaluation={"against": str(first / "sft")},
    )
    assert same["kl"] == 0
    other = next(first.glob("sft-*"))
    against = run(
        tmp_path / "b", ["evaluation"], model=str(first / "sft"), rewards=[LENGTH], evaluation={"against": str(other)}
    )
    assert against["kl"] != 0 and against["score_after"] == same["score_after"]


def test_a_new_model_is_compared_with_itself_before_sft(tmp_path: Path) -> None:
    summary = run(tmp_path, ["sft", "evaluation"], rewards=[LENGTH])
    assert summary["kl"] != 0


def test_dpo_before_ppo_is_what_ppo_starts_from(first: Path, tmp_path: Path) -> None:
    ppo = {"learning_rate": 1e-12, "critic": {"learning_rate": 1e-12}}
    run(tmp_path, ["reward_model", "dpo", "ppo"], model=str(first / "sft"), ppo=ppo)
    ours, theirs = (weights(tmp_path / "checkpoints" / stage) for stage in ("ppo", "dpo"))
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-6) for name in ours)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reference": {"path": "{other}"}}, "#/ppo/reference/path: .* has another tokenizer"),
        ({"reference": {"path": "/gone"}}, "#/ppo/reference/path: There is no folder /gone"),
    ],
)
def test_a_reference_that_cannot_serve_is_refused_by_its_field(
    first: Path, tmp_path: Path, pretrained: Path, changes: dict[str, dict[str, str]], said: str
) -> None:
    path = changes["reference"]["path"].format(other=pretrained)
    with pytest.raises(ModelError, match=said):
        run(tmp_path, ["ppo"], model=str(first / "sft"), rewards=[LENGTH], ppo={"reference": {"path": path}})
    assert finished(tmp_path) == []


def test_scorers_that_cannot_serve_are_refused_before_training(first: Path, tmp_path: Path) -> None:
    sft = str(first / "sft")
    with pytest.raises(ModelError, match=r"Reward `model`: .*, which gives no scores"):
        run(tmp_path / "a", ["sft", "ppo"], rewards=[{"type": "model", "path": sft}])
    with pytest.raises(SpecError, match="Judge is a model without `path`, but `stages` trains none"):
        run(tmp_path / "b", ["sft", "evaluation"], evaluation={"judge": {"type": "model"}})
    with pytest.raises(SpecError, match="no plug-in named 'gone'"):
        run(tmp_path / "c", ["sft", "ppo"], rewards=[{"type": "plugin", "plugin": "gone"}])
    assert finished(tmp_path / "a") == finished(tmp_path / "b") == finished(tmp_path / "c") == []
