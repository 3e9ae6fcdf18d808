"""What can be known of prompts and rewards before anything is trained."""

from collections.abc import Callable, Sequence
from typing import Protocol

from data.rows import Prompt
from data.splits import prompt_text
from trainer.errors import DataError
from trainer.rewards.numeric import final_number
from trainer.spec import ExactMatchReward, NumericMatchReward, RewardSpec, reward_names


class _Asked(Protocol):
    @property
    def prompt(self) -> Prompt: ...
    @property
    def answer(self) -> str | None: ...


def check_answers(specs: Sequence[RewardSpec], prompts: Sequence[_Asked], role: str = "Reward") -> None:
    """Raise DataError where a reward compares with the prompt's `answer` and prompts have none that it can use.

    `role` is what the error calls it.
    """
    for name, spec in zip(reward_names(specs), specs, strict=True):
        if isinstance(spec, ExactMatchReward):
            _require(f"{role} `{name}`", prompts, lambda answer: answer is not None, "an `answer`")
        if isinstance(spec, NumericMatchReward):
            _require(f"{role} `{name}`", prompts, _has_number, "an `answer` with a number in it")


def _has_number(answer: str | None) -> bool:
    return answer is not None and final_number(answer)[0] is not None


def _require(who: str, prompts: Sequence[_Asked], good: Callable[[str | None], bool], what: str) -> None:
    bad = [prompt for prompt in prompts if not good(prompt.answer)]
    if bad:
        first = " ".join(prompt_text(bad[0].prompt).split())[:120]
        raise DataError(
            f"{who} compares with the prompt's answer, but {len(bad)} of {len(prompts)} prompts have no "
            f"{what.removeprefix('an ')}. The first: {first!r}. Give every row of `data.prompts` and `data.evaluation_prompts` {what}."
        )
