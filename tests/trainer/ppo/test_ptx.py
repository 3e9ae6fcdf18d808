import pytest
import torch

from tests import tolerance
from tests.trainer.ppo.tools import TEXTS, cast_for, iterate, spec_of
from tests.trainer.stage_tools import context_of
from tests.trainer.tiny_models import llama
from trainer.errors import DataError
from trainer.models import Model
from trainer.ppo.ptx import Pretraining
from trainer.randomness import batch_indices


def pretraining(**changes: object) -> Pretraining:
    spec = spec_of(ptx={"coef": 2.0, "batch_size": 3}, **changes)
    found = Pretraining.build(context_of(cast_for(spec), spec, seed=5), TEXTS)
    assert found is not None
    return found


def mean_loss(policy: Model, texts: list[list[int]]) -> torch.Tensor:
    """Per predicted token, each text alone, by transformers' own forward pass."""
    losses = []
    for text in texts:
        logits = policy(torch.tensor([text])).logits[0, :-1]
        losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor(text[1:]), reduction="none"))
    return torch.cat(losses).mean()


@pytest.mark.parametrize("micro_batch_size", [None, 1, 2])
def test_loss_and_gradient_are_those_of_the_mean_over_all_tokens(micro_batch_size: int | None) -> None:
    policy, texts = llama(), [TEXTS[row] for row in batch_indices(4, 3, 4 * 1 + 2, 5, "ptx")]
    loss = pretraining(micro_batch_size=micro_batch_size).accumulate(policy, iteration=1, step=2)
    found = [parameter.grad.clone() for parameter in policy.parameters()]
    expected = mean_loss(policy, texts)
    assert loss == pytest.approx(float(expected.detach()), rel=tolerance.largest())
    for ours, exact in zip(found, torch.autograd.grad(2.0 * expected, list(policy.parameters())), strict=True):
        torch.testing.assert_close(ours, exact, **tolerance.gradients())


def test_every_optimizer_step_takes_the_next_texts() -> None:
    losses = [
        pretraining().accumulate(llama(), iteration, step) for iteration in range(2) for step in range(4)
    ]  # 24 texts of 4: six passes over them, in orders of their own
    assert len(set(losses)) > 4


def test_ptx_loss_is_reported_at_every_step() -> None:
    _, _, updated = iterate(spec_of(ptx={"coef": 0.5}))
    assert len(updated.history) == 4 and all("ptx_loss" in entry for entry in updated.history)


def test_ptx_leaves_out_the_warm_up_of_the_critic() -> None:
    """Its gradient would stay until the first step of the policy."""
    cast, _, updated = iterate(spec_of(ptx={"coef": 0.5}, critic={"warmup_steps": 1}))
    assert len(updated.history) == 4 and not any("ptx_loss" in entry for entry in updated.history)
    assert all(parameter.grad is None for parameter in cast.policy.parameters())


def test_texts_of_which_nothing_can_be_learnt_are_refused() -> None:
    with pytest.raises(DataError, match="at least two tokens"):
        Pretraining.build(context_of(cast_for(spec_of()), spec_of(ptx={})), [[3], []])
    assert Pretraining.build(context_of(cast_for(spec_of()), spec_of()), []) is None
