"""Sequences end to end in one row compute what padded ones do."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from tests import tolerance
from tests.trainer.models.lora.tools import maker, policy_in, stir
from tests.trainer.stage_tools import CPU
from tests.trainer.tiny_models import gpt2, gpt2_scorer, llama, scorer
from trainer.errors import ModelError
from trainer.models import Model, compute_in, set_fresh
from trainer.models.attention import NAME, Layout, _side_by_side, pack_as, packs, reach, run_packed
from trainer.models.gradient_checkpointing import recompute_layers
from trainer.models.heads import ValueHead
from trainer.models.sequences import Batch, completion_logprobs, completion_values, sequence_scores, state_values
from trainer.sampling import SamplingOptions, sample
from trainer.text.stops import Stops

PROMPTS = [[3, 4], [6], [12, 13, 14], [17, 18], [20]]
COMPLETIONS = [[5, 1], [7, 8, 9, 10, 11, 1], [15, 16, 1], [19, 1], [21, 1]]
BATCH = Batch.from_ids(PROMPTS, COMPLETIONS, pad_id=0)
SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8}


def qwen3() -> Model:
    """Four query heads on two of keys and values, normed."""
    torch.manual_seed(0)
    return Qwen3ForCausalLM(Qwen3Config(vocab_size=23, num_key_value_heads=2, **SIZES)).eval()


def gemma3(window: int = 64) -> Model:
    """Every other layer looks back no further than its window."""
    torch.manual_seed(0)
    layers = ["sliding_attention", "full_attention"]
    config = Gemma3TextConfig(
        vocab_size=23, num_key_value_heads=1, sliding_window=window, layer_types=layers, pad_token_id=0, **SIZES
    )
    return Gemma3ForCausalLM(config).eval()


def with_gradients(model: Model, forward: Callable[[Model], Tensor]) -> list[Tensor]:
    """The result, then the gradients of the sum of its sines."""
    model.zero_grad(set_to_none=True)
    values = forward(model)
    values.sin().sum().backward()
    return [values.detach(), *(p.grad for p in model.parameters() if p.grad is not None)]


FORWARDS = {
    "logprobs": lambda model: completion_logprobs(model, BATCH, temperature=0.7)[0],
    "values": lambda model: completion_values(model, BATCH),
    "states": lambda model: state_values(model, BATCH),
    "scores": lambda model: sequence_scores(model, BATCH),
}


@pytest.mark.parametrize("recomputed", [False, True])
@pytest.mark.parametrize(
    ("make", "what"),
    [(make, "logprobs") for make in (llama, gpt2, qwen3, gemma3)]
    + [(make, what) for make in (scorer, gpt2_scorer) for what in ("values", "states", "scores")],
)
def test_numbers_and_gradients_are_those_of_padding(make: Callable[[], Model], what: str, recomputed: bool) -> None:
    models = pack_as(make(), True), pack_as(make(), False)
    for model in models if recomputed else ():
        recompute_layers(model)
    packed, padded = (with_gradients(model, FORWARDS[what]) for model in models)
    assert len(packed) == len(padded) > 10
    for ours, theirs in zip(packed, padded, strict=True):
        torch.testing.assert_close(ours, theirs, **tolerance.outputs())


def test_packing_trunk_receives_no_padding() -> None:
    model, seen = llama(), []
    model.model.layers[0].mlp.register_forward_pre_hook(lambda _, inputs: seen.append(tuple(inputs[0].shape)))
    completion_logprobs(model, BATCH)
    assert seen[-1] == (1, 4 + 7 + 6 + 4 + 3, 16)  # of 5 rows × 7 positions


def test_packing_row_does_not_depend_on_its_neighbours() -> None:
    model, batches = (
        llama(),
        [Batch.from_ids([[9, 8, 7, 5], [6], other], [[1], [7, 1], [1]], 0) for other in ([2], [3, 5])],
    )
    first, second = (completion_logprobs(model, batch)[0] for batch in batches)
    torch.testing.assert_close(first[:2], second[:2], rtol=0, atol=tolerance.largest())


def test_packing_covers_lora_roles_and_value_heads(tmp_path: Path) -> None:
    policy = stir(maker(policy_in(tmp_path)).policy("policy", tmp_path, "trained"), 1)
    head, rows = ValueHead(policy), []
    set_fresh(head.score, 0)
    policy.backbone.model.model.layers[0].mlp.register_forward_pre_hook(lambda _, inputs: rows.append(len(inputs[0])))
    for forward in (lambda: completion_logprobs(policy, BATCH)[0], lambda: completion_values(head, BATCH)):
        expected, found = (forward() for setting in (False, True) if pack_as(policy, setting))
        torch.testing.assert_close(found, expected, rtol=0, atol=tolerance.largest())
    assert [count for count in rows if count in (1, 5)][-3:] == [1, 5, 1]


def test_sampling_keeps_its_masks_and_its_cache() -> None:
    def sampled(model: Model) -> list[list[int]]:
        draws, prompts = torch.Generator().manual_seed(3), [[5, 6, 7], [8], [9, 10]]
        return [r.ids for r in sample(model, prompts, SamplingOptions(Stops((1,)), 0, 1.0, CPU), 6, draws)]

    model = pack_as(llama(), True)
    assert model.config._attn_implementation == NAME and sampled(model) == sampled(llama())


@pytest.mark.parametrize("dropped", ["position_ids", "layout", "places"])
def test_an_architecture_that_packs_wrongly_stays_padded(monkeypatch: pytest.MonkeyPatch, dropped: str) -> None:
    model = gpt2()
    forward = model.transformer.forward

    def odd(position_ids: Tensor | None = None, layout: Layout | None = None, **inputs: object) -> object:
        if layout is None:
            return forward(**inputs)
        if dropped == "places":
            return forward(position_ids=torch.where(position_ids == 0, 9, position_ids), layout=layout, **inputs)
        return forward(**({"position_ids": position_ids} if dropped == "layout" else {"layout": layout}), **inputs)

    monkeypatch.setattr(model.transformer, "forward", odd)
    assert not packs(model) and model.config._attn_implementation == "sdpa"
    torch.testing.assert_close(completion_logprobs(model, BATCH)[0], completion_logprobs(gpt2(), BATCH)[0])
    with pytest.raises(ModelError, match=r"gpt2: .* Set `runtime.packing`"):
        pack_as(model, True)


def test_other_attention_than_pytorchs_stays_padded() -> None:
    model = llama()
    model.set_attn_implementation("eager")
    assert not packs(model) and model.config._attn_implementation == "eager"


def test_sequences_longer_than_a_window_stay_padded() -> None:
    narrow, wide = gemma3(window=6), gemma3(window=64)
    assert reach(narrow) == 6 and not packs(narrow) and reach(wide) == 64 and packs(wide)
    wide.config.sliding_window = 6  # the longest of the batch has 7 tokens
    seen: list[int] = []
    wide.model.layers[0].mlp.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    completion_logprobs(wide, BATCH)
    assert seen == [5]


@pytest.mark.parametrize("make", [llama, gpt2])
def test_a_smaller_type_is_no_reason_to_pad(make: Callable[[], Model]) -> None:
    assert packs(compute_in(make(), torch.bfloat16)) and packs(make().to(torch.bfloat16))


def test_packing_check_accepts_rounding_of_a_deep_bfloat16_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last norm multiplies by 8, as pretrained ones do: single numbers are then off by a tenth and more."""
    monkeypatch.setattr("trainer.models.attention._one_by_one", _side_by_side)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=64, intermediate_size=128, num_hidden_layers=24, num_attention_heads=4
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
    model.model.norm.weight.data.fill_(8.0)
    assert packs(compute_in(model, torch.bfloat16))


def test_packing_padded_attention_gives_same_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU without a kernel for sequences of several lengths computes them side by side."""
    expected = with_gradients(llama(), FORWARDS["logprobs"])
    monkeypatch.setattr("trainer.models.attention._one_by_one", _side_by_side)
    for ours, theirs in zip(with_gradients(llama(), FORWARDS["logprobs"]), expected, strict=True):
        torch.testing.assert_close(ours, theirs, **tolerance.outputs())


def test_two_threads_pack_two_models_at_once() -> None:
    def hidden(model: Model) -> Tensor:
        return run_packed(model, BATCH.row_1N, BATCH.layout)

    alone = [hidden(model) for model in (llama(), gpt2()) if packs(model)]
    models = [llama(), gpt2()]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda model: [hidden(model) for _ in range(20) if packs(model)], models))
    assert all(torch.equal(one, found) for one, many in zip(alone, together, strict=True) for found in many)
