"""pass@k of the evaluation stage."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, model_validator

from trainer.spec.rewards import (
    ExactMatchReward,
    HttpReward,
    JsonSchemaReward,
    NumericMatchReward,
    PluginReward,
    RegexReward,
    RewardSpec,
    reward_names,
)
from trainer.spec.section import Countable, PositiveInt, Section

_RULES = (ExactMatchReward, NumericMatchReward, RegexReward, JsonSchemaReward)
"""Rewards that verify a response by a rule. Their values are from 0 to 1."""
_VERIFIERS = (*_RULES, HttpReward, PluginReward)
"""Rewards that may verify a response."""


class PassAtSpec(Section):
    """pass@k: the chance that at least one of k responses to a held-out prompt is correct, by the unbiased estimator of Chen et al. (2021, eq. 1)."""

    k: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (1, 8)
    """The numbers of responses, ascending. Each has a figure of its own."""
    samples: Annotated[int, Field(ge=1, le=10_000), Countable] = 16
    """n: responses sampled for each held-out prompt and policy, beside the one that is compared. At least the largest k; more make the figures less noisy."""
    reward: str | None = None
    """Name of the reward that verifies the responses: a rule, an endpoint or a plug-in among `rewards`. Its weight does not matter. Left out: the only rule (`exact_match`, `numeric_match`, `regex` or `json_schema`)."""
    threshold: float = 1.0
    """A response is correct if the reward's value is at least this."""

    @model_validator(mode="after")
    def _samples_suffice(self) -> "PassAtSpec":
        if list(self.k) != sorted(set(self.k)):
            raise ValueError(f"`k` must be ascending, each number once; it is {list(self.k)}")
        if self.samples < self.k[-1]:
            raise ValueError(f"`samples` ({self.samples}) must be at least the largest `k` ({self.k[-1]})")
        return self

    def verifier(self, rewards: Sequence[RewardSpec]) -> str:
        """The name of the reward that verifies. Raises ValueError without one, or for a threshold that decides alone."""
        named = dict(zip(reward_names(rewards), rewards, strict=True))
        name = self._only_rule(named) if self.reward is None else self.reward
        if name not in named:
            raise ValueError(f'`evaluation.pass_at.reward`: no reward is named "{name}"; there are: {_listed(named)}')
        if not isinstance(named[name], _VERIFIERS):
            raise ValueError(
                f'`evaluation.pass_at.reward`: "{name}" is of the type `{named[name].type}`, which does not verify a '
                "response. Name a rule, an endpoint or a plug-in"
            )
        if isinstance(named[name], _RULES) and _counts_steps(named[name]):
            raise ValueError(
                f'`evaluation.pass_at.reward`: "{name}" counts the steps that match (`step_delimiter`), which verifies no response'
            )
        if isinstance(named[name], _RULES) and not 0 < self.threshold <= 1:
            raise ValueError(
                f"`evaluation.pass_at.threshold` ({self.threshold:g}) must be above 0 and at most 1: the values of "
                f'"{name}" are from 0 to 1'
            )
        return name

    @staticmethod
    def _only_rule(named: dict[str, RewardSpec]) -> str:
        rules = [name for name, reward in named.items() if isinstance(reward, _RULES) and not _counts_steps(reward)]
        if len(rules) != 1:
            raise ValueError(
                f"`evaluation.pass_at` needs `reward`, the name of the reward that verifies: `rewards` has {len(rules)} "
                f"rules; there are: {_listed(named)}"
            )
        return rules[0]


def _counts_steps(reward: RewardSpec) -> bool:
    return getattr(reward, "step_delimiter", None) is not None


def _listed(names: dict[str, RewardSpec]) -> str:
    return ", ".join(f'"{name}"' for name in names) or "no rewards"
