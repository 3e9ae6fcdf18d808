"""From the rewards of a spec to things that score."""

from collections.abc import Callable, Sequence
from typing import Any

from trainer.errors import TrainerError
from trainer.rewards.base import Reward, RewardContext, Rewards, WeightedReward
from trainer.rewards.http import build_http
from trainer.rewards.models import build_classifier, build_model
from trainer.rewards.numeric import NumericMatch
from trainer.rewards.plugin import build_plugin
from trainer.rewards.rules import ExactMatch, JsonSchema, Length, Regex, build_lexicon
from trainer.spec import (
    ClassifierReward,
    ExactMatchReward,
    HttpReward,
    JsonSchemaReward,
    LengthReward,
    LexiconReward,
    ModelReward,
    NumericMatchReward,
    PluginReward,
    RegexReward,
    RewardSpec,
    reward_names,
)

_BUILDERS: dict[type, Callable[[Any, RewardContext], Reward]] = {
    ModelReward: build_model,
    ClassifierReward: build_classifier,
    ExactMatchReward: lambda spec, _: ExactMatch(spec),
    NumericMatchReward: lambda spec, _: NumericMatch(spec),
    RegexReward: lambda spec, _: Regex(spec),
    JsonSchemaReward: lambda spec, _: JsonSchema(spec),
    LengthReward: lambda spec, _: Length(spec),
    LexiconReward: lambda spec, _: build_lexicon(spec),
    HttpReward: build_http,
    PluginReward: build_plugin,
}


def build(specs: Sequence[RewardSpec], context: RewardContext, role: str = "Reward") -> Rewards:
    """Load and check everything that `specs` name; `role` is what errors call them.

    Raises SpecError, ModelError or DataError, naming the reward, before anything is scored.
    """
    named = zip(reward_names(specs), specs, strict=True)
    return Rewards(
        [WeightedReward(name, spec.weight, _built(name, spec, context, role)) for name, spec in named],
        role,
        context.world,
    )


def _built(name: str, spec: RewardSpec, context: RewardContext, role: str) -> Reward:
    try:
        return _BUILDERS[type(spec)](spec, context)
    except TrainerError as error:
        raise type(error)(f"{role} `{name}`: {error}") from error
