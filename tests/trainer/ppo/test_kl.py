"""KL estimates and their gradients against exact categorical KL, every token enumerated; the controllers by hand."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from trainer.health import Monitor
from trainer.ppo.kl import (
    Estimator,
    KLCoefficients,
    adapted_coef,
    adapted_old_kl_beta,
    adapted_rate,
    kl_estimate,
    kl_loss,
    old_policy_kl,
)
from trainer.ppo.state import PPOState
from trainer.spec import AdaptiveRateSpec, HealthSpec, KLSpec, PolicyLossSpec, PPOSpec
from trainer.spec.knobs import KnobSetting

LOGITS = torch.tensor([0.3, -0.7, 1.1, 0.0], dtype=torch.float64)
OLD = torch.tensor([0.1, -0.2, 0.9, 0.4], dtype=torch.float64).log_softmax(-1)
REFERENCE = torch.tensor([0.5, 0.5, -0.4, 0.2], dtype=torch.float64).log_softmax(-1)


def initial(spec: PPOSpec) -> PPOState:
    return PPOState.initial(spec, Monitor(HealthSpec(), spec))


def policy() -> tuple[Tensor, Tensor]:
    logits = LOGITS.clone().requires_grad_(True)
    return logits, logits.log_softmax(-1)


def exact(a: Tensor, b: Tensor) -> Tensor:
    """KL(a ‖ b) of log-probabilities over all tokens."""
    return (a.exp() * (a - b)).sum()


def gradient(value: Tensor, logits: Tensor) -> Tensor:
    return torch.autograd.grad(value, logits, retain_graph=True)[0]


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_k1_and_k3_average_to_the_exact_kl(estimator: Estimator) -> None:
    _, own = policy()
    torch.testing.assert_close((own.exp() * kl_estimate(estimator, own, REFERENCE)).sum(), exact(own, REFERENCE))


def test_the_three_estimates_by_hand() -> None:
    # x = ln 2: ln 2, ½·ln²2, ½ − 1 + ln 2
    x = torch.tensor(math.log(2.0)), torch.tensor(0.0)
    found = [float(kl_estimate(name, *x)) for name in ("k1", "k2", "k3")]  # type: ignore[arg-type]
    assert found == pytest.approx([0.693147, 0.240227, 0.193147], abs=1e-6)


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
def test_kl_loss_expected_gradient_is_the_kl_gradient(estimator: Estimator) -> None:
    logits, own = policy()
    loss = (OLD.exp() * kl_loss(estimator, own, REFERENCE, OLD, unbiased_gradient=True)).sum()
    torch.testing.assert_close(gradient(loss, logits), gradient(exact(own, REFERENCE), logits))


@pytest.mark.parametrize("distance", [0.02, 0.1, 0.25])
def test_in_a_reward_only_k1_has_the_gradient_of_the_kl(distance: float) -> None:
    """An estimate in the reward weighs ∇log π. k1 gives ∇KL, k3 ∇KL − ∇KL(π_ref ‖ π), and k2 a second-order term."""
    logits, own = policy()
    near = (LOGITS + distance * torch.tensor([1.0, -1.0, 0.5, 0.3])).log_softmax(-1)
    weighed = {
        name: gradient((own.detach().exp() * kl_estimate(name, own, near).detach() * own).sum(), logits)
        for name in ("k1", "k2", "k3")
    }  # type: ignore[var-annotated]
    exact_gradient, reverse = gradient(exact(own, near), logits), gradient(exact(near, own), logits)
    torch.testing.assert_close(weighed["k1"], exact_gradient)
    torch.testing.assert_close(weighed["k3"], exact_gradient - reverse)
    assert float(weighed["k3"].norm() / exact_gradient.norm()) < distance
    assert float(weighed["k2"].norm() / exact_gradient.norm()) < distance


def test_kl_plain_gradient_of_k1_is_zero_and_of_k3_is_reverse_kl() -> None:
    """The plain derivative of k2 is the gradient of the KL itself."""
    logits, own = policy()
    on_policy = own.detach().exp()
    plain = {
        name: gradient((on_policy * kl_loss(name, own, REFERENCE, own.detach(), False)).sum(), logits)
        for name in ("k1", "k2", "k3")
    }  # type: ignore[var-annotated]
    torch.testing.assert_close(plain["k1"], torch.zeros_like(LOGITS))
    torch.testing.assert_close(plain["k2"], gradient(exact(own, REFERENCE), logits))
    torch.testing.assert_close(plain["k3"], gradient(exact(REFERENCE, own), logits))


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_weighed_by_the_ratio_the_value_is_unbiased_too(estimator: Estimator) -> None:
    _, own = policy()
    loss = (OLD.exp() * kl_loss(estimator, own, REFERENCE, OLD, unbiased_gradient=True)).sum()
    torch.testing.assert_close(loss, exact(own, REFERENCE))


def test_old_policy_kl_and_gradient_are_unbiased() -> None:
    logits, own = policy()
    estimate = (OLD.exp() * old_policy_kl(own - OLD)).sum()
    torch.testing.assert_close(estimate, exact(OLD, own))
    torch.testing.assert_close(gradient(estimate, logits), gradient(exact(OLD, own), logits))


def coefs(**options: object) -> list[float]:
    spec = PPOSpec.model_validate({"steps": 5, "kl": {"coef": 0.4, **options}})
    return [initial(spec).kl_coefficients(spec, iteration).reference for iteration in range(5)]


def test_scheduled_coefficients_by_hand() -> None:
    assert coefs() == [0.4] * 5
    assert coefs(controller="linear", final_coef=0.2) == pytest.approx([0.4, 0.35, 0.3, 0.25, 0.2])
    # .2 + .2·½(1 + cos πp)
    cosine = [0.4, 0.370711, 0.3, 0.229289, 0.2]
    assert coefs(controller="cosine", final_coef=0.2) == pytest.approx(cosine, abs=1e-6)


@pytest.mark.parametrize(
    ("kl", "expected"),
    [
        (6.6, 0.1 * (1 + 0.1 * 0.02)),  # 10 % above the target, 200 of 10,000 responses
        (60.0, 0.1 * (1 + 0.2 * 0.02)),  # never more than 20 %
        (0.0, 0.1 * (1 - 0.2 * 0.02)),
        (6.0, 0.1),
    ],
)
def test_the_adaptive_controller_by_hand(kl: float, expected: float) -> None:
    assert adapted_coef(0.1, kl, 200, KLSpec(controller="adaptive", target=6.0, horizon=10_000)) == pytest.approx(
        expected
    )


@pytest.mark.parametrize(("kl", "expected"), [(0.01, 1.5), (0.0199, 1.5), (0.0201, 3.0), (0.04, 3.0), (0.0451, 6.0)])
def test_beta_to_the_old_policy_halves_and_doubles(kl: float, expected: float) -> None:
    # target .03: halved below .02, doubled above .045
    assert adapted_old_kl_beta(3.0, kl, PolicyLossSpec(kind="kl_penalty", old_kl_target=0.03)) == expected
    assert adapted_old_kl_beta(3.0, kl, PolicyLossSpec(kind="kl_penalty")) == 3.0


def test_kl_betas_stay_constant_during_critic_warm_up() -> None:
    spec = PPOSpec.model_validate(
        {
            "kl": {"controller": "adaptive"},
            "policy_loss": {"kind": "kl_penalty", "old_kl_target": 0.02},
            "critic": {"warmup_steps": 2},
        }
    )
    state = initial(spec)
    for iteration in range(2):
        state.adapt(spec, iteration, 0.0, 0.0)
    assert (state.kl_coef.value, state.old_kl_beta.value) == (0.05, 1.0)
    state.adapt(spec, 2, 0.0, 0.0)
    assert state.old_kl_beta.value == 0.5
    assert state.kl_coef.value == pytest.approx(0.05 * (1 - 0.2 * 64 / 10_000))  # 64 responses


def test_coefficient_begins_again_only_under_another_setting() -> None:
    """A resume keeps the adapted value. A branch with another coefficient, or a live knob, begins with the new one."""
    spec, other = PPOSpec(), PPOSpec.model_validate({"kl": {"coef": 0.2}})
    state = initial(spec)
    state.kl_coef = state.kl_coef.adapted_to(0.3)
    state.follow(spec, {})
    assert state.kl_coef.value == 0.3
    state.follow(other, {})
    assert state.kl_coef.value == 0.2
    knob = KnobSetting(value=0.2, replaced=0.05, step=4)
    for step, expected in ((4, 0.2), (4, 0.19), (5, 0.2)):  # set live, the same setting later, and set again
        state.follow(other, {"kl_coef": knob.model_copy(update={"step": step})})
        assert state.kl_coef.value == expected
        state.kl_coef = state.kl_coef.adapted_to(0.19)


def test_beta_begins_again_only_under_another_setting() -> None:
    penalty = {"kind": "kl_penalty", "old_kl_target": 0.02}
    spec, other = (PPOSpec.model_validate({"policy_loss": penalty | {"beta": beta}}) for beta in (1.0, 3.0))
    state = initial(spec)
    state.old_kl_beta = state.old_kl_beta.adapted_to(0.5)
    state.follow(spec, {})
    assert state.old_kl_beta.value == 0.5
    state.follow(other, {})
    assert state.old_kl_beta.value == 3.0


def test_kl_coefficients_are_the_adapted_ones() -> None:
    spec = PPOSpec.model_validate(
        {"kl": {"controller": "adaptive"}, "policy_loss": {"kind": "kl_penalty", "old_kl_target": 0.02}}
    )
    state = initial(spec)
    state.kl_coef, state.old_kl_beta = state.kl_coef.adapted_to(0.3), state.old_kl_beta.adapted_to(8.0)
    assert state.kl_coefficients(spec, 5) == KLCoefficients(0.3, 8.0)
    assert state.kl_coefficients(PPOSpec(), 5) == KLCoefficients(0.05, 8.0)  # fixed: the coefficient of the spec


RATE = AdaptiveRateSpec(target=0.01, factor=1.5, minimum=1e-5, maximum=1e-3)


@pytest.mark.parametrize(
    ("rate", "kl", "expected"),
    [
        (3e-4, 0.021, 2e-4),
        (3e-4, 0.019, 3e-4),
        (3e-4, 0.006, 3e-4),
        (2e-4, 0.004, 3e-4),
        (2e-5, 0.002, 2e-5 * 1.5),  # ln 5 / (2 ln 1.5) = 1.98
        (2e-5, 0.0019, 2e-5 * 2.25),  # 2.05
        (2e-5, 0.0003, 2e-5 * 5.0625),  # 4.3
        (2e-5, 1e-9, 2e-5 * 5.0625),
        (2e-4, 0.0, 3e-4),
        (8e-4, 0.0, 1e-3),
        (1.2e-5, 5.0, 1e-5),
    ],
)
def test_rate_follows_the_kl_within_its_bounds(rate: float, kl: float, expected: float) -> None:
    assert adapted_rate(rate, kl, RATE) == pytest.approx(expected)


def adaptive(critic: dict[str, Any] | None = None, **changes: Any) -> PPOSpec:
    return PPOSpec.model_validate({"lr_schedule": "kl_adaptive", "critic": critic or {}} | changes)


def test_rate_begins_again_only_under_another_setting() -> None:
    """A resume keeps the adapted rate; a branch with another rate, or a live knob, begins with the new one."""
    spec, other = (adaptive(learning_rate=rate) for rate in (1e-4, 4e-4))
    state = initial(spec)
    for kl in (0.1, 0.1, math.nan):  # what is no number changes nothing
        state.adapt(spec, 0, 0.0, kl)
    changed = pytest.approx((1e-4 / 1.5**2, 1e-5 / 1.5**2))
    assert state.peak_rates(spec) == changed
    state.follow(spec, {})
    assert state.peak_rates(spec) == changed
    state.follow(other, {})
    assert state.peak_rates(other) == pytest.approx((4e-4, 1e-5 / 1.5**2))  # the critic's was not set anew
    state.adapt(other, 0, 0.0, 0.0)
    state.follow(other, {"learning_rate": KnobSetting(value=4e-4, replaced=1e-4, step=7)})
    assert state.rate.value == 4e-4
    fixed = PPOSpec(learning_rate=4e-4)
    assert state.peak_rates(fixed) == (4e-4, 1e-5)


def test_live_rate_of_the_critic_is_the_one_that_it_gets() -> None:
    spec = adaptive()
    state = initial(spec)
    for _ in range(5):
        state.adapt(spec, 0, 0.0, 1e-9)
    knob = adaptive({"learning_rate": 2e-4, "schedule": None})
    state.follow(knob, {"critic_learning_rate": KnobSetting(value=2e-4, replaced=1e-5, step=7)})
    assert state.peak_rates(knob)[1] == 2e-4
    state.adapt(knob, 0, 0.0, 0.1)
    assert state.peak_rates(knob)[1] == pytest.approx(2e-4 / 1.5)


def test_rate_of_the_critic_follows_within_the_bounds() -> None:
    spec = adaptive({"learning_rate": 4e-3, "schedule": None}, learning_rate=1e-5)
    state = initial(spec)
    state.adapt(spec, 0, 0.0, 0.0)
    assert state.peak_rates(spec) == pytest.approx((1.5e-5, 6e-3))
    for _ in range(2):
        state.adapt(spec, 0, 0.0, 0.0)
    assert state.peak_rates(spec) == pytest.approx((1e-5 * 1.5**3, 1e-2))
    own = adaptive({"learning_rate": 4e-3, "schedule": "constant"}, learning_rate=1e-5)
    assert state.peak_rates(own)[1] == 4e-3
