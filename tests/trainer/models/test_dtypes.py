"""Smaller types: what is stored in them, what computes in them, and what stays in float32."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers.pytorch_utils import Conv1D

from tests import tolerance
from tests.trainer.models.lora.tools import BATCH, maker, policy_in, stir
from tests.trainer.stage_tools import CPU, context_of
from tests.trainer.tiny_models import gpt2, llama
from trainer.models import Model, WeightUse, builder_for, load_policy, save_result
from trainer.models.builders import ModelBuilder
from trainer.models.sequences import Batch, completion_logprobs, completion_values
from trainer.preflight.memory.fake_models import Blueprint
from trainer.rewards.base import Rewards
from trainer.rollout import producer
from trainer.rollout.context import PPOModels
from trainer.sampling import SamplingOptions, sample
from trainer.spec import ModelSpec, PPOSpec
from trainer.text.stops import NO_STOPS, Stops

TYPES = ("bfloat16", "float16")


def whole(folder: Path, dtype: str) -> ModelBuilder:
    return builder_for(ModelSpec.model_validate({"path": str(folder), "dtype": dtype}), CPU, lambda part: 0)


@pytest.mark.parametrize("dtype", TYPES)
def test_dtypes_only_linear_layers_of_frozen_models_are_smaller(tmp_path: Path, dtype: str) -> None:
    make = whole(policy_in(tmp_path), dtype)
    small = getattr(torch, dtype)
    for use, expected in (("trained", torch.float32), ("exact", small), ("frozen", small)):
        model = make.policy("policy", tmp_path, use)  # type: ignore[arg-type]
        types = {name: p.dtype for name, p in model.named_parameters()}
        assert {t for name, t in types.items() if "_proj" in name or name == "lm_head.weight"} == {expected}
        assert {t for name, t in types.items() if "norm" in name or "embed" in name} == {torch.float32}
        hidden = model.base_model.layers[0].mlp.down_proj
        seen = []
        hidden.register_forward_hook(lambda _, inputs, out: seen.append(out.dtype))  # noqa: B023 used at once
        completion_logprobs(model, BATCH)[0].sum()
        assert seen == [small]


@pytest.mark.parametrize("use", ["frozen", "exact", "moving"])
@pytest.mark.parametrize("dtype", ["float32", *TYPES])
@pytest.mark.parametrize(
    "kind", [llama, gpt2]
)  # the second one's layers are no nn.Linear, and its output layer is tied
def test_dtypes_frozen_models_compute_same_bits_as_trained_one(
    tmp_path: Path, kind: Callable[[], Model], dtype: str, use: WeightUse
) -> None:
    """So the KL of a policy to its own reference is exactly 0 before the first step, and a score is one score."""
    kind().save_pretrained(tmp_path)
    make = whole(tmp_path, dtype)
    policy, reference = make.policy("policy", tmp_path, "trained"), make.policy("reference", tmp_path, use)
    assert torch.equal(completion_logprobs(policy, BATCH)[0], completion_logprobs(reference, BATCH)[0])
    critic, scorer = (make.scorer("critic", tmp_path, each, fresh_head=3) for each in ("trained", use))
    assert torch.equal(completion_values(critic, BATCH), completion_values(scorer, BATCH))


@pytest.mark.parametrize("dtype", ["float32", *TYPES])
@pytest.mark.parametrize("kind", [llama, gpt2])
def test_the_preflight_counts_the_bytes_that_a_frozen_model_has(
    tmp_path: Path, kind: Callable[[], Model], dtype: str
) -> None:
    kind().save_pretrained(tmp_path)
    make = whole(tmp_path, dtype)
    policy, scorer = make.policy("policy", tmp_path, "frozen"), make.scorer("scorer", tmp_path, "frozen", fresh_head=3)
    blueprint = Blueprint(policy.config, ModelSpec.model_validate({"path": str(tmp_path), "dtype": dtype}), "cpu")
    assert blueprint.frozen_bytes("policy") == sum(weight.nbytes for weight in policy.parameters())
    assert blueprint.frozen_bytes("scalar") == sum(weight.nbytes for weight in scorer.parameters())


def test_dtypes_trained_bfloat16_policy_equals_its_reference(tmp_path: Path) -> None:
    spec = {"path": str(policy_in(tmp_path)), "dtype": "bfloat16", "trained_weights": "bfloat16"}
    make = builder_for(ModelSpec.model_validate(spec), CPU, lambda part: 0)
    policy, reference = (make.policy("policy", tmp_path, use) for use in ("trained", "frozen"))  # type: ignore[arg-type]
    assert torch.equal(completion_logprobs(policy, BATCH)[0], completion_logprobs(reference, BATCH)[0])


class Casts(TorchDispatchMode):
    """Counts the conversions of a model's weights to another type."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.count = 0
        self._weights = {weight.data_ptr() for weight in model.parameters()}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is torch.ops.aten._to_copy.default and args[0].data_ptr() in self._weights
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", [llama, gpt2])
@pytest.mark.parametrize("use", ["trained", "exact", "frozen", "asynchronous"])
def test_weights_are_cast_once_and_not_at_each_decode_step(
    tmp_path: Path, use: Literal["trained", "exact", "frozen", "asynchronous"], kind: Callable[[], Model], dtype: str
) -> None:
    """A frozen model's are stored as they are multiplied; of one that learns, a batch of responses shares one cast."""
    kind().save_pretrained(tmp_path)
    model = whole(tmp_path, dtype).policy("policy", tmp_path, "trained" if use == "asynchronous" else use)
    if use == "asynchronous":
        model = producer._copied(model)
    counts = []
    for tokens in (2, 7):
        draws = torch.Generator().manual_seed(0)
        with Casts(model) as casts:
            sample(model, [[5], [6, 7]], SamplingOptions(NO_STOPS, 0, 1.0, CPU), tokens, draws)
        counts.append(casts.count)
    linear = sum(isinstance(module, nn.Linear | Conv1D) for module in model.modules())
    assert counts[0] == counts[1] <= 2 * linear and (counts[0] > 0) == (use == "trained")


@pytest.mark.parametrize("kind", [llama, gpt2])
def test_producer_policy_copy_equals_policy_after_each_update(tmp_path: Path, kind: Callable[[], Model]) -> None:
    kind().save_pretrained(tmp_path)
    model = whole(tmp_path, "bfloat16").policy("policy", tmp_path, "trained")
    actors = PPOModels(model, model, model, None, Rewards([]), None)
    spec = PPOSpec.model_validate({"rollout": {"asynchronous": True}})
    ahead = producer.RolloutProducer(context_of(actors, spec), [])
    for _ in range(2):
        behind = ahead._copy_of_policy()
        assert torch.equal(completion_logprobs(behind, BATCH)[0], completion_logprobs(model, BATCH)[0])
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.25)


@pytest.mark.parametrize("dtype", TYPES)
def test_what_is_computed_is_near_float32_and_gradients_are_too(tmp_path: Path, dtype: str) -> None:
    policy_in(tmp_path)
    found = []
    for kind in ("float32", dtype):
        model = whole(tmp_path, kind).policy("policy", tmp_path, "trained")
        logprobs = completion_logprobs(model, BATCH)[0]
        logprobs.sum().backward()
        found.append((logprobs.detach(), torch.cat([p.grad.flatten() for p in model.parameters()])))
    (full, full_gradient), (half, half_gradient) = found
    assert half.dtype == torch.float32 and not torch.equal(half, full)
    assert torch.allclose(half, full, atol=tolerance.largest(getattr(torch, dtype)))
    assert torch.nn.functional.cosine_similarity(half_gradient, full_gradient, dim=0) > 0.99


def test_dtypes_bfloat16_ratio_is_exactly_1_and_sampler_close(tmp_path: Path) -> None:
    """One minibatch of the rollout's own width: the same bits. Another shape, as in sampling, rounds differently."""
    model = whole(policy_in(tmp_path), "bfloat16").policy("policy", tmp_path, "trained")
    prompts = [[5], [6, 7, 8]]
    draws = torch.Generator().manual_seed(0)
    answers = sample(model, prompts, SamplingOptions(Stops((1,)), 0, 1.0, CPU), 6, draws)
    batch = Batch.from_ids(prompts, [answer.ids for answer in answers], pad_id=0)
    with torch.no_grad():
        old = completion_logprobs(model, batch)[0]
    new = completion_logprobs(model, batch)[0]
    assert torch.equal(old, new.detach())


def test_values_are_read_in_float32(tmp_path: Path) -> None:
    critic = whole(policy_in(tmp_path), "bfloat16").scorer("critic", tmp_path, "trained", fresh_head=3)
    values = completion_values(critic, BATCH)
    assert values.dtype == torch.float32
    assert not torch.equal(values.detach(), values.detach().bfloat16().float())


def test_lora_bfloat16_backbone_float32_adapters_merge_exactly(tmp_path: Path) -> None:
    folder = policy_in(tmp_path / "base")
    make = maker(folder, dtype="bfloat16")
    policy, reference = make.policy("policy", folder, "trained"), make.policy("reference", folder, "frozen")
    assert {p.dtype for p in policy.parameters()} == {torch.float32}
    assert {p.dtype for p in load_policy(folder, torch.bfloat16).parameters()} == {policy.backbone.model.dtype}
    with torch.no_grad():
        assert torch.equal(completion_logprobs(policy, BATCH)[0], completion_logprobs(reference, BATCH)[0])
    stir(policy, 1)
    save_result(policy, tmp_path / "result")
    layer = policy.backbone.model.model.layers[0].self_attn.q_proj
    expected = layer.base_layer.weight.float() + 2 * layer.lora_B["policy"].weight @ layer.lora_A["policy"].weight
    merged = load_policy(tmp_path / "result")
    assert torch.allclose(merged.model.layers[0].self_attn.q_proj.weight, expected, atol=1e-6)
    assert merged.config.dtype == torch.float32
    gradients = completion_logprobs(policy, BATCH)[0].sum()
    gradients.backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in policy.parameters())


def test_the_sampler_computes_in_the_smaller_type_too(tmp_path: Path) -> None:
    model = whole(policy_in(tmp_path), "bfloat16").policy("policy", tmp_path, "trained")
    seen = []
    model.model.layers[0].mlp.down_proj.register_forward_hook(lambda _, inputs, out: seen.append(out.dtype))
    draws = torch.Generator().manual_seed(0)
    sample(model, [[5], [6, 7]], SamplingOptions(NO_STOPS, 0, 1.0, CPU), 3, draws)
    assert seen == [torch.bfloat16] * 3
