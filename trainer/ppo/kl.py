"""Estimates of KL divergences at sampled tokens (Schulman 2020), and the coefficients that weight them. Pure functions."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from trainer.spec import AdaptiveRateSpec, KLSpec, PolicyLossSpec
from trainer.spec.knobs import Origin

Estimator = Literal["k1", "k2", "k3"]
_MOST_FACTORS = 4
"""Factors by which a learning rate that follows the KL rises after one iteration."""


@dataclass(frozen=True)
class KLCoefficients:
    """The coefficients β that hold during one iteration."""

    reference: float
    """β of the KL to the reference, in the reward or in the loss (`ppo.kl.placement`)."""
    old_policy: float
    """β of the KL to the old policy, for `ppo.policy_loss.kind` = "kl_penalty"."""


@dataclass(frozen=True)
class AdaptedCoefficient:
    """A coefficient or a learning rate that a controller changes, beginning with a value that the spec or a live knob has set."""

    value: float
    origin: Origin
    """The setting that the controller began with."""

    @classmethod
    def beginning_with(cls, origin: Origin) -> "AdaptedCoefficient":
        return cls(origin.value, origin)

    def adapted_to(self, value: float) -> "AdaptedCoefficient":
        return replace(self, value=value)

    def under(self, origin: Origin) -> "AdaptedCoefficient":
        """The coefficient under the setting that holds now: itself, or one that begins with the setting if that is another one."""
        return self if origin == self.origin else self.beginning_with(origin)


def kl_estimate(estimator: Estimator, logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Estimate KL(π ‖ π_ref) at tokens sampled from π: k1 = x, k2 = x²/2, k3 = e⁻ˣ − 1 + x, x = log π − log π_ref.

    k1 and k3 are unbiased. k3 is never negative and varies less. k2 is biased, but its plain gradient is the KL's.

    In a reward, the estimate only weights ∇log π, and its own derivative is missing: ∇E_π[k] = E_π[k·∇log π] + E_π[∇k].
    E_π[∇k] is 0 for k1. It is ∇KL(π ‖ π_ref) for k2 and ∇KL(π_ref ‖ π) for k3. Hence k1 in the reward has the gradient of the KL.
    k3 has ∇KL(π ‖ π_ref) − ∇KL(π_ref ‖ π), and k2 has E_π[½x²·∇log π]. Both are of second order in x, where the KL's is of
    first order. The spec therefore accepts only k1 in the reward.
    """
    x = logprobs - reference_logprobs
    match estimator:
        case "k1":
            return x
        case "k2":
            return x**2 / 2
        case "k3":
            return torch.expm1(-x) + x


def kl_loss(
    estimator: Estimator, logprobs: Tensor, reference_logprobs: Tensor, old_logprobs: Tensor, unbiased_gradient: bool
) -> Tensor:
    """The KL estimate as a loss, at tokens sampled from π_old.

    With `unbiased_gradient`, its expectation over π_old has the gradient of the exact KL of the token's distribution:

    - k1 and k3 are weighted by ρ = π/π_old with the gradient through both, since E_old[ρ·k] = KL;
    - k2 is weighted by a constant ρ, since E_π[x·∇log π] = ∇KL.

    Without it, the gradient is the estimate's plain derivative, as in TRL, OpenRLHF and DeepSeek's GRPO. At π = π_old, that
    of k2 is on average the KL's own, and that of k3 is the gradient of KL(π_ref ‖ π) (verl #2953, OpenRLHF #1309).

    In both cases the states are constants. The gradient leaves out how a token changes the KL of later tokens, which k1 in
    the reward includes.
    """
    estimate = kl_estimate(estimator, logprobs, reference_logprobs)
    if not unbiased_gradient:
        return estimate
    ratio = (logprobs - old_logprobs).exp()
    match estimator:
        case "k1" | "k3":
            return ratio * estimate
        case "k2":
            return ratio.detach() * estimate


def old_policy_kl(log_ratio: Tensor) -> Tensor:
    """KL(π_old ‖ π) at tokens sampled from π_old: (ρ − 1) − log ρ, the k3 form, with log ρ = log π − log π_old."""
    return torch.expm1(log_ratio) - log_ratio


def scheduled_coef(spec: KLSpec, iteration: int, iterations: int) -> float:
    """β of an iteration (0-based) for the controllers without a memory: `final_coef` is reached at the last iteration."""
    progress = iteration / max(1, iterations - 1)
    match spec.controller:
        case "linear":
            return spec.coef + (spec.final_coef - spec.coef) * progress
        case "cosine":
            return spec.final_coef + (spec.coef - spec.final_coef) * 0.5 * (1 + math.cos(math.pi * progress))
        case "fixed" | "adaptive":
            return spec.coef


def adapted_coef(coef: float, kl: float, responses: int, spec: KLSpec) -> float:
    """β after `responses` responses of mean KL `kl` (nats per response): Ziegler et al. (2019), eq. 4 and 5."""
    error = min(max(kl / spec.target - 1, -0.2), 0.2)
    return coef * (1 + error * responses / spec.horizon)


def adapted_old_kl_beta(beta: float, kl: float, spec: PolicyLossSpec) -> float:
    """β of the KL to the old policy after an iteration that moved it by `kl` nats per token: Schulman et al. (2017), §4."""
    if spec.old_kl_target is None:
        return beta
    if kl < spec.old_kl_target / 1.5:
        return beta / 2
    return beta * 2 if kl > spec.old_kl_target * 1.5 else beta


def adapted_rate(rate: float, kl: float, spec: AdaptiveRateSpec) -> float:
    """The learning rate after an iteration that moved the policy by `kl` nats per token, as in rsl_rl and rl_games.

    Divided by `spec.factor` where kl > 2·target, multiplied by it where kl < target/2, and kept within the bounds. The KL of a
    small step grows with the square of the rate. A rate that is far too low is therefore multiplied by the factor as often as
    reaches the target, `_MOST_FACTORS` times at most. A policy that did not move at all shows no such law: once.
    """
    if kl > 2 * spec.target:
        return max(rate / spec.factor, spec.minimum)
    if kl >= spec.target / 2:
        return rate
    missing = math.log(spec.target / kl) / (2 * math.log(spec.factor)) if kl > 0 else 1
    return min(rate * spec.factor ** min(max(1, math.floor(missing)), _MOST_FACTORS), spec.maximum)
