"""PPO's losses against numbers worked out on paper."""

import math

import pytest
import torch

from trainer.ppo.losses import policy_loss, value_loss


def one_token(ratio: float, advantage: float) -> tuple[float, float, float]:
    """Loss, its gradient in log π, and the clip fraction, for ε = .2."""
    logprobs = torch.tensor([[math.log(ratio)]], requires_grad=True)
    mask = torch.ones(1, 1, dtype=torch.bool)
    loss, metrics = policy_loss(logprobs, torch.zeros(1, 1), torch.tensor([[advantage]]), mask, 0.2, 1)
    (gradient,) = torch.autograd.grad(loss, logprobs)
    return float(loss.detach()), float(gradient), float(metrics["clipfrac"])


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient", "clipped"),
    [
        (1.5, 2.0, -2.4, 0.0, 1.0),  # good action, already far up: 1.2 · 2, no further push
        (0.6, -1.5, 1.2, 0.0, 1.0),  # bad action, already far down: .8 · 1.5, no further push
        (0.6, 2.0, -1.2, -1.2, 0.0),  # good action made rarer: pushed back up
        (1.5, -1.5, 2.25, 2.25, 0.0),  # bad action made likelier: pushed back down
        (1.1, 1.0, -1.1, -1.1, 0.0),  # inside the range: plain policy gradient
    ],
)
def test_the_clipping_cases(ratio: float, advantage: float, loss: float, gradient: float, clipped: float) -> None:
    assert one_token(ratio, advantage) == pytest.approx((loss, gradient, clipped), rel=1e-5)


def test_policy_metrics_ignore_padding() -> None:
    mask = torch.tensor([[True, False]])
    logprobs, old = torch.tensor([[math.log(1.5), 50.0]]), torch.tensor([[0.0, -50.0]])
    loss, metrics = policy_loss(logprobs, old, torch.tensor([[2.0, 1e6]]), mask, 0.2, 1)
    assert float(loss) == pytest.approx(-2.4)
    assert float(metrics["ratio"]) == pytest.approx(1.5)
    assert float(metrics["approxkl"]) == pytest.approx(0.5 * math.log(1.5) ** 2)


def test_a_pad_that_is_not_a_number_does_no_harm() -> None:
    logprobs = torch.tensor([[0.1, math.nan]], requires_grad=True)
    mask = torch.tensor([[True, False]])
    loss, _ = policy_loss(logprobs, torch.zeros(1, 2), torch.ones(1, 2), mask, 0.2, 1)
    (gradient,) = torch.autograd.grad(loss, logprobs)
    assert torch.isfinite(loss) and gradient[0, 1] == 0


@pytest.mark.parametrize(
    ("value", "old", "target", "clip_range", "loss", "clipped"),
    [
        (1.0, 0.0, 2.0, 0.2, 1.62, 1.0),  # clipped to .2: ½·1.8²
        (1.0, 0.0, 0.0, 0.2, 0.5, 0.0),  # the clipped value would be nearer: the larger error counts, ½·1²
        (1.0, 0.0, 2.0, None, 0.5, 0.0),  # no clipping: ½·1²
        (0.1, 0.0, 1.0, 0.2, 0.405, 0.0),  # inside the range: ½·.9²
    ],
)
def test_value_loss_by_hand(
    value: float, old: float, target: float, clip_range: float | None, loss: float, clipped: float
) -> None:
    mask = torch.ones(1, 1, dtype=torch.bool)
    got, metrics = value_loss(
        torch.tensor([[value]]), torch.tensor([[old]]), torch.tensor([[target]]), mask, clip_range, 1
    )
    assert (float(got), float(metrics["value_clipfrac"])) == pytest.approx((loss, clipped))
