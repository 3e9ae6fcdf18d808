"""What pairs and rankings cost, against numbers worked out by hand."""

import math

import pytest
import torch

from data.rows import Comparison
from tests.trainer.stage_tools import CPU, new_codec, scores_alone
from tests.trainer.tiny_models import scorer
from trainer.models.attention import pack_as
from trainer.spec import DataSpec, RewardModelSpec
from trainer.stages.reward_model import accumulate, bradley_terry_loss, encode, evaluate, rankings
from trainer.stages.reward_model.loss import centring_loss
from trainer.stages.reward_model.pairs import Pair
from trainer.stages.reward_model.scoring import ScoredBatch, figures
from trainer.text.codec import Codec, train_tokenizer

CODEC = Codec.of(
    train_tokenizer(["good bad film " * 20], 300),
    DataSpec(preferences="-", max_prompt_tokens=8, max_completion_tokens=6),
)
BEST, MIDDLE, WORST = [5, 1], [6, 7, 8, 1], [9, 10, 1]
RANKING = [
    Pair([3, 4], BEST, MIDDLE, 1.0, group=7),
    Pair([3, 4], WORST, BEST, 0.0, group=7),
    Pair([3, 4], MIDDLE, WORST, 1.0, group=7),
]
OWN = Pair([11], [12, 1], [13, 14, 1], 0.0)


def cost(difference: float) -> float:
    """−log σ(Δ)."""
    return math.log(1 + math.exp(-difference))


def test_the_loss_by_hand() -> None:
    a, b = torch.tensor([2.0, 2.0, 2.0]), torch.tensor([1.0, 1.0, 1.0])
    wins, loses = -math.log(1 / (1 + math.exp(-1))), -math.log(1 / (1 + math.exp(1)))
    expected = [wins, loses, (wins + loses) / 2]
    assert bradley_terry_loss(a, b, torch.tensor([1.0, 0.0, 0.5])).tolist() == pytest.approx(expected)


def test_a_margin_asks_for_that_much_more_whichever_side_is_preferred() -> None:
    a, b, margins = torch.tensor([2.0, 1.0]), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    losses = bradley_terry_loss(a, b, torch.tensor([1.0, 0.0]), margins)
    assert losses.tolist() == pytest.approx([math.log(2), cost(-2.0)])  # Δ − m: 1 − 1, 1 − 3


def test_centring_costs_the_square_of_the_sum() -> None:
    assert centring_loss(torch.tensor([3.0, 1.0]), torch.tensor([-1.0, -1.0])).tolist() == [4.0, 0.0]


def test_accuracy_and_margin_leave_ties_out() -> None:
    differences, targets = torch.tensor([2.0, 1.0, -3.0, 9.0]), torch.tensor([1.0, 0.0, 0.0, 0.5])
    zeros = torch.zeros(4)
    found = figures(ScoredBatch([OWN] * 4, differences, zeros, targets, zeros, zeros + 1))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["margin"] == pytest.approx((2 - 1 + 3) / 3)


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


def test_a_tie_has_no_margin() -> None:
    pairs, _ = encode([Comparison("film", "good", "bad", label, margin=2.0) for label in ("b", "tie")], CODEC)
    assert [pair.margin for pair in pairs] == [2.0, 0.0]


@pytest.mark.parametrize("micro_batch", [1, 2, 9])
def test_a_ranking_counts_as_one_and_is_the_mean_of_its_pairs(micro_batch: int) -> None:
    expected, model = scorer(), scorer()
    best, middle, worst = (scores_alone(expected, [3, 4], side)[-1] for side in (BEST, MIDDLE, WORST))
    a, b = (scores_alone(expected, [11], side)[-1] for side in (OWN.a, OWN.b))
    three = sum(-torch.sigmoid(d).log() for d in (best - middle, best - worst, middle - worst)) / 3
    mean = (three - torch.sigmoid(b - a).log()) / 2
    mean.backward()
    found = accumulate(model, [OWN, *RANKING], new_codec(), micro_batch, CPU)
    assert found["loss"] == pytest.approx(float(mean.detach()), rel=1e-5)
    for left, right in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(left.grad, right.grad, rtol=1e-3, atol=1e-5)


def test_margin_and_centring_enter_the_loss_where_the_spec_says_so() -> None:
    model, pair = scorer(), Pair([11], [12, 1], [13, 14, 1], 0.0, margin=1.5)
    with torch.no_grad():
        a, b = (float(scores_alone(model, [11], side)[-1]) - 0.25 for side in (pair.a, pair.b))
    for spec, expected in (
        (RewardModelSpec(), cost(b - a)),
        (RewardModelSpec(margin=True), cost(b - a - 1.5)),
        (RewardModelSpec(center_coef=0.1), cost(b - a) + 0.1 * (a + b) ** 2),
    ):
        assert accumulate(model, [pair], new_codec(), 1, CPU, spec)["loss"] == pytest.approx(expected, rel=1e-5)
    assert evaluate(model, [pair], new_codec(), 1, CPU)["loss"] == pytest.approx(cost(b - a), rel=1e-5)


def test_each_answer_of_a_ranking_goes_through_the_model_once() -> None:
    model, rows = pack_as(scorer(), False), []
    model.base_model.register_forward_pre_hook(
        lambda module, args, kwargs: rows.extend(kwargs["input_ids"].tolist()), with_kwargs=True
    )
    accumulate(model, [*RANKING, OWN], new_codec(), 4, CPU)
    assert len(rows) == 3 + 2 and len({tuple(row) for row in rows}) == 5


def test_what_belongs_together_stays_together() -> None:
    assert rankings([OWN, RANKING[0], OWN, *RANKING[1:]]) == [[OWN], RANKING, [OWN]]
