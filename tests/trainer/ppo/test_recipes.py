"""Every recipe under `examples/` improves its objective on the toy problem, through the whole loop."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.ppo.toy import CODEC, PROMPT, SCORES, STEPS, Table, actors, objective
from tests.trainer.stage_tools import session_in, train_ppo
from trainer.spec import EvaluationSpec, PPOSpec
from trainer.stages.evaluation import HeldOut

EXAMPLES = Path(__file__).parents[3] / "examples"
SIZES = {
    "steps": 40, "batch_size": 64, "max_new_tokens": STEPS, "learning_rate": 0.1, "warmup_ratio": 0.0,
    "shaping": {"missing_eos_penalty": 0}, "save_every": 100, "eval_every": 100, "self_test": False, "log_samples": 0,
}  # fmt: skip


def recipe(name: str, **changes: Any) -> PPOSpec:
    """The recipe's parts at the toy's size; the reward is a table, so nothing is there to refit."""
    parts = tomllib.loads((EXAMPLES / f"{name}.toml").read_text())["ppo"]
    parts.pop("online", None)
    if "critic" in parts:
        parts["critic"] = parts["critic"] | {"learning_rate": 0.05}
    return PPOSpec.model_validate(parts | SIZES | changes)


def learnt(folder: Path, spec: PPOSpec) -> tuple[float, float]:
    """The exact objective before and after."""
    cast = actors(Table(2, None), Table(1, None) if spec.uses_critic else None, reference_seed=None)
    beta = spec.policy_loss.beta if spec.policy_loss.kind == "least_squares" else spec.kl.coef
    before = float(objective(cast.policy, cast.reference, beta).detach())
    held_out = HeldOut([PROMPT], None, EvaluationSpec(prompts=1))
    with session_in(folder) as session:
        train_ppo(session, spec, cast, [PROMPT], held_out, CODEC)
    return before, float(objective(cast.policy, cast.reference, beta).detach())


@pytest.mark.parametrize(
    "name", ["ppo", "rloo", "grpo", "gspo", "cispo", "a_star_po", "kl_penalty", "online_iterative"]
)
def test_recipe_improves_its_objective(tmp_path: Path, name: str) -> None:
    before, after = learnt(tmp_path, recipe(name))
    assert before == pytest.approx(sum(SCORES) / 8)
    assert after > before + 0.6 * (max(SCORES) - before)


@pytest.mark.parametrize("baseline", ["none", "batch_mean"])
def test_reinforce_improves_with_and_without_a_baseline(tmp_path: Path, baseline: str) -> None:
    spec = recipe("reinforce", advantage={"estimator": "reward_to_go", "baseline": baseline, "normalize": "none"})
    before, after = learnt(tmp_path, spec)
    assert after > before + 0.6 * (max(SCORES) - before)
