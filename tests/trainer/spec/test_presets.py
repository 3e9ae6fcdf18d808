"""Presets: valid specs, shown by the command line, each with an example that uses its settings."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from trainer.cli import main
from trainer.spec import JobSpec
from trainer.spec.presets import PRESETS, Preset

EXAMPLES = Path(__file__).parents[3] / "examples"
USED_BY = {
    "sft_and_reward_model": EXAMPLES / "hub" / "sft_and_reward_model.toml",
    "verifiable_after_sft": EXAMPLES / "strings" / "after_sft.toml",
    "verifiable_from_scratch": EXAMPLES / "strings" / "from_scratch.toml",
}


def leaves(tree: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Values by their dotted paths; lists count as values."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        path = f"{above}{name}"
        found |= leaves(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return found


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_preset_is_a_valid_spec_and_marks_what_to_replace(preset: Preset) -> None:
    JobSpec.model_validate(preset.spec)
    assert set(preset.replace) <= set(leaves(preset.spec))
    stand_ins = [path for path in leaves(preset.spec) if path.startswith(("model.", "data.", "rewards"))]
    assert sorted(preset.replace) == sorted(stand_ins)


def test_every_preset_has_an_example_with_its_settings() -> None:
    assert set(USED_BY) == set(PRESETS)
    for name, path in USED_BY.items():
        example = leaves(tomllib.loads(path.read_text()))
        settings = {at: value for at, value in leaves(PRESETS[name].spec).items() if at not in PRESETS[name].replace}
        assert {at: example.get(at) for at in settings} == settings


def test_the_command_lists_them_and_prints_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    shown = capsys.readouterr().out
    assert "verifiable_from_scratch: From scratch, with a verifiable reward" in shown
    assert "Replace: model.path, data.prompts, rewards." in shown
    assert main(["presets", "verifiable_from_scratch"]) == 0
    spec = JobSpec.model_validate(json.loads(capsys.readouterr().out))
    assert (spec.ppo.kl.coef, spec.ppo.shaping.missing_eos_penalty, spec.ppo.critic.learning_rate) == (0.01, 0.0, 2e-3)
