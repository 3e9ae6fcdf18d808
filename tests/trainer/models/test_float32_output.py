"""`model.output_layer` = "float32": logits in float32 from hidden states in bfloat16."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from tests.trainer.models.lora.tools import BATCH
from tests.trainer.stage_tools import CPU
from tests.trainer.tiny_models import gpt2, llama
from trainer.errors import ModelError
from trainer.models import Model, builder_for, load_policy
from trainer.models.heads import Float32Output, output_in_float32
from trainer.models.output_layer import token_logprobs
from trainer.models.sequences import completion_logprobs
from trainer.preflight.memory.fake_models import Blueprint
from trainer.sampling import BUILT_IN, SamplingOptions
from trainer.sampling.graphs import Casts
from trainer.spec import JobSpec, ModelSpec
from trainer.text.stops import NO_STOPS

KINDS = pytest.mark.parametrize("kind", [llama, gpt2])  # the output layer of the second one is tied to its embedding


def spec_of(folder: Path, output_layer: str = "float32", **more: Any) -> ModelSpec:
    return ModelSpec.model_validate({"path": str(folder), "dtype": "bfloat16", "output_layer": output_layer} | more)


def built(
    kind: Callable[[], Model], folder: Path, use: Any = "trained", output_layer: str = "float32", **more: Any
) -> Model:
    if not (folder / "config.json").exists():
        kind().save_pretrained(folder)
    return builder_for(spec_of(folder, output_layer, **more), CPU, lambda part: 0).policy("policy", folder, use)


def wide_logprobs(hidden_NH: Tensor, model: Model, targets_N: Tensor) -> Tensor:
    logits_NV = hidden_NH.float() @ model.get_output_embeddings().weight.float().T
    return torch.log_softmax(logits_NV, -1).gather(1, targets_N[:, None]).squeeze(1)


@KINDS
def test_logprobs_and_gradients_are_those_of_float32_logits(kind: Callable[[], Model], tmp_path: Path) -> None:
    model = built(kind, tmp_path)
    width = model.get_output_embeddings().weight.shape[1]
    hidden_NH = (3 * torch.randn(40, width, generator=torch.Generator().manual_seed(0))).bfloat16().requires_grad_()
    targets_N = torch.arange(40) % 20
    found_N, _ = token_logprobs(model, hidden_NH, targets_N)
    expected_N = wide_logprobs(hidden_NH, model, targets_N)
    torch.testing.assert_close(found_N, expected_N, rtol=1e-5, atol=1e-5)
    weight, slopes_N = model.get_output_embeddings().weight, torch.linspace(-1, 1, 40)
    gradients = [torch.autograd.grad(values_N, (hidden_NH, weight), slopes_N) for values_N in (found_N, expected_N)]
    for ours, theirs in zip(*gradients, strict=True):
        # the gradient of the hidden states is stored in their type, and each sum has 40 terms at most
        eps = torch.finfo(ours.dtype).eps + 40 * torch.finfo(torch.float32).eps
        torch.testing.assert_close(ours, theirs, rtol=0, atol=eps * float(theirs.abs().max()))


@KINDS
def test_frozen_copy_computes_the_same_bits(kind: Callable[[], Model], tmp_path: Path) -> None:
    """The KL of a policy to its own reference is exactly 0."""
    trained, frozen = (built(kind, tmp_path, use) for use in ("trained", "frozen"))
    assert frozen.get_output_embeddings().weight.dtype == torch.float32
    ours, theirs = (completion_logprobs(model, BATCH)[0] for model in (trained, frozen))
    assert torch.equal(ours, theirs)


def test_adapters_share_the_output_layer(tmp_path: Path) -> None:
    llama().save_pretrained(tmp_path)
    make = builder_for(spec_of(tmp_path, lora={"rank": 2}), CPU, lambda part: 0)
    policy, reference = make.policy("policy", tmp_path, "trained"), make.policy("reference", tmp_path, "frozen")
    assert type(policy.get_output_embeddings()) is Float32Output
    assert torch.equal(completion_logprobs(policy, BATCH)[0], completion_logprobs(reference, BATCH)[0])


def test_rounding_of_logits_is_that_of_float32(tmp_path: Path) -> None:
    """The error of a log-probability, from the same hidden states. A logit in bfloat16 is off by up to 2⁻⁸ of itself."""
    hidden_NH = (5 * torch.randn(200, 16, generator=torch.Generator().manual_seed(0))).bfloat16()
    targets_N, errors, largest = torch.arange(200) % 20, dict[str, float](), 0.0
    for layer in ("dtype", "float32"):
        model = built(llama, tmp_path, output_layer=layer)
        logits_NV = hidden_NH.double() @ model.get_output_embeddings().weight.detach().double().T
        exact_N = torch.log_softmax(logits_NV, -1).gather(1, targets_N[:, None]).squeeze(1)
        with torch.no_grad():
            errors[layer] = float((token_logprobs(model, hidden_NH, targets_N)[0] - exact_N).abs().max())
        largest = float(logits_NV.abs().max())
    # 16 products and their sum, then a sum of 23 exponentials
    assert errors["float32"] < 64 * torch.finfo(torch.float32).eps * max(1.0, largest)
    assert errors["dtype"] > 20 * errors["float32"]


def test_sampler_draws_from_logits_in_float32(tmp_path: Path) -> None:
    model, seen = built(llama, tmp_path), list[torch.dtype]()
    model.get_output_embeddings().register_forward_hook(lambda _, inputs, out: seen.append(out.dtype))
    draws_BR = torch.rand(2, 3, generator=torch.Generator().manual_seed(1))
    BUILT_IN.sample(model, [[3, 4], [5, 6]], draws_BR, SamplingOptions(NO_STOPS, 0, 1.0, CPU))
    assert set(seen) == {torch.float32}


def test_graphs_do_not_read_a_rounded_output_layer(tmp_path: Path) -> None:
    plain, wide = (Casts(built(llama, tmp_path, output_layer=layer), torch.bfloat16) for layer in ("dtype", "float32"))
    assert plain.nbytes() - wide.nbytes() == 2 * 23 * 16  # the output layer of 23 tokens and 16 numbers


def test_saved_result_is_a_plain_model(tmp_path: Path) -> None:
    model = built(llama, tmp_path / "start")
    (tmp_path / "saved").mkdir()
    model.save_pretrained(tmp_path / "saved")
    again = load_policy(tmp_path / "saved")
    assert type(again.get_output_embeddings()) is torch.nn.Linear
    assert torch.equal(again.get_output_embeddings().weight, model.get_output_embeddings().weight)


def test_estimate_counts_the_wider_output_layer() -> None:
    config = llama().config
    wide, plain = (Blueprint(config, spec_of(Path("unused"), layer), "cpu") for layer in ("float32", "dtype"))
    output = config.vocab_size * config.hidden_size
    tied = bool(config.tie_word_embeddings)
    # a frozen output layer in bfloat16 takes 2 bytes a weight; in float32 it takes 4, or is the embedding itself
    assert wide.frozen_bytes("policy") - plain.frozen_bytes("policy") == (-2 if tied else 2) * output
    assert wide.frozen_bytes("scalar") == plain.frozen_bytes("scalar")


def test_other_output_layers_are_refused() -> None:
    model = llama()
    model.set_output_embeddings(torch.nn.Sequential(model.get_output_embeddings()))
    with pytest.raises(ModelError, match="needs a linear output layer, and this model has a Sequential"):
        output_in_float32(model)


def test_option_without_effect_is_refused() -> None:
    with pytest.raises(ValidationError, match='`output_layer` has no effect with `dtype` = "float32"'):
        ModelSpec.model_validate({"path": "m", "dtype": "float32", "output_layer": "float32"})
    raw: dict[str, Any] = {"model": {"path": "m", "output_layer": "float32"}, "data": {"preferences": "p"}}
    assert JobSpec.model_validate(raw).model.output_layer == "float32"
    with pytest.raises(ValidationError, match="vLLM computes its logits in its own type"):
        JobSpec.model_validate(raw | {"ppo": {"rollout": {"engine": "vllm"}}})
    with pytest.raises(ValidationError, match=r'"fsdp" does not go with `model.output_layer` = "float32"'):
        JobSpec.model_validate(raw | {"runtime": {"sharding": "fsdp"}})
