"""The losses against numbers worked out on paper. Where TRL is right (the clipped loss, the value loss) the figures are its own too."""

import math

import pytest
import torch
from torch import Tensor

from trainer.ppo.losses import (
    ClippedLoss,
    LeastSquares,
    PolicyTokens,
    StepMean,
    TokenPolicyLoss,
    policy_loss,
    value_loss,
)
from trainer.spec import PolicyLossSpec

ONE = torch.ones(1, 1, dtype=torch.bool)


def token_losses(
    spec: PolicyLossSpec, logprobs: Tensor, old: Tensor, advantages: Tensor, mask: Tensor, beta: float | None = None
) -> ClippedLoss:
    """The loss of each token; a loss of tokens does not read the reference."""
    kind = policy_loss(spec, beta)
    assert isinstance(kind, TokenPolicyLoss)
    return kind.masked(PolicyTokens(logprobs, old, torch.full_like(old, math.nan), advantages, mask))


def one_token(ratio: float, advantage: float, **options: object) -> tuple[float, float, bool]:
    """Loss, its gradient in log π, and whether a clip decided, where π_old(a) = ½."""
    logprobs = torch.tensor([[math.log(0.5 * ratio)]], requires_grad=True)
    spec = PolicyLossSpec.model_validate(options)
    loss, clipped = token_losses(spec, logprobs, torch.tensor([[math.log(0.5)]]), torch.tensor([[advantage]]), ONE)
    (gradient,) = torch.autograd.grad(loss.sum(), logprobs)
    return float(loss.detach()), float(gradient), clipped is not None and bool(clipped)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient", "clipped"),
    [
        (1.5, 2.0, -2.4, 0.0, True),  # good action, already far up: 1.2 · 2, no further push
        (0.6, -1.5, 1.2, 0.0, True),  # bad action, already far down: .8 · 1.5, no further push
        (0.6, 2.0, -1.2, -1.2, False),  # good action made rarer: pushed back up
        (1.5, -1.5, 2.25, 2.25, False),  # bad action made likelier: pushed back down
        (1.1, 1.0, -1.1, -1.1, False),  # inside the range: plain policy gradient
    ],
)
def test_the_clipping_cases(ratio: float, advantage: float, loss: float, gradient: float, clipped: bool) -> None:
    assert one_token(ratio, advantage) == pytest.approx((loss, gradient, clipped), rel=1e-5)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient", "clipped"),
    [
        (1.25, 2.0, -2.5, -2.5, False),  # between 1.2 and 1.28: clip-higher lets it go on
        (1.5, 2.0, -2.56, 0.0, True),  # 1.28 · 2
        (0.75, -1.0, 0.8, 0.0, True),  # the lower side is as before
    ],
)
def test_clip_higher_moves_the_upper_side_only(
    ratio: float, advantage: float, loss: float, gradient: float, clipped: bool
) -> None:
    assert one_token(ratio, advantage, clip_range_high=0.28) == pytest.approx((loss, gradient, clipped), rel=1e-5)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient", "clipped"),
    [
        (4.0, -1.5, 4.5, 0.0, True),  # at most −c·A = 3 · 1.5, where the plain loss is 6
        (2.0, -1.5, 3.0, 3.0, False),  # below it: as without
        (4.0, 1.5, -1.8, 0.0, True),  # a good action: the first clip alone
    ],
)
def test_dual_clip_bounds_the_loss_of_bad_actions(
    ratio: float, advantage: float, loss: float, gradient: float, clipped: bool
) -> None:
    assert one_token(ratio, advantage, dual_clip=3.0) == pytest.approx((loss, gradient, clipped), rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "loss", "gradient"),
    [
        ("unclipped", -3.0, -3.0),  # −2 · 1.5, and d/d log π = −A·ρ
        ("reinforce", -2 * math.log(0.75), -2.0),  # −A·log π, and d/d log π = −A whatever ρ
        ("kl_penalty", -3.0 + 4 * (0.5 - math.log(1.5)), -3.0 + 4 * 0.5),  # + β·((ρ − 1) − log ρ); d = β·(ρ − 1)
    ],
)
def test_the_losses_without_a_clip(kind: str, loss: float, gradient: float) -> None:
    options = {"kind": kind} | ({"beta": 4.0} if kind == "kl_penalty" else {})
    assert one_token(1.5, 2.0, **options) == pytest.approx((loss, gradient, False), rel=1e-5)


@pytest.mark.parametrize(
    ("ratio", "advantage", "weight", "clipped"),
    [
        (1.5, 2.0, 1.2, True),  # bounded, and still pushed up
        (0.6, -1.5, 0.8, True),  # bounded, and still pushed down
        (0.6, 2.0, 0.8, True),
        (1.1, -1.0, 1.1, False),  # inside the range: the ratio itself
    ],
)
def test_cispo_bounds_the_weight_and_keeps_the_gradient(
    ratio: float, advantage: float, weight: float, clipped: bool
) -> None:
    loss, gradient = -advantage * weight * math.log(0.5 * ratio), -advantage * weight
    assert one_token(ratio, advantage, kind="cispo") == pytest.approx((loss, gradient, clipped), rel=1e-5)


def test_cispo_without_a_lower_bound_keeps_small_ratios() -> None:
    options = {"kind": "cispo", "clip_range": 1.0, "clip_range_high": 4.0}
    assert one_token(0.01, 2.0, **options)[1:] == pytest.approx((-0.02, False), rel=1e-5)
    assert one_token(6.0, 2.0, **options)[1:] == pytest.approx((-10.0, True), rel=1e-5)


def test_least_squares_by_hand() -> None:
    # β = 2; Σ log π/π_ref = .1 + .2 and −.4; A = 1 and −1: (.6 − 1)² = .16 and (−.8 + 1)² = .04
    logprobs = torch.tensor([[-1.0, -2.0], [-3.0, 55.0]], requires_grad=True)
    reference, mask = torch.tensor([[-1.1, -2.2], [-2.6, -77.0]]), torch.tensor([[True, True], [True, False]])
    advantages, old = torch.tensor([[1.0, 1.0], [-1.0, 0.0]]), torch.full_like(reference, math.nan)
    kind = LeastSquares(PolicyLossSpec(kind="least_squares", beta=2.0), old_kl_beta=55.0)
    loss = kind.of_responses(PolicyTokens(logprobs, old, reference, advantages, mask))
    torch.testing.assert_close(loss, torch.tensor([0.16, 0.04]))
    (gradient,) = torch.autograd.grad(loss.sum(), logprobs)
    torch.testing.assert_close(gradient, torch.tensor([[-1.6, -1.6], [0.8, 0.0]]))  # 2·β·(β·Σ − A) at every token


def test_nothing_comes_from_outside_the_mask() -> None:
    mask = torch.tensor([[True, False]])
    logprobs, old = torch.tensor([[math.log(1.5), 50.0]]), torch.tensor([[0.0, -50.0]])
    loss, clipped = token_losses(PolicyLossSpec(), logprobs, old, torch.tensor([[2.0, 1e6]]), mask)
    assert loss[0].tolist() == pytest.approx([-2.4, 0.0])
    assert clipped is not None and clipped[0].tolist() == [True, False]


@pytest.mark.parametrize("kind", ["clipped", "unclipped", "kl_penalty"])
def test_a_pad_that_is_not_a_number_does_no_harm(kind: str) -> None:
    logprobs = torch.tensor([[0.1, math.nan]], requires_grad=True)
    mask = torch.tensor([[True, False]])
    spec = PolicyLossSpec.model_validate({"kind": kind})
    loss, _ = token_losses(spec, logprobs, torch.zeros(1, 2), torch.ones(1, 2), mask)
    (gradient,) = torch.autograd.grad(loss.sum(), logprobs)
    assert torch.isfinite(loss).all() and gradient[0, 1] == 0


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
    got, was_clipped = value_loss(
        torch.tensor([[value]]), torch.tensor([[old]]), torch.tensor([[target]]), ONE, clip_range
    )
    assert (float(got), float(was_clipped)) == pytest.approx((loss, clipped))


@pytest.mark.parametrize("clip_range", [0.2, None])
def test_the_value_loss_outside_the_mask_is_nothing(clip_range: float | None) -> None:
    values = torch.tensor([[1.0, math.nan]], requires_grad=True)
    mask, returns = torch.tensor([[True, False]]), torch.tensor([[2.0, 0.0]])
    loss, clipped = value_loss(values, torch.tensor([[1.0, 7.0]]), returns, mask, clip_range)
    (gradient,) = torch.autograd.grad(loss.sum(), values)
    assert (loss.tolist(), gradient.tolist(), clipped.tolist()) == ([[0.5, 0.0]], [[-1.0, 0.0]], [[False, False]])


LENGTHS = torch.tensor([1, 3])
LOSSES = torch.tensor([[2.0, 9.0, 9.0], [1.0, 4.0, 7.0]])
MASK = torch.tensor([[True, False, False], [True, True, True]])


@pytest.mark.parametrize(
    ("kind", "mean"),
    [
        ("token_mean", 3.5),  # (2 + 1 + 4 + 7) / 4
        ("sequence_mean", 3.0),  # (2 + (1 + 4 + 7) / 3) / 2
        ("fixed_length", 0.7),  # (2 + 1 + 4 + 7) / (2 · 10)
    ],
)
def test_each_average_by_hand_whole_and_in_parts(kind: str, mean: float) -> None:
    average = StepMean.over(LENGTHS, kind, max_new_tokens=10)  # type: ignore[arg-type]
    assert float(average.share(LOSSES, MASK, slice(0, 2))) == pytest.approx(mean)
    parts = [average.share(LOSSES[:1, :1], MASK[:1, :1], slice(0, 1)), average.share(LOSSES[1:], MASK[1:], slice(1, 2))]
    assert float(sum(parts)) == pytest.approx(mean)


@pytest.mark.parametrize(("adapted", "loss"), [(None, -2.905465), (3.0, -2.716395)])
def test_kl_penalty_uses_the_adapted_beta(adapted: float | None, loss: float) -> None:
    """ρ = 1.5, A = 2: −3 + β·(½ − log 1.5), where ½ − log 1.5 = .0945349."""
    spec = PolicyLossSpec(kind="kl_penalty", beta=1.0)
    logprobs, old = torch.tensor([[math.log(0.75)]]), torch.tensor([[math.log(0.5)]])
    found, _ = token_losses(spec, logprobs, old, torch.tensor([[2.0]]), ONE, adapted)
    assert float(found) == pytest.approx(loss, rel=1e-6)


def test_gspo_by_hand_with_responses_of_two_lengths() -> None:
    """The ratio of a response is the geometric mean: √(2.25·1) = 1.5, clipped to 1.2; of one token: its own 1.1."""
    logprobs = torch.tensor([[math.log(2.25), 0.0], [math.log(1.1), math.nan]], requires_grad=True)
    mask, advantages = torch.tensor([[True, True], [True, False]]), torch.tensor([[2.0, -1.0], [1.0, 0.0]])
    nothing, kind = torch.zeros(2, 2), policy_loss(PolicyLossSpec(kind="gspo"))
    tokens = PolicyTokens(logprobs, nothing, nothing, advantages, mask)
    mean = StepMean.over(torch.tensor([2, 1]), kind.spec.averages_by, 0)
    loss, clipped = kind.share(tokens, 1.0, mean, slice(0, 2))
    assert float(loss.detach()) == pytest.approx(((-2.4 + 1.5) / 2 - 1.1) / 2)
    assert clipped is not None and clipped.tolist() == [[True, False], [False, False]]
    (gradient,) = torch.autograd.grad(loss, logprobs)
    # each token's own advantage: the clip holds the first one, the second one is pushed down; the pad has nothing
    torch.testing.assert_close(gradient, torch.tensor([[0.0, 1.5 / 4], [-1.1 / 2, 0.0]]))
    gaps = torch.where(mask, kind.measure(tokens)["sequence_gap"], nothing)
    torch.testing.assert_close(gaps, torch.tensor([[math.log(1.5)] * 2, [math.log(1.1), 0.0]]))
