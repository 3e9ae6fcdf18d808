"""Gradient checkpointing changes memory and nothing else: dropout stays off, sampling keeps its cache."""

from copy import deepcopy
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, OPTConfig, OPTForCausalLM

from tests.trainer.models.lora.tools import BATCH, maker, policy_in, stir
from tests.trainer.tiny_models import gpt2, llama
from trainer.errors import ModelError
from trainer.models import Model, trunk
from trainer.models.gradient_checkpointing import recompute_layers
from trainer.models.sequences import completion_logprobs, completion_values
from trainer.sampling import SamplingOptions, sample
from trainer.text.stops import NO_STOPS


def opt() -> Model:
    """Its layers apply dropout by their own training flag, and drop whole layers by the decoder's."""
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "ffn_dim": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "word_embed_proj_dim": 16,
    }
    return OPTForCausalLM(
        OPTConfig(vocab_size=23, max_position_embeddings=64, dropout=0.5, layerdrop=0.5, **sizes)
    ).eval()


def gradients(model: Model) -> list[torch.Tensor]:
    model.zero_grad()
    completion_logprobs(model, BATCH)[0].sum().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("make", [llama, gpt2, opt])
def test_recompute_layers_keeps_gradient_bits_despite_dropout(make: object) -> None:
    model = make()  # type: ignore[operator]
    expected = gradients(model)
    recompute_layers(model)
    assert all(torch.equal(a, b) for a, b in zip(gradients(model), expected, strict=True))


def test_recompute_layers_reruns_only_for_a_backward_pass() -> None:
    model, calls = llama(), []
    recompute_layers(model)
    model.model.layers[0].mlp.register_forward_pre_hook(lambda *_: calls.append(1))
    completion_logprobs(model, BATCH)[0].sum().backward()
    assert len(calls) == 2
    with torch.no_grad():
        completion_logprobs(model, BATCH)
    assert len(calls) == 3


def test_less_is_kept_for_the_backward_pass() -> None:
    def kept(model: Model) -> int:
        sizes: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
            trunk(model)(input_ids=torch.ones(4, 32, dtype=torch.long), use_cache=False)
        return sum(sizes)

    model = llama()
    before = kept(model)
    recompute_layers(model)
    assert kept(model) < before / 3


def test_sampling_keeps_its_cache() -> None:
    model = llama()
    options = SamplingOptions(NO_STOPS, 0, 1.0, torch.device("cpu"))
    expected = sample(model, [[5], [6, 7]], options, 6, torch.Generator().manual_seed(0))
    recompute_layers(model)
    assert sample(model, [[5], [6, 7]], options, 6, torch.Generator().manual_seed(0)) == expected


def test_recompute_layers_copied_model_uses_its_copied_layers() -> None:
    model = llama()
    recompute_layers(model)
    copy = deepcopy(model)
    with torch.no_grad():
        copy.model.layers[0].mlp.down_proj.weight.zero_()
        copy.model.layers[1].mlp.down_proj.weight.zero_()
    assert not torch.equal(completion_logprobs(copy, BATCH)[0], completion_logprobs(model, BATCH)[0])


def test_recompute_layers_uses_adapter_of_the_forward_pass(tmp_path: Path) -> None:
    """Another role runs its forward pass before the backward pass of the first."""
    folder = policy_in(tmp_path)
    found = []
    for recompute in (False, True):
        make = maker(folder, gradient_checkpointing=recompute)
        policy = stir(make.policy("policy", folder, "trained"), 1)
        critic = stir(make.scorer("critic", folder, "trained", fresh_head=7), 2)
        loss, other = completion_logprobs(policy, BATCH)[0].sum(), completion_values(critic, BATCH).sum()
        loss.backward()
        other.backward()
        found.append([p.grad.clone() for role in (policy, critic) for p in role.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_an_architecture_without_such_layers_is_refused() -> None:
    with pytest.raises(ModelError, match=r"has no layers for `model.gradient_checkpointing`"):
        recompute_layers(torch.nn.Linear(2, 2))


def test_dropout_of_a_pretrained_config_is_off() -> None:
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=23, n_embd=16, n_layer=2, n_head=4, attn_pdrop=0.9, resid_pdrop=0.9)
    ).eval()
    recompute_layers(model)
    first, second = (completion_logprobs(model, BATCH)[0] for _ in range(2))
    assert torch.equal(first, second)
