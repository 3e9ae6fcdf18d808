"""Smaller types: what is stored in them, what computes in them, and what stays in float32."""

from pathlib import Path

import pytest
import torch

from tests import tolerance
from tests.trainer.lora.tools import BATCH, maker, policy_in, stir
from tests.trainer.stage_tools import CPU
from trainer.models import load_policy, maker_for, save_result
from trainer.models.makers import Maker
from trainer.sampling import sample
from trainer.sequences import Batch, completion_logprobs, completion_values
from trainer.spec import ModelSpec
from trainer.stops import NEVER, Stops

TYPES = ("bfloat16", "float16")


def whole(folder: Path, dtype: str) -> Maker:
    return maker_for(ModelSpec.model_validate({"path": str(folder), "dtype": dtype}), CPU, lambda part: 0)


@pytest.mark.parametrize("dtype", TYPES)
def test_trained_weights_stay_in_float32_and_frozen_ones_do_not(tmp_path: Path, dtype: str) -> None:
    make = whole(policy_in(tmp_path), dtype)
    small = getattr(torch, dtype)
    for care, expected in (("trained", torch.float32), ("exact", torch.float32), ("frozen", small)):
        model = make.policy("policy", tmp_path, care)  # type: ignore[arg-type]
        assert {p.dtype for p in model.parameters()} == {expected}
        hidden = model.base_model.layers[0].mlp.down_proj
        seen = []
        hidden.register_forward_hook(lambda _, inputs, out: seen.append(out.dtype))  # noqa: B023 used at once
        completion_logprobs(model, BATCH)[0].sum()
        assert seen == [small]


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


def test_the_ratio_is_one_to_the_bit_and_the_sampler_agrees_within_the_type(tmp_path: Path) -> None:
    """One minibatch of the rollout's own width: the same bits. Another shape, as in sampling, rounds differently."""
    model = whole(policy_in(tmp_path), "bfloat16").policy("policy", tmp_path, "trained")
    prompts = [[5], [6, 7, 8]]
    draws = torch.Generator().manual_seed(0)
    answers = sample(
        model, prompts, stops=Stops((1,)), pad_id=0, max_new_tokens=6, temperature=1.0, generator=draws, device=CPU
    )
    batch = Batch.of(prompts, [answer.ids for answer in answers], pad_id=0)
    with torch.no_grad():
        old = completion_logprobs(model, batch)[0]
    new = completion_logprobs(model, batch)[0]
    assert torch.equal(old, new.detach())


def test_values_are_read_in_float32(tmp_path: Path) -> None:
    critic = whole(policy_in(tmp_path), "bfloat16").scorer("critic", tmp_path, "trained", fresh_head=3)
    values = completion_values(critic, BATCH)
    assert values.dtype == torch.float32
    assert not torch.equal(values.detach(), values.detach().bfloat16().float())


def test_roles_on_a_bfloat16_backbone_have_adapters_in_float32_and_merge_without_rounding(tmp_path: Path) -> None:
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
    sample(model, [[5], [6, 7]], stops=NEVER, pad_id=0, max_new_tokens=3, temperature=1.0, generator=draws, device=CPU)
    assert seen == [torch.bfloat16] * 3


@pytest.mark.parametrize("kind", ["policy", "critic"])
@pytest.mark.parametrize("lora", [False, True])
def test_small_gradients_survive_float16(tmp_path: Path, kind: str, lora: bool) -> None:
    """Without a factor, a loss this small leaves float16 with next to nothing."""
    folder, found = policy_in(tmp_path), []
    for dtype in ("float32", "float16"):
        make = maker(folder, dtype=dtype) if lora else whole(folder, dtype)
        if kind == "policy":
            model = make.policy("policy", folder, "trained")
            loss = completion_logprobs(model, BATCH)[0].sum()
        else:
            model = make.scorer("critic", folder, "trained", fresh_head=3)
            loss = completion_values(model, BATCH).sum()
        (loss * 1e-6).backward()
        found.append([parameter.grad for parameter in model.parameters()])
    for full, half in zip(*found, strict=True):
        assert torch.allclose(half, full, rtol=0.1, atol=0.02 * float(full.abs().max()))
