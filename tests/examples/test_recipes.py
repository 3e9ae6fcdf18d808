"""Every recipe learns the demo's task, by the hidden rule that its preferences were drawn from, on prompts it never trained on."""

import shutil
import tomllib
from pathlib import Path

import pytest

from tests.trainer.running import events_of, run
from trainer.events import Health, RunFinished

EXAMPLES = Path(__file__).parents[2] / "examples"
RECIPES = (
    "ppo",
    "reinforce",
    "rloo",
    "grpo",
    "dr_grpo",
    "dapo",
    "gspo",
    "cispo",
    "a_star_po",
    "kl_penalty",
    "online_iterative",
    "dpo",
    "simpo",
    "orpo",
    "kto",
)
SHARED = ("model", "data", "sft", "reward_model", "runtime")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoints of the two stages that all recipes begin with, from the first recipe's own run."""
    folder = tmp_path_factory.mktemp("ppo") / "run"
    assert run(EXAMPLES / "ppo.toml", folder, timeout=1500) == (0, "")
    return folder


def summary_of(folder: Path) -> dict[str, float]:
    last = events_of(folder)[-1]
    assert isinstance(last, RunFinished)
    return last.summary


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("recipe", [*RECIPES, "ensemble", "step_rewards", "process_rewards"])
def test_a_recipe_wins_most_held_out_comparisons(recipe: str, begun: Path, tmp_path: Path) -> None:
    folder = begun if recipe == "ppo" else tmp_path / "run"
    for stage in ("sft", "reward_model"):
        if recipe != "ppo" and (stage == "sft" or recipe not in ("ensemble", "process_rewards")):
            shutil.copytree(begun / "checkpoints" / stage, folder / "checkpoints" / stage)
    status, said = run(EXAMPLES / f"{recipe}.toml", folder, timeout=1500)
    assert (status, said) == (0, "")
    summary = summary_of(folder)
    assert not [e for e in events_of(folder) if isinstance(e, Health) and e.rule == "kl_outweighs_reward"]
    assert summary["win_rate_low"] > 0.7 and summary["judge_after"] > summary["judge_before"] + 1


def test_the_recipes_differ_in_their_algorithm_alone() -> None:
    """All recipes begin with the same two stages, so that their curves can be compared."""
    specs = [tomllib.loads((EXAMPLES / f"{recipe}.toml").read_text()) for recipe in RECIPES]
    for spec in specs:  # KTO learns from thumbs in place of pairs
        spec["data"].pop("preferences" if "thumbs" not in spec["data"] else "thumbs")
    for section in SHARED:
        assert all(spec.get(section, specs[0][section]) == specs[0][section] for spec in specs), section
