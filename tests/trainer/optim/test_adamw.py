"""AdamW in less memory takes the steps of AdamW."""

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.trainer.tiny_models import llama
from trainer.optim import adamw, clip_gradients, moments, optimizer_for
from trainer.optim.adamw import BETAS, PlainAdamW, TensorwiseAdamW
from trainer.optim.learner import Learner
from trainer.spec import OptimizerSpec

SIZES = ((96, 70), (70,), (5000,))
"""Odd ends of blocks, vectors among them."""
Make = Callable[[list[nn.Parameter]], Any]


def spec_of(**changes: Any) -> OptimizerSpec:
    return OptimizerSpec.model_validate({"learning_rate": 0.01, "weight_decay": 0.1, **changes})


def weights(dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    draws = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(size, generator=draws).to(dtype)) for size in SIZES]


def plain(parameters: list[nn.Parameter]) -> Any:
    return optimizer_for(parameters, spec_of(), 0.01, 1e-8)


def eight_bit(parameters: list[nn.Parameter]) -> Any:
    return optimizer_for(parameters, spec_of(optimizer="adamw_8bit"), 0.01, 1e-8)


def offloaded(parameters: list[nn.Parameter]) -> Any:
    """By way of copies, as to and from a GPU, though everything is on the CPU."""
    groups = plain(parameters).param_groups
    groups = [{"params": group["params"], "weight_decay": group["weight_decay"]} for group in groups]
    return TensorwiseAdamW(groups, 0.01, BETAS, 1e-8, offload=True)


def gradient(step: int, size: tuple[int, ...]) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(step)) * (1 + step % 3)


def advance(parameters: list[nn.Parameter], optimizer: Any, steps: range) -> list[Tensor]:
    for step in steps:
        for parameter in parameters:
            parameter.grad = gradient(step, tuple(parameter.shape)).to(parameter.dtype)
        optimizer.step()
        optimizer.zero_grad()
    return [parameter.detach().float() for parameter in parameters]


def test_the_spec_chooses() -> None:
    assert isinstance(plain(weights()), PlainAdamW)
    assert isinstance(eight_bit(weights()), TensorwiseAdamW)
    assert isinstance(plain(weights(torch.bfloat16)), TensorwiseAdamW)
    on_the_cpu = optimizer_for(weights(), spec_of(offload_optimizer=True), 0.01, 1e-8)
    assert isinstance(on_the_cpu, PlainAdamW)  # it is in host memory already


def test_the_first_step_by_hand() -> None:
    """Adam's first step is the rate along the gradient's sign; decay takes lr · 0.1 of a matrix, nothing of a vector."""
    for make in (plain, offloaded, eight_bit):
        matrix, vector = nn.Parameter(torch.full((80, 80), 2.0)), nn.Parameter(torch.full((3,), 2.0))
        matrix.grad, vector.grad = torch.full((80, 80), 0.5), torch.full((3,), -7.0)
        make([matrix, vector]).step()
        assert matrix.detach().flatten().tolist() == pytest.approx([2.0 - 0.01 * 0.1 * 2.0 - 0.01] * 6400, rel=1e-5)
        assert vector.tolist() == pytest.approx([2.01] * 3, rel=1e-6)


def test_offloaded_steps_are_the_same_bits() -> None:
    ours, theirs = weights(), weights()
    expected = advance(theirs, plain(theirs), range(20))
    assert all(map(torch.equal, advance(ours, offloaded(ours), range(20)), expected))


@pytest.mark.parametrize("make", [plain, offloaded, eight_bit])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_resumed_optimizer_goes_on_with_the_same_bits(make: Make, dtype: torch.dtype) -> None:
    whole, first = weights(dtype), weights(dtype)
    expected = advance(whole, make(whole), range(8))
    before = make(first)
    advance(first, before, range(4))
    saved = {name: value.clone() for name, value in before.tensors().items()}
    second = copy.deepcopy(first)
    after = make(second)
    after.load_tensors(saved)
    assert all(map(torch.equal, advance(second, after, range(4, 8)), expected))
    forgetful = copy.deepcopy(first)
    assert not all(map(torch.equal, advance(forgetful, make(forgetful), range(4, 8)), expected))


def test_adamw_bfloat16_masters_follow_float32_trajectory() -> None:
    """Steps of 10⁻⁵ of a weight are far below bfloat16's last bit, 2⁻⁸ of it; without masters nothing would move."""
    rounded, full = [nn.Parameter(torch.full((64, 64), 1.5).bfloat16())], [nn.Parameter(torch.full((64, 64), 1.5))]
    spec = spec_of(weight_decay=0.0)
    ours, theirs = optimizer_for(rounded, spec, 1.5e-5, 1e-8), optimizer_for(full, spec, 1.5e-5, 1e-8)
    for _ in range(1000):
        rounded[0].grad, full[0].grad = torch.ones(64, 64).bfloat16(), torch.ones(64, 64)
        ours.step()
        theirs.step()
    assert torch.equal(ours.tensors()["0.master"], full[0].detach())
    assert full[0][0, 0].item() == pytest.approx(1.5 - 1000 * 1.5e-5, rel=1e-4)
    assert torch.equal(rounded[0].detach(), full[0].detach().bfloat16())


def test_adamw_8bit_steps_stay_close_in_a_third_of_the_memory() -> None:
    """Twenty steps, each as long as the rate: apart by a fraction of one, on average."""
    ours, theirs = weights(), weights()
    optimizer = eight_bit(ours)
    found, expected = advance(ours, optimizer, range(20)), advance(theirs, plain(theirs), range(20))
    start = weights()
    for one, other, origin in zip(found, expected, start, strict=True):
        assert float((one - other).abs().mean()) < 0.1 * float((other - origin.detach()).abs().mean())
    large = sum(value.nbytes for name, value in optimizer.tensors().items() if name.startswith("0."))
    assert large < 2.2 * 96 * 70


class Kernels(TorchDispatchMode):
    """Counts what is computed, views left out, and numbers that are read back."""

    def __init__(self) -> None:
        super().__init__()
        self.count = self.reads = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        views = any(result.alias_info and not result.alias_info.is_write for result in func._schema.returns)
        self.count += not views
        self.reads += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


def test_adamw_8bit_groups_have_rounding_seeds_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices and vectors are advanced apart, because only matrices decay."""
    seeds: list[int] = []
    monkeypatch.setattr(adamw, "advance_together", lambda entries, rule, seed: seeds.append(seed))
    parameters = weights()
    advance(parameters, eight_bit(parameters), range(1))
    assert len(seeds) == 2 and seeds[0] != seeds[1]


def test_many_tensors_in_eight_bits_take_few_kernels() -> None:
    """40 matrices of 6,400 numbers are one batch.

    One by one, each took about 60 kernels and a wait for the device. In a batch, each only adds 1 to its number of steps
    in host memory.
    """
    counts = []
    for tensors in (2, 40):
        parameters = [nn.Parameter(torch.randn(80, 80)) for _ in range(tensors)]
        optimizer = eight_bit(parameters)
        advance(parameters, optimizer, range(1))
        for parameter in parameters:
            parameter.grad = torch.randn(80, 80)
        with Kernels() as kernels:
            optimizer.step()
        counts.append(kernels.count - 2 * tensors)
    assert counts[0] == counts[1] < 80


def test_adamw_8bit_batched_tensors_step_as_cut_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the rounding by chance, which is 1 part in 16 of the second moment's root at most."""
    found = []
    for at_once in (1 << 21, 2048):  # all in one batch; some of them cut
        monkeypatch.setattr(moments, "AT_ONCE", {"cpu": at_once})
        parameters = weights()
        found.append(advance(parameters, eight_bit(parameters), range(5)))
    start = weights()
    for one, other, origin in zip(*found, start, strict=True):
        assert float((one - other).abs().mean()) < 0.02 * float((other - origin.detach()).abs().mean())


@pytest.mark.parametrize("changes", [{"optimizer": "adamw_8bit"}, {}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_adamw_reduces_the_loss_of_a_model(changes: dict[str, str], dtype: torch.dtype) -> None:
    model = llama().to(dtype)
    learner = Learner(model, spec_of(lr_schedule="constant", warmup_ratio=0, **changes), 40)
    ids = torch.randint(2, 23, (4, 12), generator=torch.Generator().manual_seed(0))
    losses = []
    for step in range(40):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        learner.update(step)
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]


def test_clip_gradients_norm_of_bfloat16_is_not_rounded() -> None:
    """√(3 · 1000²) = 1732.05; the nearest bfloat16 is 1728."""
    parameters = [nn.Parameter(torch.zeros(1, dtype=torch.bfloat16)) for _ in range(3)]
    for parameter in parameters:
        parameter.grad = torch.full((1,), 1000.0, dtype=torch.bfloat16)
    assert float(clip_gradients(parameters, 1.0)) == pytest.approx(1732.05, rel=1e-5)
    assert [float(p.grad) for p in parameters if p.grad is not None] == pytest.approx([1 / 3**0.5] * 3, rel=4e-3)


@pytest.mark.parametrize("first, norm", [(0.3, 0.5), (math.inf, math.inf)])
def test_gradients_within_the_norm_or_not_finite_are_not_touched(first: float, norm: float) -> None:
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
    for parameter, value in zip(parameters, (first, 0.4), strict=True):
        parameter.grad = torch.tensor([value])
    assert clip_gradients(parameters, 1.0) == pytest.approx(norm)
    assert [p.grad for p in parameters] == [torch.tensor([first]), torch.tensor([0.4])]


def test_gradients_are_scaled_down_to_any_norm() -> None:
    """3-4-5: a norm of .5 becomes .25, although it is below 1."""
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
    for parameter, value in zip(parameters, (0.3, 0.4), strict=True):
        parameter.grad = torch.tensor([value])
    assert clip_gradients(parameters, 0.25) == pytest.approx(0.5)
    assert [float(p.grad) for p in parameters if p.grad is not None] == pytest.approx([0.15, 0.2], rel=1e-5)


def test_adamw_bfloat16_micro_batch_gradients_add_in_float32() -> None:
    """256 + 1 + 1 + 1 in bfloat16 stays at 256."""
    for micro_batch_size, expected in ((None, 256.0), (1, 259.0)):
        weight = nn.Parameter(torch.zeros(1, dtype=torch.bfloat16))
        optimizer_for([weight], spec_of(micro_batch_size=micro_batch_size), 0.01, 1e-8)
        for addend in (256.0, 1.0, 1.0, 1.0):
            (weight * addend).sum().backward()
        assert weight.grad is not None and weight.grad.item() == expected


def test_adamw_decays_its_moments_by_09_and_0999() -> None:
    """Gradients 1, then 0. First m̂ = v̂ = 1; then m̂ = .09/.19 and v̂ = .000999/.001999: steps of 1 and .670058 rates."""
    weight = nn.Parameter(torch.zeros(1))
    optimizer = optimizer_for([weight], OptimizerSpec(), 0.5, 1e-12)
    moved = []
    for gradient in (1.0, 0.0):
        before = float(weight.detach())
        weight.grad = torch.full((1,), gradient)
        optimizer.step()
        moved.append(before - float(weight.detach()))
    assert moved == pytest.approx([0.5, 0.335029], rel=1e-5)
