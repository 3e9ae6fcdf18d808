"""The losses on pairs: numbers worked out by hand, the definitions of the papers, and their gradients."""

import math
from typing import Any

import pytest
import torch

from tests.trainer.spec.test_spec import problems_of
from trainer.spec import DPOSpec
from trainer.spec.pair_losses import PAIR_LOSSES
from trainer.stages import dpo
from trainer.stages.pair_losses import LOSSES, PairLogprobs, log_odds


def pairs_of(a: list[float], b: list[float], targets: list[float], dtype: torch.dtype = torch.float32) -> PairLogprobs:
    return PairLogprobs(*(torch.tensor(values, dtype=dtype) for values in (a, b, targets)))


def spec_of(**fields: Any) -> DPOSpec:
    return DPOSpec.model_validate(fields)


def test_every_loss_has_an_implementation() -> None:
    assert set(LOSSES) == set(PAIR_LOSSES)


def test_the_sigmoid_loss_by_hand() -> None:
    pairs = pairs_of([4.0] * 3, [-1.0] * 3, [1.0, 0.0, 0.5])
    right, wrong = math.log(1 + math.exp(-0.5)), math.log(1 + math.exp(0.5))  # β·Δ = 0.5
    plain = pairs.losses(spec_of(beta=0.1))
    assert plain.tolist() == pytest.approx([right, wrong, (right + wrong) / 2])
    smooth = pairs.losses(spec_of(beta=0.1, label_smoothing=0.1))
    assert smooth.tolist() == pytest.approx([right + 0.05, wrong - 0.05, (right + wrong) / 2])  # wrong − right = 0.5


def test_the_ipo_loss_by_hand() -> None:
    pairs = pairs_of([3.0] * 3, [0.0] * 3, [1.0, 0.0, 0.5])
    assert pairs.losses(spec_of(beta=0.5, loss="ipo")).tolist() == [4.0, 16.0, 10.0]  # (3 − 1)², (3 + 1)², half of each


def test_the_sigmoid_gradient_is_the_papers() -> None:
    """Rafailov et al. 2023, §4: −β·σ(−βΔ) on the preferred side's log-ratio, the opposite on the other's."""
    ratios = torch.tensor([2.0, -3.0], requires_grad=True)
    PairLogprobs(ratios[:1], ratios[1:], torch.ones(1)).losses(spec_of(beta=0.1)).sum().backward()
    pull = 0.1 / (1 + math.exp(0.5))
    assert ratios.grad is not None and ratios.grad.tolist() == pytest.approx([-pull, pull])


def test_the_simpo_loss_by_hand() -> None:
    """β = 2 and γ = 1 at Δ = 0.5 leave log σ(0) = −ln 2. The other verdict has log σ(−2), and a tie the mean."""
    pairs = pairs_of([-0.5] * 3, [-1.0] * 3, [1.0, 0.0, 0.5])
    expected = [0.6931471806, 2.1269280110, 1.4100375958]
    assert pairs.losses(spec_of(loss="simpo", beta=2)).tolist() == pytest.approx(expected, abs=1e-6)
    smooth = pairs.losses(spec_of(loss="simpo", beta=2, label_smoothing=0.25)).tolist()  # ¾ and ¼ of the two
    assert smooth == pytest.approx([1.0515923882, 1.7684828034, 1.4100375958], abs=1e-6)


def test_the_simpo_gradient_is_the_papers() -> None:
    """Meng et al. 2024, §2.4: −β·σ(−(βΔ − γ)) on the mean log-probability of the preferred side. Here β = 2.5 and γ = 0.5."""
    sides = torch.tensor([-0.7, -0.9], dtype=torch.float64, requires_grad=True)
    spec = spec_of(loss="simpo", beta=2.5, target_margin=0.5)
    PairLogprobs(sides[:1], sides[1:], torch.ones(1)).losses(spec).sum().backward()
    assert sides.grad is not None and sides.grad.tolist() == pytest.approx([-1.25, 1.25], abs=1e-12)  # βΔ = γ


def test_the_orpo_loss_by_hand() -> None:
    """p = ½ and ⅓ have odds 1 and ½. σ(ln 2) = ⅔ and σ(−ln 2) = ⅓, so the ranking costs ln 1.5 or ln 3, weighted by ½."""
    pairs = pairs_of([-math.log(2)] * 3, [-math.log(3)] * 3, [1.0, 0.0, 0.5])
    expected = [0.6931471806 + 0.2027325541, 1.0986122887 + 0.5493061443, 1.2718990838]
    assert pairs.losses(spec_of(loss="orpo", odds_ratio_weight=0.5)).tolist() == pytest.approx(expected, abs=1e-6)


def test_the_orpo_gradient_is_the_papers() -> None:
    """Hong et al. 2024, eq. 8 to 10: δ·h with δ = 1/(1 + odds ratio), and h = ∇log p(y) / (1 − p(y)) of each side."""
    p, q = 0.6, 0.2  # odds 1.5 and 0.25, whose ratio is 6: δ = 1/7
    sides = torch.tensor([math.log(p), math.log(q)], dtype=torch.float64, requires_grad=True)
    PairLogprobs(sides[:1], sides[1:], torch.ones(1)).losses(spec_of(loss="orpo")).sum().backward()
    assert sides.grad is not None
    assert sides.grad.tolist() == pytest.approx([-1 - 0.1 / 7 / 0.4, 0.1 / 7 / 0.8], abs=1e-12)


def test_log_odds_are_exact_near_0_and_finite_at_1() -> None:
    logprobs = torch.tensor([-40.0, -1e-3, -1e-5, 0.0], requires_grad=True)
    odds = log_odds(logprobs)
    wanted = [-40.0 - math.log1p(-math.exp(-40.0)), *(p - math.log(-math.expm1(p)) for p in (-1e-3, -1e-5))]
    assert odds.tolist()[:3] == pytest.approx(wanted, abs=1e-6, rel=1e-6)
    odds.sum().backward()
    assert odds[3].isfinite() and logprobs.grad is not None and logprobs.grad.isfinite().all()


def test_figures_without_a_reference_have_the_likelihood() -> None:
    """The rewards of `orpo` are log odds: 0 at ½, −ln 2 at ⅓. A tie has half of both sides' log-likelihoods."""
    half, third = -math.log(2), -math.log(3)
    parts = [pairs_of([half, half], [third, third], [1.0, 0.5])]
    values = dpo.figures(parts, spec_of(loss="orpo"))
    assert values["nll"] == pytest.approx((0.6931471806 + 0.8958797346) / 2)
    assert (values["rewards/chosen"], values["rewards/rejected"]) == (
        pytest.approx(0, abs=1e-6), pytest.approx(-0.6931471806)
    )  # fmt: skip
    simpo = dpo.figures(parts, spec_of(loss="simpo", beta=2))
    assert simpo["margin"] == pytest.approx(2 * 0.4054651081) and simpo["nll"] == values["nll"]
    assert "nll" not in dpo.figures(parts, spec_of())


@pytest.mark.parametrize(
    ("loss", "field", "value"),
    [
        ("orpo", "beta", 0.3),
        ("orpo", "label_smoothing", 0.1),
        ("orpo", "target_margin", 0.5),
        ("simpo", "odds_ratio_weight", 0.5),
        ("ipo", "label_smoothing", 0.1),
        ("sigmoid", "target_margin", 0.5),
        ("sigmoid", "odds_ratio_weight", 0.5),
    ],
)
def test_option_of_another_loss_is_refused(loss: str, field: str, value: float) -> None:
    found = problems_of(dpo={"loss": loss, field: value})
    assert f'`{field}` has no effect with `loss` = "{loss}"' in " ".join(found)


def test_simpo_without_beta_is_refused() -> None:
    with pytest.raises(ValueError, match="needs `beta`"):
        spec_of(loss="simpo")
    stored = spec_of(loss="simpo", beta=0.1)
    assert DPOSpec.model_validate(stored.model_dump()) == stored
