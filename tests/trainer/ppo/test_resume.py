"""Whatever parts are chosen: broken off at a checkpoint and gone on with by new objects, a run ends in the same bits."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.ppo.test_online import FEEDBACK
from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, TEXTS, cast_for, spec_of
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import new_codec, session_in, train_ppo
from tests.trainer.tiny_models import llama, scorer
from trainer.events import Message
from trainer.models import Model, load_policy, load_reward_model, set_fresh
from trainer.models.builders import new_value_head
from trainer.models.heads import ValueHead
from trainer.models.members import levels_of, new_members
from trainer.models.value_bins import give_bins
from trainer.rewards.base import Rewards, WeightedReward
from trainer.rewards.ensemble import Ensemble
from trainer.rewards.models import TokenScorer
from trainer.rollout.context import PPOModels
from trainer.session.checkpoint import load_numbers
from trainer.spec import EvaluationSpec, ModelReward, PPOSpec
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import TokenizedPrompt
from trainer.text.stops import Stops

ENCODED = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
STOP = [new_codec().decode([token]) for token in range(4, 23, 3)]
BINS = {"low": -2, "high": 2, "bins": 9}
CASES: dict[str, dict[str, Any]] = {
    "adaptive, running scale, ema, cut rate": {
        "kl": {"controller": "adaptive", "coef": 0.2, "target": 0.5, "horizon": 20},
        "shaping": {"normalize": "running"},
        "reference": {"update": "ema", "decay": 0.6},
        "guards": {"lr_cut_kl": 1e-3, "lr_cut_steps": 5},
    },
    "value head with warm-up": {"critic": {"kind": "value_head", "warmup_steps": 1}},
    "value head with bins": {"critic": {"kind": "value_head", "classification": BINS}},
    "critic with bins": {"critic": {"classification": BINS | {"target": "two_hot"}, "targets": "monte_carlo"}},
    "normalised critic": {"critic": {"normalization": {"rate": 0.5}, "epochs": 3}},
    "normalised value head": {"critic": {"kind": "value_head", "normalization": {}}},
    "two normalised critics": {
        "critic": {
            "heads": {"mask_advantages": 0.2, "filter_entropy": 0.2},
            "normalization": {},
            "epochs": 2,
            "minibatches": 3,
        },
        "policy_loss": {"entropy_coef": 0.01},
    },
    "critics of groups": {"critic": {"heads": {"divide": "responses"}}, "samples_per_prompt": 2},
    "decoupled gae": {"advantage": {"critic_lambda": 1.0, "length_adaptive": 0.4}},
    "two passes of the critic": {
        "epochs": 1,
        "critic": {"epochs": 2, "minibatches": 3, "schedule": "cosine", "warmup_ratio": 0.5, "warmup_steps": 1},
    },
    "ptx": {"ptx": {"batch_size": 3}},
    "online": {"online": {"rounds": 4, "prompts": 6, "learning_rate": 1e-2}},
    "a*-po": {
        "advantage": {**NO_CRITIC, "baseline": "optimal_value"},
        "policy_loss": {"kind": "least_squares"},
        "kl": {"coef": 0.0},
    },
    "kl penalty to an adaptive target, reanchored, cosine": {
        "policy_loss": {"kind": "kl_penalty", "old_kl_target": 1e-4},
        "reference": {"update": "reanchored", "every": 2},
        "kl": {"controller": "cosine", "coef": 0.2},
    },
    "one optimizer step": {"epochs": 1, "minibatches": 1, "kl": {"placement": "loss", "estimator": "k2"}},
    "one step off": {"rollout": {"asynchronous": True}},
    "two steps off": {"rollout": {"staleness": 2}, "kl": {"placement": "loss", "estimator": "k3"}},
    "one step off, stop strings": {"rollout": {"asynchronous": True}, "stop": STOP},
    "one step off, online, a value head": {
        "rollout": {"asynchronous": True, "importance_cap": 1.5, "rows_at_once": 4},
        "online": {"rounds": 4, "prompts": 6, "learning_rate": 1e-2},
        "critic": {"kind": "value_head"},
    },
    "rate that follows the kl": {"lr_schedule": "kl_adaptive", "adaptive_rate": {"target": 1e-6}},
    "teacher": {"teacher": {"path": "unused", "coef": 0.5}, "epochs": 1, "minibatches": 1},
    "grpo": {
        "advantage": {"estimator": "sequence", "baseline": "group_mean", "normalize": "group_std"},
        "samples_per_prompt": 2,
        "kl": {"placement": "loss", "estimator": "k3"},
    },
}


MOVED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "adaptive, running scale, ema, cut rate": lambda saved: (
        saved["kl_coef"]["value"] != 0.2 and saved["scale"]["count"] == 12 and saved["cut_steps_left"] > 0
    ),
    "online": lambda saved: saved["refits"] == 1 and len(saved["pairs"]) > 0,
    "rate that follows the kl": lambda saved: saved["rate"]["value"] not in (0.0, saved["rate"]["origin"]["value"]),
    "normalised critic": lambda saved: saved["value_units"]["batches"] == 2,
    "normalised value head": lambda saved: saved["value_units"]["variance"] > 0,
    "a*-po": lambda saved: len(saved["optimal_values"]) == 6,
    "kl penalty to an adaptive target, reanchored, cosine": lambda saved: saved["old_kl_beta"]["value"] != 1.0,
}
"""Whether the state that a case tests has changed by the checkpoint. Otherwise the test could not see its loss."""


def ensemble() -> Model:
    """A reward model with two members, as the stage before PPO left it."""
    model = new_members(scorer(1), 2)
    set_fresh(model.score, 5)
    return model.requires_grad_(False)


def cast_of(spec: PPOSpec, checkpoint: Path | None, reward: ModelReward | None = None) -> PPOModels:
    """The models as a new process builds them: from the checkpoint, if there is one. `reward`: that of an ensemble."""
    cast = cast_for(spec)
    if reward is not None:
        model = ensemble()
        members = Ensemble([TokenScorer(model, 0, None)], reward)
        cast = replace(cast, reward_model=model, rewards=Rewards([WeightedReward("model", 1.0, members)]))
    if spec.reference.update != "fixed":
        cast = replace(cast, reference=llama(0).requires_grad_(False), initial=llama(0).requires_grad_(False))
    if checkpoint is None:
        return cast
    cast = replace(cast, policy=load_policy(checkpoint))
    if cast.critic is None:
        return cast
    bins = spec.critic.classification
    if isinstance(cast.critic, ValueHead):
        return replace(cast, critic=new_value_head(cast.policy, spec.critic))
    critic = load_reward_model(
        checkpoint / "trainer_state" / "critic", several=bins is not None or spec.critic.heads is not None
    )
    return replace(cast, critic=give_bins(critic, bins))


def run(folder: Path, spec: PPOSpec, reward: ModelReward | None = None) -> dict[str, Any]:
    """Metrics of the last two steps, and the weights of whatever was saved at the end."""
    held_out = HeldOut(ENCODED[:2], None, EvaluationSpec(prompts=2, keep_best=False))
    with session_in(folder) as session:
        newest = session.checkpoints.newest("ppo")
        cast = cast_of(spec, newest[0] if newest else None, reward)
        codec = new_codec()
        codec = replace(codec, stops=Stops.for_tokenizer(codec.tokenizer, (), spec.stop))
        feedback = FEEDBACK if spec.online else None
        train_ppo(session, spec, cast, ENCODED, held_out, codec, texts=TEXTS, feedback=feedback)
    final = folder / "checkpoints" / "ppo"
    weights = {
        str(path.relative_to(final)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in final.rglob("*.safetensors")
    }
    metrics = {step: values for (_, step), values in metrics_of(folder).items() if step > 2}
    return {"metrics": metrics, "weights": weights}


@pytest.mark.parametrize("name", CASES)
def test_resumed_ppo_ends_with_the_same_bits(tmp_path: Path, name: str) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    spec = spec_of(
        **{"lr_schedule": "linear"} | CASES[name],
        steps=4,
        save_every=2,
        eval_every=2,
        max_new_tokens=6,
        self_test=False,
    )
    expected = run(whole, spec)
    shutil.copytree(whole / "checkpoints" / "ppo-000002", broken / "checkpoints" / "ppo-000002")
    if name in MOVED:
        assert MOVED[name](load_numbers(broken / "checkpoints" / "ppo-000002")["state"])
    found = run(broken, spec)
    assert found["weights"] == expected["weights"]
    assert found["metrics"] == expected["metrics"] and sorted(found["metrics"]) == [3, 4]
    assert spec.online is None or "reward_model/model.safetensors" in found["weights"]


def test_resumed_refit_of_an_ensemble_ends_with_the_same_bits(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    spec = spec_of(**CASES["online"], steps=4, save_every=2, eval_every=2, max_new_tokens=6, self_test=False)
    reward = ModelReward(penalty=0.5)
    expected = run(whole, spec, reward)
    shutil.copytree(whole / "checkpoints" / "ppo-000002", broken / "checkpoints" / "ppo-000002")
    level = load_numbers(broken / "checkpoints" / "ppo-000002")["score_level"]
    assert [len(one) for one in level["reward_members"]] == [2, 2] and level["reward_members"][0] != [0.0, 1.0]
    assert run(broken, spec, reward) == expected
    assert all(values["reward/model/disagreement"] > 0 for values in expected["metrics"].values())
    assert levels_of(load_reward_model(whole / "checkpoints" / "ppo" / "reward_model").config)[0] != (0.0, 1.0)


def test_stop_string_ends_responses_in_sampling_loss_and_metrics(tmp_path: Path) -> None:
    common: dict[str, Any] = {"steps": 1, "eval_every": 1, "max_new_tokens": 6, "self_test": False}
    common["log_token_tables"] = 8
    for folder in (tmp_path / "plain", tmp_path / "stopped"):
        folder.mkdir()
    plain, stopped = (
        metrics_at(tmp_path / name, spec_of(**common, stop=stop)) for name, stop in (("plain", []), ("stopped", STOP))
    )
    assert stopped["val/eos_rate"] > plain["val/eos_rate"]
    assert stopped["val/response_length"] < plain["val/response_length"]
    assert stopped["eval/eos_rate"] > plain["eval/eos_rate"]
    shown = [row for event in events_of(tmp_path / "stopped") for row in getattr(event, "rows", [])]
    assert shown and not any(stop in row.response for row in shown for stop in STOP)
    assert any(row.finished and row.token_table and row.token_table[-1].text in STOP for row in shown)


def metrics_at(folder: Path, spec: PPOSpec) -> dict[str, float]:
    run(folder, spec)
    return metrics_of(folder)["ppo", 1]


def test_optimal_values_are_saved_at_once_and_not_sampled_twice(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    spec = spec_of(**CASES["a*-po"], steps=3, save_every=9, eval_every=9, max_new_tokens=6, self_test=False)
    expected = run(first, spec)
    shutil.copytree(first / "checkpoints" / "ppo-000000", second / "checkpoints" / "ppo-000000")
    assert run(second, spec) == expected
    said = [[event.text for event in events_of(folder) if isinstance(event, Message)] for folder in (first, second)]
    assert any("V*" in text for text in said[0]) and not any("V*" in text for text in said[1])
