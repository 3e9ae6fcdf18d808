"""Named specs to begin with, for the command line, the API and the dashboard's form. Torch-free.

The settings come from measurements: docs/explanation/performance.md ("Learning") and docs/lab-notes.md.
"""

from typing import Literal

from pydantic import JsonValue

from trainer.spec.job import JobSpec
from trainer.spec.section import Section

_VERIFIABLE = ("exact_match", "numeric_match", "regex", "json_schema", "http", "plugin")


class Preset(Section):
    """A complete, valid spec with placeholders for the user's own model, datasets and rewards."""

    name: str
    """Its name on the command line and in the API."""
    title: str
    """Its name for people."""
    description: str
    """When to use it, and what its settings are for."""
    replace: tuple[str, ...]
    """Fields of the spec whose values are placeholders."""
    models: tuple[Literal["path", "config"], ...]
    """The fields of `model`, of which a job that the preset suits has one: a model to load, or the size of a new one."""
    rewards: tuple[str, ...]
    """The types of rewards, of which a job that the preset suits has no other."""
    spec: dict[str, JsonValue]
    """A job spec. A field that it leaves out has its default."""


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="sft_and_reward_model",
            title="From an SFT model, with a reward model",
            description=(
                "For a model that answers already, and comparisons of answers. Trains a reward model, then PPO. The reward model is "
                "right only near the answers that it was trained on, so the KL penalty stays on, and the critic begins as the reward model."
            ),
            replace=("model.path", "data.preferences"),
            models=("path",),
            rewards=("model",),
            spec={
                "model": {"path": "sft-model"},
                "data": {"preferences": "preferences.jsonl"},
                "stages": ["reward_model", "ppo", "evaluation"],
                "reward_model": {"epochs": 1, "learning_rate": 1e-5, "normalize": "mean_and_std"},
                "ppo": {
                    "batch_size": 64,
                    "epochs": 4,
                    "minibatches": 4,
                    "learning_rate": 3e-6,
                    "critic": {"learning_rate": 1e-5, "initial": "reward_model"},
                    "kl": {"coef": 0.05},
                },
            },
        ),
        Preset(
            name="verifiable_after_sft",
            title="After SFT, with a verifiable reward",
            description=(
                "For a model that does the task badly, or learns to from demonstrations, and a reward that cannot be fooled. The learning "
                "rates follow the KL of each iteration, so that they need not be found by hand. A reward that counts partial success "
                "(`http`, `plugin`) needs fewer samples than right or wrong. Leave `sft` out for a model that has had it."
            ),
            replace=("model.path", "data.sft", "data.prompts", "rewards"),
            models=("path",),
            rewards=_VERIFIABLE,
            spec={
                "model": {"path": "model"},
                "data": {"sft": "demonstrations.jsonl", "prompts": "prompts.jsonl"},
                "stages": ["sft", "ppo", "evaluation"],
                "rewards": [{"type": "exact_match"}],
                "ppo": {
                    "batch_size": 64,
                    "learning_rate": 1e-5,
                    "lr_schedule": "kl_adaptive",
                    "adaptive_rate": {"target": 0.03},
                    "critic": {"learning_rate": 3e-5},
                    "kl": {"coef": 0.02},
                    "shaping": {"missing_eos_penalty": 0.0},
                },
            },
        ),
        Preset(
            name="verifiable_from_scratch",
            title="From scratch, with a verifiable reward",
            description=(
                "For a small model that cannot do the task yet, and a reward that cannot be fooled. Most responses are worth the "
                "same at first. The KL coefficient is therefore far below the spread of the scores, and a missing EOS costs "
                "nothing. The learning rate is for some hundred thousand parameters: lower it for a larger model. A reward that "
                "counts partial success (`http`, `plugin`) needs fewer samples than right or wrong."
            ),
            replace=("model.path", "data.prompts", "rewards"),
            models=("config",),
            rewards=_VERIFIABLE,
            spec={
                "model": {"path": "new-model"},
                "data": {"prompts": "prompts.jsonl"},
                "stages": ["ppo", "evaluation"],
                "rewards": [{"type": "exact_match"}],
                "ppo": {
                    "batch_size": 64,
                    "epochs": 4,
                    "minibatches": 2,
                    "learning_rate": 2e-3,
                    "critic": {"learning_rate": 2e-3},
                    "kl": {"coef": 0.01},
                    "shaping": {"missing_eos_penalty": 0.0},
                },
            },
        ),
    )
}
"""By name."""


def filled(preset: Preset) -> JobSpec:
    """The preset as a spec, with placeholders and defaults."""
    return JobSpec.model_validate(preset.spec)
