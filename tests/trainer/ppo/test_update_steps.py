"""How often an update steps, on which responses, and by what each loss is divided."""

import math

import pytest
import torch
from torch import Tensor

from tests.trainer.ppo.tools import NO_CRITIC, cast_for, iterate, scored_by_hand, spec_of, weights_of
from tests.trainer.stage_tools import (
    context_of,
    four_models,
    logprobs_alone,
    new_codec,
    respond_and_learn,
    scores_alone,
)
from trainer.models import Model
from trainer.optim.learner import Learner
from trainer.ppo.experience import Experience
from trainer.ppo.iteration_log import update_metrics
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import MicroBatch, Minibatch
from trainer.ppo.update import update
from trainer.rollout.context import PPOModels
from trainer.spec import PPOSpec

PROMPTS = [[5], [6, 7, 8], [9, 10], [11, 12, 13, 14]]
STILL = 1e-12
"""A learning rate too small to move a weight: every step then sees the same models."""


class Recording(Learner):
    """Remembers the gradient's norm at every step."""

    def clip(self, step: int) -> float:
        self.norms = [*getattr(self, "norms", []), super().clip(step)]
        return self.norms[-1]


def updated(
    models: PPOModels, prompts: list[list[int]], iteration: int = 0, **changes: object
) -> tuple[Experience, dict[str, float], Recording, Recording]:
    defaults = {"steps": 9, "batch_size": len(prompts), "max_new_tokens": 9, "critic": {"learning_rate": STILL}}
    spec = PPOSpec.model_validate({"learning_rate": STILL, **defaults, **changes})
    experience = respond_and_learn(models, prompts, new_codec(), spec, seed=5)
    policy, critic = Recording(models.policy, spec, 9), Recording(models.critic, spec, 9)
    learners = Learners(policy, critic, None)
    updated = update(
        context_of(models, spec), experience, learners, KLCoefficients(spec.kl.coef, spec.policy_loss.beta), iteration
    )
    return experience, update_metrics(updated.history), policy, critic


def norm(model: Model, loss: Tensor) -> float:
    return float(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))]).norm())


def test_every_epoch_takes_one_step_per_minibatch() -> None:
    _, _, policy, critic = updated(four_models(), PROMPTS, epochs=3, minibatches=2)
    for learner in (policy, critic):
        taken = {int(entry["step"]) for entry in learner.optimizer.state_dict()["state"].values()}  # type: ignore[attr-defined]
        assert taken == {6}


def test_every_epoch_takes_all_responses_in_a_new_order() -> None:
    orders = []
    for iteration in range(2):
        _, _, policy, _ = updated(four_models(), PROMPTS, iteration, epochs=3, minibatches=4)
        orders += [tuple(policy.norms[first : first + 4]) for first in (0, 4, 8)]  # a response has its own norm
    assert {len(set(order)) for order in orders} == {4}
    assert len({tuple(sorted(order)) for order in orders}) == 1
    assert len(set(orders[:3])) == 3 and len(set(orders)) > 3


def test_each_minibatch_is_averaged_over_its_own_tokens() -> None:
    # two responses of unlike length, one a minibatch: a division by the batch's tokens gives other figures
    models = four_models()
    experience, metrics, policy, critic = updated(models, PROMPTS[:2], epochs=1, minibatches=2)
    policy_norms, critic_norms, errors = [], [], []
    for row, (prompt, response) in enumerate(zip(PROMPTS, experience.scored.responses, strict=False)):
        length = len(response.ids)
        advantages, returns = experience.advantages_BR[row, :length], experience.returns_BR[row, :length]
        policy_norms.append(
            norm(models.policy, -(advantages * logprobs_alone(models.policy, prompt, response.ids)).mean())
        )
        error = 0.5 * ((scores_alone(models.critic, prompt, response.ids)[:-1] - 0.25 - returns) ** 2).mean()
        critic_norms.append(norm(models.critic, error))
        errors.append(float(error.detach()))
    assert len({len(response.ids) for response in experience.scored.responses}) == 2
    assert sorted(policy.norms) == pytest.approx(sorted(policy_norms), rel=1e-3)
    assert sorted(critic.norms) == pytest.approx(sorted(critic_norms), rel=1e-3)
    assert (metrics["loss/value_avg"], metrics["val/ratio"]) == pytest.approx((sum(errors) / 2, 1), rel=1e-4)


def test_update_takes_both_coefficients_of_the_iteration() -> None:
    """β of the old policy and β of the reference, adapted to 4 and .5, train as if the spec had these values."""
    loss = {"placement": "loss", "estimator": "k2"}

    def trained(beta: float, coef: float, coefficients: KLCoefficients) -> Tensor:
        spec = spec_of(policy_loss={"kind": "kl_penalty", "beta": beta}, kl=loss | {"coef": coef})
        cast = cast_for(spec)
        experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
        update(context_of(cast, spec), experience, Learners.build(cast, spec), coefficients, 0)
        return weights_of(cast.policy)

    adapted = trained(1.0, 0.1, KLCoefficients(reference=0.5, old_policy=4.0))
    assert torch.equal(adapted, trained(4.0, 0.5, KLCoefficients(reference=0.5, old_policy=4.0)))
    assert not torch.equal(adapted, trained(1.0, 0.1, KLCoefficients(reference=0.5, old_policy=1.0)))
    assert not torch.equal(adapted, trained(1.0, 0.1, KLCoefficients(reference=0.1, old_policy=4.0)))


def test_entropy_bonus_raises_the_entropy() -> None:
    """Without advantages and a KL, the bonus is the only term of the loss."""
    spec = spec_of(epochs=6, policy_loss={"entropy_coef": 0.1}, kl={"coef": 0.0}, max_grad_norm=1e9)
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    experience.advantages_BR.zero_()
    history = update(
        context_of(cast, spec), experience, Learners.build(cast, spec), KLCoefficients(0.0, 1.0), 0
    ).history
    assert history[0]["policy_loss"] == 0.0
    assert (
        history[-2]["entropy"] > history[0]["entropy"] + 0.01 and history[-1]["entropy"] > history[1]["entropy"] + 0.01
    )


def test_value_head_in_warm_up_learns_with_its_coefficient() -> None:
    def norms(coef: float) -> list[float]:
        critic = {"kind": "value_head", "warmup_steps": 1, "coef": coef}
        spec = spec_of(epochs=1, minibatches=1, critic=critic, max_grad_norm=1e9)
        cast = cast_for(spec)
        experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
        before = weights_of(cast.policy)
        updated = update(context_of(cast, spec), experience, Learners.build(cast, spec), KLCoefficients(0.05, 1.0), 0)
        assert torch.equal(weights_of(cast.policy), before)  # only the head learns
        return [entry["grad_norm"] for entry in updated.history]

    assert norms(0.25) == pytest.approx([norm / 4 for norm in norms(1.0)], rel=1e-5)


def test_value_loss_is_a_mean_over_tokens_always() -> None:
    critics = []
    for aggregation in ("token_mean", "sequence_mean"):
        cast, _, _ = iterate(spec_of(epochs=1, policy_loss={"aggregation": aggregation}))
        critics.append((weights_of(cast.critic), weights_of(cast.policy)))
    (one, policy), (other, other_policy) = critics
    assert torch.equal(one, other) and not torch.equal(policy, other_policy)


def by_hand(**changes: object) -> tuple[Minibatch, MicroBatch]:
    """One step over responses of one token and of three, with a KL to the reference of .6 and of .1, .2, .3."""
    spec, nothing = spec_of(**changes), torch.zeros(2, 3)
    scored = scored_by_hand([[0.6], [0.1, 0.2, 0.3]], [0.0, 0.0], [True, True])
    advantages, returns = torch.tensor([[2.0, 0.0, 0.0], [-1.0] * 3]), torch.tensor([[2.0, 0.0, 0.0], [1.0] * 3])
    experience = Experience(scored, torch.zeros(2), nothing, nothing, advantages, returns)
    minibatch = Minibatch.select(experience, [0, 1], spec, KLCoefficients(reference=2.0, old_policy=1.0))
    return minibatch, MicroBatch.select(experience, [0, 1])


@pytest.mark.parametrize(
    ("aggregation", "policy", "kl", "entropy"),
    [
        ("token_mean", 0.25, 0.3, 3.5),  # (−2 + 3) / 4, (.6 + .6) / 4 and (2 + 12) / 4
        ("sequence_mean", -0.5, 0.4, 3.0),  # (−2 + 3/3) / 2, (.6 + .6/3) / 2 and (2 + 12/3) / 2
        ("fixed_length", 1 / 18, 1.2 / 18, 14 / 18),  # nine tokens may be drawn for each of the two
    ],
)
def test_aggregation_holds_for_every_term_of_the_loss(
    aggregation: str, policy: float, kl: float, entropy: float
) -> None:
    """The ratio is 1 everywhere, so the loss of a token is −A. The metric of the entropy is a mean over tokens always."""
    in_loss = {"placement": "loss", "estimator": "k1", "unbiased_gradient": True}
    loss_spec = {"aggregation": aggregation, "entropy_coef": 0.5}
    minibatch, part = by_hand(policy_loss=loss_spec, kl=in_loss, advantage=NO_CRITIC)
    entropy_BR = torch.tensor([[2.0, 9.0, 9.0], [1.0, 4.0, 7.0]])
    logprobs_BR = minibatch.experience.scored.logprobs_BR
    loss, metrics, _ = minibatch._policy_terms(logprobs_BR, entropy_BR, part, torch.tensor([0, 1]))
    found = [float(value) for value in (loss, metrics["policy_loss"], metrics["kl_loss"], metrics["entropy"])]
    assert found == pytest.approx([policy + 2 * kl - 0.5 * entropy, policy, kl, 3.5])


def test_value_clip_fraction_is_a_mean_over_tokens_always() -> None:
    """From an old value of 0, clipped at .2: ½·1.8² for the first response, ½·.9² for each of the other three tokens."""
    minibatch, part = by_hand(policy_loss={"aggregation": "sequence_mean"})
    values_BR = torch.tensor([[1.0, 0.0, 0.0], [0.1, 0.1, 0.1]])
    loss, metrics = minibatch._value_terms(values_BR, part, torch.tensor([0, 1]))
    assert (float(loss), float(metrics["value_clipfrac"])) == pytest.approx((0.70875, 0.25))  # (1.62 + 3 · .405) / 4


def test_old_kl_is_measured_from_the_old_policy_by_hand() -> None:
    """Where ρ = 1.5, (ρ − 1) − log ρ = .0945349. From the new policy it would be .0721318."""
    minibatch, part = by_hand(policy_loss={"kind": "kl_penalty"})
    logprobs_BR = minibatch.experience.scored.logprobs_BR + math.log(1.5)
    _, metrics, _ = minibatch._policy_terms(logprobs_BR, torch.zeros(2, 3), part, torch.tensor([0, 1]))
    assert float(metrics["old_kl"]) == pytest.approx(0.0945349, rel=1e-5)


def test_approxkl_is_half_the_mean_squared_log_ratio() -> None:
    """In the second pass over one minibatch, the policy has moved."""
    spec = spec_of(epochs=2, minibatches=1)
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    updated = update(context_of(cast, spec), experience, Learners.build(cast, spec), KLCoefficients(0.05, 1.0), 0)
    assert updated.last_pass is not None
    log_ratios = (updated.last_pass.logprobs_BR - updated.last_pass.old_logprobs_BR)[experience.scored.batch.mask_BR]
    last = updated.history[1]
    assert last["approxkl"] == pytest.approx(sum(x * x for x in log_ratios.tolist()) / len(log_ratios) / 2, rel=1e-4)
    assert last["ratio"] == pytest.approx(float(log_ratios.exp().mean()), rel=1e-5)
