"""The table of reward kinds, and the rewards of a spec made from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.errors import TrainerError
from trainer.rewards.base import Reward, RewardContext, Rewards, WeightedReward
from trainer.rewards.check import (
    ANY_ANSWER,
    NUMERIC_ANSWER,
    AnswerRule,
    PromptWithAnswer,
    check_classifier,
    check_reward_model,
    require_answers,
)
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


@dataclass(frozen=True)
class RewardKind:
    """The implementation of one reward kind."""

    build: Callable[[Any, RewardContext], Reward]
    """Makes the reward. Raises SpecError, ModelError or DataError."""
    check: Callable[[Any, RewardContext], None] | None = None
    """Raises the errors of `build` that show without the weights. None for a kind that is built quickly: it is built."""
    answer: AnswerRule | None = None
    """The condition on every prompt's `answer`; None for a kind that does not read it."""


KINDS: dict[type, RewardKind] = {
    ModelReward: RewardKind(build_model, check_reward_model),
    ClassifierReward: RewardKind(build_classifier, check_classifier),
    ExactMatchReward: RewardKind(lambda spec, _: ExactMatch(spec), answer=ANY_ANSWER),
    NumericMatchReward: RewardKind(lambda spec, _: NumericMatch(spec), answer=NUMERIC_ANSWER),
    RegexReward: RewardKind(lambda spec, context: Regex(spec, context.codec)),
    JsonSchemaReward: RewardKind(lambda spec, _: JsonSchema(spec)),
    LengthReward: RewardKind(lambda spec, _: Length(spec)),
    LexiconReward: RewardKind(lambda spec, _: build_lexicon(spec)),
    HttpReward: RewardKind(build_http),
    PluginReward: RewardKind(build_plugin),
}
"""The implementation of each class in trainer/spec/rewards.py."""


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


def check(spec: RewardSpec, context: RewardContext) -> None:
    """Raise what `build` would raise, as far as it shows without the weights of a model."""
    kind = KINDS[type(spec)]
    if kind.check is not None:
        kind.check(spec, context)
    else:
        kind.build(spec, context)


def check_answers(specs: Sequence[RewardSpec], prompts: Sequence[PromptWithAnswer], role: str = "Reward") -> None:
    """Raise DataError where a reward reads the prompts' `answer` and some prompts have none that it can use.

    `role` is the first word of the message.
    """
    for name, spec in zip(reward_names(specs), specs, strict=True):
        if (rule := KINDS[type(spec)].answer) is not None:
            require_answers(f"{role} `{name}`", rule, prompts)


def _built(name: str, spec: RewardSpec, context: RewardContext, role: str) -> Reward:
    try:
        return KINDS[type(spec)].build(spec, context)
    except TrainerError as error:
        raise type(error)(f"{role} `{name}`: {error}") from error
