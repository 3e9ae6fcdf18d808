"""A value head on the policy's trunk: one pass, one optimizer, and in the warm-up the head alone."""

import pytest
import torch
from torch import Tensor

from tests import tolerance
from tests.trainer.ppo.tools import PROMPTS, cast_for, iterate, spec_of, weights_of
from tests.trainer.stage_tools import new_codec, respond_and_learn
from trainer.models.sequences import completion_logprobs, completion_values
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Minibatch

HEAD = {"critic": {"kind": "value_head", "coef": 0.3}}


def test_value_head_reads_hidden_states_of_the_policy() -> None:
    cast = cast_for(spec_of(**HEAD))
    batch = respond_and_learn(cast, PROMPTS, new_codec(), spec_of(**HEAD), seed=3).scored.batch
    values = completion_values(cast.critic, batch)
    hidden = cast.policy.base_model(torch.tensor([PROMPTS[1]])).last_hidden_state[0, -1]
    torch.testing.assert_close(values[1, 0], cast.critic.score(hidden)[0])
    assert [name for name, _ in cast.critic.named_parameters()] == ["score.weight", "score.bias"]


def test_value_head_gradient_adds_scaled_value_loss_in_one_pass() -> None:
    spec = spec_of(**HEAD, minibatches=1)
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    learners = Learners.build(cast, spec)
    passes: list[int] = []
    watching = cast.policy.base_model.register_forward_hook(lambda *_: passes.append(1))
    Minibatch.select(experience, list(range(6)), spec, KLCoefficients(0.0, 1.0)).accumulate(learners, only_critic=False)
    watching.remove()
    assert len(passes) == 1
    found = [parameter.grad.clone() for parameter in learners.policy.parameters]
    learners.drop_gradients()
    batch, mask, tokens = (
        experience.scored.batch,
        experience.scored.batch.mask_BR,
        experience.scored.batch.mask_BR.sum(),
    )
    logprobs, _ = completion_logprobs(cast.policy, batch, spec.temperature)
    policy_loss = -(experience.advantages_BR * (logprobs - experience.scored.logprobs_BR).exp())[mask].sum() / tokens
    errors = (completion_values(cast.critic, batch) - experience.returns_BR)[mask] ** 2
    (policy_loss + 0.3 * 0.5 * errors.sum() / tokens).backward()
    for ours, parameter in zip(found, learners.policy.parameters, strict=True):
        torch.testing.assert_close(ours, parameter.grad, **tolerance.outputs())


def after(spec_options: dict[str, object]) -> tuple[Tensor, Tensor, dict[str, float]]:
    cast, _, updated = iterate(spec_of(**spec_options))
    return weights_of(cast.policy), weights_of(cast.critic), updated.history[-1]


@pytest.mark.parametrize("kind", ["separate", "value_head"])
def test_value_head_in_warm_up_trains_only_the_critic(kind: str) -> None:
    before = cast_for(spec_of(critic={"kind": kind}))
    policy, critic, last = after({"critic": {"kind": kind, "warmup_steps": 1}})
    assert torch.equal(policy, weights_of(before.policy))
    assert not torch.equal(critic, weights_of(before.critic))
    assert "value_loss" in last and "policy_loss" not in last


@pytest.mark.parametrize("kind", ["separate", "value_head"])
def test_value_head_after_warm_up_trains_policy_and_critic(kind: str) -> None:
    spec = spec_of(critic={"kind": kind, "warmup_steps": 1})
    cast = cast_for(spec)
    before = weights_of(cast.policy), weights_of(cast.critic)
    iterate(spec, cast, iteration=1)
    assert not torch.equal(before[0], weights_of(cast.policy))
    assert not torch.equal(before[1], weights_of(cast.critic))
