import math

import pytest
import torch

from tests.trainer.models import scorer
from trainer.data import Comparison
from trainer.reward_model import _figures, bradley_terry_loss, encode, mean_score
from trainer.sft import Example
from trainer.spec import DataSpec
from trainer.text import Codec, train_tokenizer

CODEC = Codec.of(
    train_tokenizer(["good bad film " * 20], 300),
    DataSpec(preferences="-", max_prompt_tokens=8, max_completion_tokens=6),
)


def test_the_loss_by_hand() -> None:
    a, b = torch.tensor([2.0, 2.0, 2.0]), torch.tensor([1.0, 1.0, 1.0])
    wins, loses = -math.log(1 / (1 + math.exp(-1))), -math.log(1 / (1 + math.exp(1)))
    expected = [wins, loses, (wins + loses) / 2]
    assert bradley_terry_loss(a, b, torch.tensor([1.0, 0.0, 0.5])).tolist() == pytest.approx(expected)


def test_accuracy_and_margin_leave_ties_out() -> None:
    figures = _figures(torch.tensor([2.0, 1.0, -3.0, 9.0]), torch.tensor([1.0, 0.0, 0.0, 0.5]))
    assert figures["accuracy"] == pytest.approx(2 / 3)
    assert figures["margin"] == pytest.approx((2 - 1 + 3) / 3)


def test_pairs_that_could_teach_nothing_are_counted_and_left_out() -> None:
    comparisons = [
        Comparison("film", "good", "bad", "a"),
        Comparison("film", "good", "good", "b"),  # the same tokens
        Comparison("film", "good " * 9, "bad", "a"),  # too long to keep its EOS
        Comparison("film " * 9, "good", "bad", "a"),  # prompt too long
    ]
    pairs, left_out = encode(comparisons, CODEC)
    assert (len(pairs), left_out) == (1, 3)
    assert pairs[0].a[-1] == pairs[0].b[-1] == CODEC.eos_id and pairs[0].target == 1.0


def test_with_the_mean_as_bias_the_reference_answers_score_0() -> None:
    model = scorer()
    answers = [Example([3, 4], [5, 6, 1]), Example([7], [8, 1]), Example([9], [10, 11, 12, 1])]
    cpu = torch.device("cpu")
    raw = mean_score(model, answers, CODEC, 2, cpu)
    assert abs(raw) > 1e-3
    model.config.score_bias = raw
    assert mean_score(model, answers, CODEC, 3, cpu) - model.config.score_bias == pytest.approx(0, abs=1e-6)
