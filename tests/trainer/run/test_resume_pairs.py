"""Exact resume over pairs: every live knob with every part that has state, killed before, at and after the change."""

import random
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.trainer.run.killed_runs import Commands, Moment, Trial, assert_same, at_event, at_step
from tests.trainer.run.tools import LENGTH, LORA, contents
from tests.trainer.running import ROOT, events_of, metrics_of
from trainer.events import CommandRefused, KnobChanged, RolledBack
from trainer.events.commands import Command

ADAPTIVE = {"controller": "adaptive", "coef": 0.2, "target": 0.5, "horizon": 20}
LOSS = {"kl": ADAPTIVE | {"placement": "loss", "estimator": "k2"}}
ALWAYS = {"limit": -1000.0, "patience": 3}
"""A rule that fires at step 3, whatever the KL."""

BINS = {"low": -4, "high": 4, "bins": 9}

PPO_PARTS: dict[str, dict[str, Any]] = {
    "adaptive KL": {},
    "adaptive KL in the loss": LOSS,
    "fixed KL": {"kl": {"coef": 0.2}},
    "cosine KL": {"kl": {"controller": "cosine", "coef": 0.2}},
    "beta of the old policy": {
        "policy_loss": {"kind": "kl_penalty", "old_kl_target": 1e-4}, "epochs": 2,
    },
    "moving average": {"reference": {"update": "ema", "decay": 0.6}},
    "copied reference": {"reference": {"update": "reanchored", "every": 2}},
    "running scale": {"shaping": {"normalize": "running", "whiten_rewards": True}},
    "linear rate": {"lr_schedule": "linear", "warmup_ratio": 0.4},
    "cosine rate": {"lr_schedule": "cosine"},
    "early stop": {"guards": {"target_kl": 1e-4}, "epochs": 3},
    "cut rate": {"guards": {"lr_cut_kl": 1e-6, "lr_cut_steps": 3}, "epochs": 2},
    "responses sampled ahead": {"rollout": {"asynchronous": True}},
    "responses sampled three steps ahead": {
        "rollout": {"staleness": 3, "correction": {"kind": "sequence_mask"}}, "samples_per_prompt": 2,
        "advantage": {"estimator": "sequence", "baseline": "leave_one_out", "normalize": "none"},
    },
    "value head": {"critic": {"kind": "value_head", "warmup_steps": 1}},
    "critic apart": {
        "advantage": {"critic_lambda": 1.0, "length_adaptive": 0.4}, "epochs": 1,
        "critic": {"epochs": 2, "minibatches": 4, "schedule": "cosine", "warmup_ratio": 0.4},
    },
    "critic with frozen attention": {
        "epochs": 1, "critic": {"train": "all_but_attention", "epochs": 2, "minibatches": 4},
    },
    "critic with bins": {
        "steps": 3, "critic": {"classification": BINS, "pretraining": {"iterations": 2}, "warmup_steps": 1},
    },
    "critic with bins on adapters": {
        "critic": {"classification": BINS | {"target": "two_hot"}, "train": "adapters", "adapters": {"rank": 2}},
    },
    "value head with bins": {"critic": {"kind": "value_head", "classification": BINS, "targets": "monte_carlo"}},
    "normalised critic on adapters": {
        "steps": 3,
        "critic": {"normalization": {}, "train": "adapters", "adapters": {"rank": 2}, "pretraining": {"iterations": 2}},
    },
    "normalised value head": {"critic": {"kind": "value_head", "normalization": {"rate": 0.5}}},
    "two critics on adapters": {
        "policy_loss": {"entropy_coef": 0.01},
        "critic": {
            "heads": {"mask_advantages": 0.2, "filter_entropy": 0.2}, "train": "adapters", "adapters": {"rank": 2}, "epochs": 2,
        },
    },
    "two stale critics with frozen attention": {
        "epochs": 1, "lr_schedule": "kl_adaptive", "adaptive_rate": {"target": 1e-3},
        "rollout": {"staleness": 2, "correction": {"denominator": "interpolated"}},
        "critic": {"heads": {"mask_advantages": 0.2}, "normalization": {}, "train": "all_but_attention", "epochs": 2},
    },
    "critic with adapters": {"critic": {"train": "adapters", "adapters": {"rank": 2}}},
    "value pretraining": {
        "steps": 3, "critic": {"pretraining": {"iterations": 2}, "warmup_steps": 1, "train": "last_layers", "last_layers": 1},
    },
    "value pretraining of a head, responses sampled ahead": {
        "steps": 3, "rollout": {"asynchronous": True}, "critic": {"kind": "value_head", "pretraining": {"iterations": 2}},
    },
    "groups": {
        "advantage": {"estimator": "sequence", "baseline": "group_mean", "normalize": "group_std"},
        "samples_per_prompt": 2,
    },
    "V*": {
        "advantage": {"estimator": "sequence", "normalize": "none", "baseline": "optimal_value"},
        "policy_loss": {"kind": "least_squares"}, "kl": {"coef": 0.0},
    },
    "online rounds": {"online": {"rounds": 3, "prompts": 8, "label_by": LENGTH, "learning_rate": 1e-2, "noise": 0.3}},
}  # fmt: skip
"""Parts of PPO with state, as changes of the section."""
RUN_PARTS: dict[str, dict[str, Any]] = {
    "LoRA": {"lora": LORA},
    "LoRA, moving average": {"lora": LORA, "ppo": PPO_PARTS["moving average"]},
    "roll-back": {"health": {"kl_blow_up": ALWAYS | {"action": "roll_back"}}},
    "roll-back, moving average": {
        "health": {"kl_blow_up": ALWAYS | {"action": "roll_back"}},
        "ppo": PPO_PARTS["moving average"] | PPO_PARTS["value head"],
    },
    "roll-back, value pretraining": {
        "health": {"kl_blow_up": ALWAYS | {"action": "roll_back"}},
        "ppo": PPO_PARTS["value pretraining"],
    },
    "LoRA, critic with frozen attention": {"lora": LORA, "ppo": PPO_PARTS["critic with frozen attention"]},
    "LoRA, critic with bins": {"lora": LORA, "ppo": PPO_PARTS["critic with bins"]},
    "pause": {"health": {"kl_blow_up": ALWAYS | {"action": "pause"}}},
    "8-bit moments": {"ppo": {"optimizer": "adamw_8bit"}},
}
"""Parts with settings outside the section."""
PARTS = [*PPO_PARTS, *RUN_PARTS]
OFFLINE: dict[str, dict[str, Any]] = {
    "sft": {},
    "reward_model": {},
    "reward_model, pointwise": {"reward_model": {"loss": "pointwise"}},
    "dpo": {},
    "kto": {"kto": {"batch_size": 16, "learning_rate": 1e-3, "save_every": 2}},
}
VALUES = {"kl_coef": 0.3, "kl_target": 2.0, "learning_rate": 5e-4, "critic_learning_rate": 3e-4}


def ppo_trial(first: Path, part: str, commands: Commands, **ppo: Any) -> Trial:
    changes = {"ppo": PPO_PARTS[part]} if part in PPO_PARTS else dict(RUN_PARTS[part])
    model = {"path": str(first / "sft")} | ({"lora": changes.pop("lora")} if "lora" in changes else {})
    common = {"kl": ADAPTIVE, "self_test": False, "log_samples": 1, "steps": 5, "save_every": 1} | ppo
    changes["ppo"] = common | changes.get("ppo", {})
    if "online" in changes["ppo"]:  # it refits the run's own reward model
        return Trial(["reward_model", "ppo"], {"model": model, "reward_model": {"batch_size": 32}} | changes, commands)
    return Trial(["ppo"], {"model": model, "rewards": [LENGTH]} | changes, commands)


def offline_trial(first: Path, part: str, commands: Commands) -> Trial:
    stage = part.split(",")[0]
    changes = dict(OFFLINE[part])
    if stage != "sft":
        changes["model"] = str(first / "sft")
    if part in ("kto", "reward_model, pointwise"):
        changes["data"] = {"thumbs": str(ROOT / "examples" / "tiny" / "thumbs.jsonl")}
    return Trial([stage], changes, commands)


def change(step: int, knob: str, value: float | None = None) -> dict[int, list[Command]]:
    given = VALUES.get(knob) if value is None else value
    return {step: [Command.model_validate({"id": f"{knob} at {step}", "name": knob, "value": given})]}


def check(trial: Trial, folder: Path, *kills: Moment) -> Path:
    """Resume a run from each of these kills, compare each with the calm one, and return the folder of the calm one."""
    calm = folder / "calm"
    copies = {folder / f"killed {number}": kill for number, kill in enumerate(kills)}
    trial.run(calm, copies)
    for copy in copies:
        trial.run(copy)
        assert_same(copy, calm)
    return calm


def test_adapted_kl_set_live_resumes_to_the_same_bits(first: Path, tmp_path: Path) -> None:
    """LoRA, a moving average, and an adapted coefficient that was set live: each resume goes on from the adapted value."""
    calm = check(ppo_trial(first, "LoRA, moving average", change(0, "kl_coef", 0.3)), tmp_path, at_step(3))
    assert [event.to for event in events_of(calm) if isinstance(event, KnobChanged)] == [0.3]
    coefficients = [metrics_of(calm)["ppo", step]["objective/kl_coef"] for step in (1, 2, 3)]
    assert coefficients[0] == 0.3 and len(set(coefficients)) == 3  # the resumed run begins with the third one


def test_critic_apart_set_live_resumes_to_the_same_bits(first: Path, tmp_path: Path) -> None:
    """Two passes of the critic and a schedule of its own, whose peak is changed at the first step."""
    calm = check(ppo_trial(first, "critic apart", change(1, "critic_learning_rate")), tmp_path, at_step(3))
    found = [metrics_of(calm)["ppo", step] for step in (1, 2, 3)]
    assert [one["critic_steps"] for one in found] == [8, 8, 8]
    # two of five iterations of warm-up: half of 1e-5, then the changed peak, and at the third the cosine begins
    assert [one["critic_lr"] for one in found] == pytest.approx([5e-6, 3e-4, 3e-4])


def test_stale_rollouts_set_live_resume_to_the_same_bits(first: Path, tmp_path: Path) -> None:
    """Killed while the queue fills and once it is full. The policy's rate, on which the waiting batches hang, changes."""
    trial = ppo_trial(first, "responses sampled three steps ahead", change(1, "learning_rate"))
    calm = check(trial, tmp_path, at_step(2), at_step(4))
    assert [metrics_of(calm)["ppo", step]["rollout/staleness"] for step in range(1, 6)] == [0, 1, 2, 3, 3]


def test_frozen_critic_set_live_resumes_to_the_same_bits(first: Path, tmp_path: Path) -> None:
    """Two passes of the parameters outside of attention, whose peak rate is changed at the second step."""
    check(ppo_trial(first, "critic with frozen attention", change(1, "critic_learning_rate")), tmp_path, at_step(3))


def test_critic_with_adapters_resumes_to_the_same_bits(first: Path, tmp_path: Path) -> None:
    """Its checkpoint holds the adapters alone, and its backbone is the model that it began with."""
    calm = check(ppo_trial(first, "critic with adapters", {}), tmp_path, at_step(3))
    critic = calm / "checkpoints" / "ppo-000004" / "trainer_state" / "critic"
    assert (critic / "adapter_model.safetensors").is_file() and not (critic / "model.safetensors").exists()


def test_pretraining_resumes_to_the_same_bits(first: Path, tmp_path: Path) -> None:
    """Killed in the pretraining, at its end and after it; the critic's peak rate is changed while it goes on."""
    trial = ppo_trial(first, "value pretraining", change(1, "critic_learning_rate"))
    calm = check(trial, tmp_path, at_step(1), at_step(2), at_step(4))
    found = [metrics_of(calm)["ppo", step] for step in range(1, 6)]
    assert [one["critic_lr"] for one in found[:2]] == [1e-5, 3e-4]  # constant, and the changed peak
    assert ["policy/approxkl_avg" in one for one in found] == [False, False, False, True, True]  # one step of warm-up


def test_pretraining_with_a_roll_back_resumes_to_the_same_bits(first: Path, tmp_path: Path) -> None:
    """Back at step 3 to the policy of step 0, with the critic that was pretrained for two steps."""
    trial = ppo_trial(first, "roll-back, value pretraining", {}, eval_every=1)
    trial.changes["checkpoints"] = {"keep_last": 9}
    calm = check(trial, tmp_path, at_step(2), at_step(4))
    (back,) = [event for event in events_of(calm) if isinstance(event, RolledBack)]
    assert (back.step, back.to_step) == (3, 0)
    assert [step for _, step in metrics_of(calm)] == [0, 1, 2, 3, 4, 5]
    found = [metrics_of(calm)["ppo", step] for step in (3, 4)]
    assert not any("pretraining/since_best" in one for one in found)  # it is not repeated
    critics = [calm / "checkpoints" / f"ppo-00000{step}/trainer_state/critic/model.safetensors" for step in (1, 2, 3)]
    unfinished, pretrained, restored = (path.read_bytes() for path in critics)
    assert restored == pretrained != unfinished


def test_roll_back_with_two_settings_resumes_to_the_same_bits(first: Path, tmp_path: Path) -> None:
    """The second setting has the value of the first one, and only its step differs from it."""
    commands = change(1, "kl_coef", 0.3) | change(2, "kl_coef", 0.3)
    calm = check(ppo_trial(first, "roll-back, moving average", commands, eval_every=1), tmp_path, at_step(4))
    assert [event.step for event in events_of(calm) if isinstance(event, RolledBack)] == [3]
    assert metrics_of(calm)["ppo", 4]["objective/kl_coef"] == 0.3
    initial, second = (event.from_ for event in events_of(calm) if isinstance(event, KnobChanged))
    assert initial == 0.2 and second != 0.3  # adapted since; the warm-up of the critic adapts nothing


def test_commands_at_a_requested_checkpoint_are_reported_once(first: Path, tmp_path: Path) -> None:
    """The checkpoint holds the first change, not the second. A change that it holds is not repeated from another value."""
    given = [("a", "kl_coef", 0.3), ("b", "checkpoint", None), ("c", "kl_coef", 0.4), ("d", "kl_coef", -1.0)]
    commands = {1: [Command.model_validate({"id": id_, "name": name, "value": value}) for id_, name, value in given]}
    trial = ppo_trial(first, "fixed KL", commands, save_every=9)
    calm = check(trial, tmp_path, at_step(3), lambda event, when: isinstance(event, CommandRefused))
    changes = [(event.from_, event.to) for event in events_of(calm) if isinstance(event, KnobChanged)]
    assert changes == [(0.2, 0.3), (0.3, 0.4)]


def test_branch_keeps_an_adapted_kl_unless_its_spec_differs(first: Path, tmp_path: Path) -> None:
    """Both branches begin with a checkpoint that holds a live change, and are killed once more."""
    parent, same, other = (tmp_path / name for name in ("parent", "same", "other"))
    trial = ppo_trial(first, "moving average", change(1, "kl_coef", 0.3))
    trial.run(parent)
    newest = Path("checkpoints") / "ppo-000003"
    for folder, coef in ((same, 0.2), (other, 0.1)):
        shutil.copytree(parent / newest, folder / newest)
        branch, killed = ppo_trial(first, "moving average", {}, kl=ADAPTIVE | {"coef": coef}), tmp_path / f"{coef}"
        branch.run(folder, {killed: at_step(5)})
        branch.run(killed)
        assert_same(killed, folder)
    coefficients = [metrics_of(folder)["ppo", 4]["objective/kl_coef"] for folder in (parent, same, other)]
    assert coefficients[0] == coefficients[1] != 0.3 and coefficients[2] == 0.1
    assert contents(same) == contents(parent) != contents(other)


@st.composite
def plans(draw: st.DrawFn) -> tuple[str, list[tuple[int, str, float]], dict[str, Any], list[int], bool]:
    """A part, one or two knobs with their steps and values, the settings of the loop, and the events of two kills."""
    part = draw(st.sampled_from(PARTS))
    knobs = st.tuples(
        st.integers(0, 4), st.sampled_from([*VALUES, "evaluate", "checkpoint"]), st.sampled_from((0.5, 2.0))
    )
    every = {"save_every": draw(st.integers(1, 3)), "eval_every": draw(st.integers(1, 3))}
    return part, draw(st.lists(knobs, min_size=1, max_size=2)), every, draw(st.lists(st.integers(2, 30), min_size=2, max_size=2)), draw(st.booleans())  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(
    max_examples=25,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(plan=plans())
def test_random_kills_with_knobs_resume_to_the_same_bits(
    first: Path, tmp_path_factory: pytest.TempPathFactory, plan: Any
) -> None:
    part, knobs, every, (early, late), before = plan
    commands: dict[int, list[Command]] = {}
    for number, (step, name, factor) in enumerate(knobs):
        value = VALUES[name] * factor if name in VALUES else None
        commands.setdefault(step, []).append(Command.model_validate({"id": str(number), "name": name, "value": value}))
    folder = tmp_path_factory.mktemp("plan")
    trial = ppo_trial(first, part, commands, **every)
    calm, once, twice = folder / "calm", folder / "once", folder / "twice"
    trial.run(calm, {once: at_event(early, "before" if before else "after")})
    if once.exists():
        trial.run(once, {twice: at_event(late, "after")})
        assert_same(once, calm, between=before)
    if twice.exists():
        trial.run(twice)
        assert_same(twice, calm, between=before)


@pytest.mark.slow
def test_twenty_kills_of_stale_critics_resume_to_the_same_bits(first: Path, tmp_path: Path) -> None:
    """Several critics, two passes of each, responses two steps old and frozen parts, killed at twenty random events."""
    trial = ppo_trial(first, "two stale critics with frozen attention", {}, steps=6, save_every=2)
    trial.run(tmp_path / "count")
    draw, last = random.Random(29), len(events_of(tmp_path / "count")) - 1
    check(trial, tmp_path, *(at_event(draw.randrange(1, last), "after") for _ in range(20)))


@pytest.mark.slow
@pytest.mark.parametrize(("part", "knob"), [*product(PARTS, [*VALUES, "evaluate", "checkpoint"])])
def test_ppo_pair_resumes_to_the_same_bits(first: Path, tmp_path: Path, part: str, knob: str) -> None:
    check(ppo_trial(first, part, change(2, knob)), tmp_path, at_step(2), at_step(3), at_step(4))


@pytest.mark.slow
@pytest.mark.parametrize(("part", "knob"), [*product(OFFLINE, ["learning_rate", "kl_coef", "evaluate", "checkpoint"])])
def test_offline_pair_resumes_to_the_same_bits(first: Path, tmp_path: Path, part: str, knob: str) -> None:
    check(offline_trial(first, part, change(2, knob)), tmp_path, at_step(2), at_step(3), at_step(4))
