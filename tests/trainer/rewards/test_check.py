"""Prompts without an answer are refused before training."""

import pytest

from trainer.errors import DataError
from trainer.rewards import check_answers
from trainer.spec import ExactMatchReward, LengthReward, NumericMatchReward
from trainer.text.codec import TokenizedPrompt

EXACT, NUMERIC = ExactMatchReward(type="exact_match"), NumericMatchReward(type="numeric_match", name="sums")


def prompts(*answers: str | None) -> list[TokenizedPrompt]:
    return [TokenizedPrompt(f"question\n{n}", [n], answer) for n, answer in enumerate(answers)]


def test_check_answers_counts_missing_ones_and_shows_the_first() -> None:
    with pytest.raises(DataError, match=r"`exact_match`.* 2 of 3 prompts have no `answer`. The first: 'question 1'"):
        check_answers([EXACT], prompts("a", None, None))


def test_an_answer_without_a_number_is_none_to_a_number() -> None:
    with pytest.raises(DataError, match=r"`sums`.* 1 of 2 prompts have no `answer` with a number"):
        check_answers([LengthReward(type="length", target=1), NUMERIC], prompts("#### 4", "four"))


def test_check_answers_requires_them_only_for_comparing_rewards() -> None:
    check_answers([LengthReward(type="length", target=1)], prompts(None))
    check_answers([EXACT, NUMERIC], prompts("4", "-1.5"))
