"""Frozen models that come to the device for their work alone. Here the device is a second copy in RAM."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.trainer.stage_tools import CPU, context_of
from tests.trainer.tiny_models import llama, scorer
from trainer.errors import OutOfMemory
from trainer.models import Model, offload, place_frozen, present
from trainer.models.offload import OffloadedWeights
from trainer.rewards.base import Rewards, WeightedReward
from trainer.rewards.models import TokenScorer
from trainer.rollout.batch import ScoredBatch, sample_and_score
from trainer.rollout.context import PPOModels
from trainer.sampling import uniforms
from trainer.spec import PPOSpec, RuntimeSpec
from trainer.text.codec import TokenizedPrompt


def away(model: Model) -> Model:
    model.absent_weights = OffloadedWeights(model.requires_grad_(False), CPU)
    return model


def addresses(model: Model) -> list[int]:
    return [weight.data_ptr() for weight in model.parameters()]


def test_present_keeps_weights_if_nested_and_offloads_on_error() -> None:
    model = away(llama())
    at_home = addresses(model)
    with pytest.raises(RuntimeError, match="in the middle"), present(model):
        with present(model):
            assert not set(addresses(model)) & set(at_home)
        assert model.absent_weights.is_present and not set(addresses(model)) & set(at_home)
        raise RuntimeError("in the middle")
    assert addresses(model) == at_home and not model.absent_weights.is_present


def test_present_gives_same_outputs_and_copies_weights_once() -> None:
    model, ids = llama(), torch.tensor([[3, 4, 5]])
    expected = model(input_ids=ids).logits
    at_home = addresses(away(model))
    with present(model):
        copies = addresses(model)
        with present(model):
            assert addresses(model) == copies
        assert torch.equal(model(input_ids=ids).logits, expected)
    assert not set(copies) & set(at_home) and addresses(model) == at_home


class Copies(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.copy_.default:
            self.sizes.append(args[0].nbytes)
        return func(*args, **(kwargs or {}))


def test_offload_keeps_all_weights_in_one_block() -> None:
    """The weights have several types and odd sizes. Each begins at a multiple of 256 bytes."""
    model = llama().to(torch.bfloat16)
    model.model.norm.float()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    away(model)
    block = sum(-(-weight.nbytes // 256) * 256 for weight in model.parameters())
    assert {weight.untyped_storage().data_ptr() for weight in model.parameters()} == {
        model.absent_weights._home.data_ptr()
    }
    with Copies() as copies, present(model):
        assert copies.sizes == [block] and all(address % 64 == 0 for address in addresses(model))
        assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())


def test_the_block_is_pinned_as_large_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fakes record what is asked of CUDA: nothing of PyTorch's pinned memory, which comes in powers of two."""
    asked: list[tuple[str, int]] = []

    def register(address: int, size: int, flags: int) -> int:
        asked.append(("pin", size))
        return 2 if len(asked) == 3 else 0

    fake = SimpleNamespace(cudaHostRegister=register, cudaHostUnregister=lambda address: asked.append(("let go", 0)))
    monkeypatch.setattr(torch.cuda, "cudart", lambda: fake)
    monkeypatch.setattr(torch.Tensor, "pin_memory", pytest.fail)
    block = torch.empty(3000, dtype=torch.uint8)
    offload._pin(block)
    del block
    assert asked == [("pin", 3000), ("let go", 0)]
    with pytest.raises(OutOfMemory, match=r"cannot be pinned \(CUDA error 2\)"):
        offload._pin(torch.empty(3000, dtype=torch.uint8))


def test_offload_refuses_a_trained_model() -> None:
    with pytest.raises(ValueError, match="its steps would be lost"):
        OffloadedWeights(llama(), CPU)
    assert present(None).__enter__() is None
    assert not hasattr(place_frozen(llama(), CPU, offload=True), "absent_weights")  # a CPU has no other place


def test_rollout_with_offloaded_frozen_models_gives_same_scores() -> None:
    policy, reference, judge = llama(0), llama(0).requires_grad_(False), scorer().requires_grad_(False)
    rewards = Rewards([WeightedReward("model", 1.0, TokenScorer(judge, pad_id=0, batch_size=None))])
    actors = PPOModels(policy, reference, reference, None, rewards, judge)
    prompts = [TokenizedPrompt("p", [5, 6, 7 + n]) for n in range(4)]

    def scored() -> ScoredBatch:
        draws = uniforms(torch.Generator().manual_seed(0), 4, 6)
        return sample_and_score(context_of(actors, PPOSpec(batch_size=4, micro_batch_size=2)), prompts, draws)

    before = scored()
    seen: list[bool] = []
    for model in (reference, judge):
        away(model).base_model.register_forward_hook(
            lambda *_, model=model: seen.append(model.absent_weights.is_present)
        )
    after = scored()
    assert seen and all(seen) and not reference.absent_weights.is_present and not judge.absent_weights.is_present
    assert torch.equal(after.reference_logprobs_BR, before.reference_logprobs_BR)
    assert after.rewards.totals == before.rewards.totals
    assert replace(after, seconds={}).responses == before.responses


def test_offload_frozen_on_cpu_is_refused() -> None:
    with pytest.raises(ValueError, match="`offload_frozen` has no effect"):
        RuntimeSpec(device="cpu", offload_frozen=True)
