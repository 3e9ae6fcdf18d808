"""How often an update steps, on which responses, and by what each loss is divided."""

import pytest
import torch
from torch import Tensor

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
