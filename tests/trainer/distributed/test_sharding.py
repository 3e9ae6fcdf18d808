"""A model in slices whose passes compute in bfloat16: in which type its weights travel, and what gradients come back."""

import copy
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import LlamaConfig, LlamaForCausalLM

from tests import tolerance
from tests.trainer.running import _context, status_of
from tests.trainer.tiny_models import llama
from trainer.distributed.sharding import shard
from trainer.distributed.world import World
from trainer.models import Model, autocast, compute_in, present
from trainer.models.builders import WholeModelBuilder
from trainer.spec import ModelSpec

IDS = torch.tensor([[5, 6, 7, 8, 9], [9, 2, 3, 4, 5]])


class Gathered(TorchDispatchMode):
    """Counts the numbers that are gathered, by type."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: Counter[torch.dtype] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.c10d._allgather_base_.default:
            self.numbers[args[0].dtype] += args[0].numel()
        return func(*args, **(kwargs or {}))


def loss_of(model: Model) -> Tensor:
    with autocast(model):
        logits: Tensor = model(input_ids=IDS, use_cache=False).logits
    return logits.float().log_softmax(-1)[..., 3].sum()


def one_process(rank: int, folder: Path) -> None:
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=2)
    whole = compute_in(llama(), torch.bfloat16)
    sliced = shard(copy.deepcopy(whole), World(rank, 2), torch.device("cpu"))
    seen: dict[str, torch.dtype] = {}
    layer = sliced.model.layers[0]
    layer.self_attn.q_proj.register_forward_pre_hook(lambda module, args: seen.update(matrix=module.weight.dtype))
    with Gathered() as gathered:
        loss = sliced.run_inside(loss_of)
        loss.backward()
    expected = loss_of(whole)
    expected.backward()
    layers = sum(weight.numel() for weight in whole.model.layers.parameters())
    # for the forward pass, and again for the backward pass; nothing of a layer in another type
    assert gathered.numbers[torch.bfloat16] == 2 * layers, gathered.numbers
    outside = 2 * 24 * 16 + 16  # embedding and head of 23 tokens, in even slices; the last norm
    assert gathered.numbers[torch.float32] % outside == 0 and len(gathered.numbers) == 2, gathered.numbers
    assert seen == {"matrix": torch.bfloat16}
    torch.testing.assert_close(loss, expected, **tolerance.outputs(torch.bfloat16))
    for (name, ours), theirs in zip(sliced.named_parameters(), whole.parameters(), strict=True):
        assert isinstance(ours, DTensor) and ours.dtype == torch.float32
        assert isinstance(ours.grad, DTensor) and ours.grad.dtype == torch.float32
        gradient, reference = ours.grad.full_tensor(), 2 * theirs.grad
        near = tolerance.largest(torch.bfloat16, float(reference.norm()))
        assert float((gradient - reference).norm()) <= near, name
    with present(sliced), torch.no_grad():
        assert layer.mlp.up_proj.weight.dtype == torch.bfloat16
        assert sliced.model.embed_tokens.weight.dtype == torch.float32
    dist.destroy_process_group()


@pytest.mark.parametrize(("sliced", "where"), [(False, "meta"), (True, "cpu")])
def test_a_model_to_be_sliced_is_loaded_into_host_memory(tmp_path: Path, sliced: bool, where: str) -> None:
    """`fully_shard` then takes it to the device layer by layer, so that no device ever holds it whole."""
    llama().save_pretrained(tmp_path)
    seen: list[str] = []

    def slices(model: Model) -> Model:
        seen.extend({weight.device.type for weight in model.parameters()})
        return model

    spec = ModelSpec(path=str(tmp_path), dtype="float32")
    builder = WholeModelBuilder(spec, torch.device("meta"), shard=slices if sliced else None)
    made = builder.policy("policy", tmp_path, "trained")
    assert {weight.device.type for weight in made.parameters()} == {where} and seen == [where] * sliced


def slices_on_a_gpu(rank: int, folder: Path) -> None:
    """With one process, a slice is the whole weight: a model that was on the GPU before would be there twice."""
    device = torch.device("cuda", 0)
    dist.init_process_group("nccl", init_method=f"file://{folder / 'meeting'}", rank=0, world_size=1, device_id=device)
    sizes = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 8}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=1024, **sizes))
    whole = sum(weight.nbytes for weight in model.parameters())
    shard(model, World(0, 1), device)
    assert whole <= torch.cuda.max_memory_allocated() < 1.25 * whole
    dist.destroy_process_group()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="measures the memory of a GPU")
def test_a_gpu_never_holds_a_model_twice_while_it_is_sliced(tmp_path: Path) -> None:
    process = _context.Process(target=slices_on_a_gpu, args=(0, tmp_path))
    process.start()
    assert status_of(process, 120) == 0


@pytest.mark.slow
def test_layers_are_gathered_in_the_type_that_they_compute_in(tmp_path: Path) -> None:
    processes = [_context.Process(target=one_process, args=(rank, tmp_path)) for rank in range(2)]
    for process in processes:
        process.start()
    assert [status_of(process, 120) for process in processes] == [0, 0]
