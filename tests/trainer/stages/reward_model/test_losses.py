"""The losses of pairs and rankings by hand."""

import math
from dataclasses import replace

import pytest
import torch

from tests.trainer.stage_tools import CPU, new_codec
from tests.trainer.stages.reward_model.test_training import PAIRS
from tests.trainer.tiny_models import scorer
from trainer.spec import RewardModelSpec
from trainer.stages.reward_model.pairwise import bradley_terry_loss, centring_loss, figures, score_pairs


@pytest.mark.parametrize(
    ("a", "b", "target", "margin", "loss"),
    [
        (math.log(3), 0.0, 1.0, 0.0, math.log(4 / 3)),  # σ(log 3) = ¾
        (math.log(3), 0.0, 0.0, 0.0, math.log(4)),
        (0.0, math.log(3), 0.0, 0.0, math.log(4 / 3)),
        (math.log(3), 0.0, 0.5, 0.0, (math.log(4 / 3) + math.log(4)) / 2),
        (math.log(3), 0.0, 1.0, math.log(3), math.log(2)),  # the margin takes the whole difference
        (0.0, math.log(3), 0.0, math.log(3), math.log(2)),  # it is a margin of the preferred side
    ],
)
def test_bradley_terry_loss_by_hand(a: float, b: float, target: float, margin: float, loss: float) -> None:
    found = bradley_terry_loss(*(torch.tensor([value]) for value in (a, b, target, margin)))
    assert found.tolist() == pytest.approx([loss], rel=1e-5)


def test_centring_loss_is_the_squared_sum() -> None:
    assert centring_loss(torch.tensor([1.0, 2.0, -1.0]), torch.tensor([3.0, -2.0, -2.0])).tolist() == [16, 0, 9]


def test_each_ranking_weighs_as_one_pair() -> None:
    """PAIRS: a ranking of three pairs, and two rankings of one pair each."""
    scored = score_pairs(scorer(), PAIRS, new_codec(), 9, CPU)
    assert scored.weights_P.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1, 1])
    assert scored.targets_P.tolist() == [1.0, 1.0, 0.5, 0.0, 0.5]
    by_hand = replace(scored, a_P=torch.tensor([math.log(3), 0, 0, 0, 0]), b_P=torch.zeros(5))
    # the ranking: (log 4/3 + log 2 + log 2) / 3; the two others: log 2 each
    plain, two = (math.log(4 / 3) + 2 * math.log(2)) / 3 + 2 * math.log(2), math.log(2)
    assert float(by_hand.loss(RewardModelSpec())) == pytest.approx(plain, rel=1e-6)
    assert figures(by_hand)["loss"] == pytest.approx(plain / 3, rel=1e-6)
    # the fourth pair asks for a margin of ½: log(1 + √e) in place of log 2
    with_margin = plain - two + math.log(1 + math.exp(0.5))
    assert float(by_hand.loss(RewardModelSpec(margin=True))) == pytest.approx(with_margin, rel=1e-6)
    # (log 3)² of one pair of three
    centred = plain + 0.5 * math.log(3) ** 2 / 3
    assert float(by_hand.loss(RewardModelSpec(center_coef=0.5))) == pytest.approx(centred, rel=1e-6)


def test_figures_leave_ties_out_of_accuracy_and_margin() -> None:
    scored = score_pairs(scorer(), PAIRS, new_codec(), 9, CPU)
    by_hand = replace(scored, a_P=torch.tensor([2.0, -1.0, 9.0, -3.0, 9.0]), b_P=torch.zeros(5))
    found = figures(by_hand)  # signed differences of the pairs that are no ties: 2, −1, 3
    assert (found["accuracy"], found["margin"]) == pytest.approx((2 / 3, 4 / 3))
