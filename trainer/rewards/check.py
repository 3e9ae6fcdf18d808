"""Errors in a reward that show before the run starts, without the weights of a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from data.rows import Prompt
from data.splits import prompt_text
from trainer.errors import DataError, ModelError
from trainer.models import adapters, load_config, load_tokenizer
from trainer.models.adapters import is_adapter
from trainer.models.members import members_of
from trainer.models.step_scores import step_delimiter_of
from trainer.rewards.base import RewardContext
from trainer.rewards.models import check_same_tokens, check_steps, label_number, refuse_combination
from trainer.rewards.numeric import final_number
from trainer.spec import ClassifierReward, ModelReward


class PromptWithAnswer(Protocol):
    """A row of the run's prompts."""

    @property
    def prompt(self) -> Prompt: ...
    @property
    def answer(self) -> str | None: ...


@dataclass(frozen=True)
class AnswerRule:
    """A condition on the `answer` of every prompt."""

    accepts: Callable[[str | None], bool]
    needs: str
    """The condition in words, with its article."""


def _has_number(answer: str | None) -> bool:
    return answer is not None and final_number(answer)[0] is not None


ANY_ANSWER = AnswerRule(lambda answer: answer is not None, "an `answer`")
NUMERIC_ANSWER = AnswerRule(_has_number, "an `answer` with a number in it")


def require_answers(name: str, rule: AnswerRule, prompts: Sequence[PromptWithAnswer]) -> None:
    """Raise DataError, with the count and the first prompt, where prompts break the rule. `name` is the reward's."""
    bad = [prompt for prompt in prompts if not rule.accepts(prompt.answer)]
    if bad:
        first = " ".join(prompt_text(bad[0].prompt).split())[:120]
        raise DataError(
            f"{name} compares with the prompt's answer, but {len(bad)} of {len(prompts)} prompts have no "
            f"{rule.needs.removeprefix('an ')}. The first: {first!r}. Give every row of `data.prompts` and "
            f"`data.evaluation_prompts` {rule.needs}."
        )


def check_reward_model(spec: ModelReward, context: RewardContext) -> None:
    """Raise ModelError where a tokenizer or a configuration cannot be loaded, or a model gives no scores.

    The same for a member of an ensemble with another tokenizer than the policy, and for a combination of one score.
    """
    configs = [_check_gives_scores(path) for path in spec.paths]
    for path, config in zip(spec.paths, configs, strict=True):
        adapter = is_adapter(path)
        learnt = adapters.step_delimiter_of(Path(path)) if adapter else step_delimiter_of(config)
        check_steps(path, learnt, 1 if adapter else members_of(config), spec)
    check_same_tokens(spec, context.codec)
    if spec.path is not None and not is_adapter(spec.path) and members_of(configs[0]) == 1:
        refuse_combination(spec)


def check_classifier(spec: ClassifierReward, context: RewardContext) -> None:
    """Raise ModelError as `check_reward_model`, and where the model has no such label."""
    label_number(spec, _check_gives_scores(spec.path))


def _check_gives_scores(path: str) -> object:
    load_tokenizer(path)
    config = load_config(path)
    kinds = config.architectures or []
    if kinds and not is_adapter(path) and not any("SequenceClassification" in kind for kind in kinds):
        raise ModelError(f"{path} is a {kinds[0]}, which gives no scores.")
    return config
