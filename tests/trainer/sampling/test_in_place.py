"""The in-place cache gives the same tokens as transformers' own, for any rows, endings and shared prompts."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GemmaConfig, GemmaForCausalLM, MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM

from tests import tolerance
from tests.trainer.models.lora.tools import maker, policy_in, stir
from tests.trainer.stage_tools import CPU
from tests.trainer.tiny_models import VOCABULARY, gpt2, llama
from trainer.models import Model, autocast, compute_in
from trainer.sampling import SamplingOptions, sample_with, uniforms
from trainer.sampling.built_in import sample_growing
from trainer.sampling.cache import InPlaceCache, keeps_in_place
from trainer.sampling.decoding import Progress, read_prompts, sample_in_place
from trainer.sampling.prefill import prompt_groups
from trainer.text.stops import Stops

PROMPTS = [[5, 6, 7], [8], [9, 10], [8], [11, 12, 13, 14, 15, 16, 17], [8], [3, 4, 9, 10, 2]]
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "head_dim": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": None, "eos_token_id": 1,
}  # fmt: skip


OPTIONS = SamplingOptions(Stops((1,)), 0, 0.8, CPU, with_logprobs=True)


def qwen(seed: int = 0) -> Model:
    torch.manual_seed(seed)
    return Qwen2ForCausalLM(Qwen2Config(**SIZES)).eval()


def gemma(seed: int = 0) -> Model:
    torch.manual_seed(seed)
    return GemmaForCausalLM(GemmaConfig(**SIZES)).eval()


def windowed(seed: int = 0) -> Model:
    """Every layer looks back four tokens only."""
    torch.manual_seed(seed)
    return MistralForCausalLM(MistralConfig(**SIZES, sliding_window=4)).eval()


def both(model: Model, prompts: list[list[int]], **options: Any) -> tuple[list[Any], list[Any]]:
    draws = uniforms(torch.Generator().manual_seed(7), len(prompts), 24)
    plain = sample_growing(model, prompts, draws, OPTIONS)
    return plain, sample_with(model, prompts, draws, OPTIONS, **options)


@pytest.mark.parametrize("make", [llama, gpt2, qwen, gemma, windowed])
@pytest.mark.parametrize("rows_at_once", [None, 3])
def test_in_place_cache_draws_the_same_as_the_model_cache(make: Any, rows_at_once: int | None) -> None:
    plain, found = both(make(), PROMPTS, rows_at_once=rows_at_once)
    assert [r.ids for r in found] == [r.ids for r in plain]
    assert len({len(r.ids) for r in plain}) > 1  # rows leave at different steps
    for one, other in zip(found, plain, strict=True):
        assert one.finished == other.finished
        torch.testing.assert_close(torch.tensor(one.logprobs), torch.tensor(other.logprobs), **tolerance.outputs())


def test_in_place_lora_role_is_sampled_with_its_adapter(tmp_path: Path) -> None:
    made = maker(policy_in(tmp_path))
    role, other = (stir(made.policy(part, tmp_path, "trained"), seed) for seed, part in enumerate(("policy", "other")))
    plain, found = both(role, PROMPTS)
    assert keeps_in_place(role) and [r.ids for r in found] == [r.ids for r in plain]
    assert [r.ids for r in plain] != [r.ids for r in both(other, PROMPTS)[1]]


def test_prompts_are_read_in_parts_and_equal_ones_once() -> None:
    prompts = [[5], [8], [8], [8], [2, 3], *[[2, 3, 4, 5, 6, 7, 8, 9]] * 2, [2, 3, 4, 5, 6, 7, 8, 9, 10]]
    parts = list(prompt_groups(prompts, worthwhile=12))
    assert [(part.first, part.last, part.source) for part in parts] == [(0, 5, [0, 1, 1, 1, 2]), (5, 8, [0, 0, 1])]
    assert parts[1].prompts == [prompts[5], prompts[7]]
    assert [ids for part in prompt_groups(prompts, 1) for ids in part.prompts] == [
        [5],
        [8],
        [2, 3],
        prompts[5],
        prompts[7],
    ]


def test_reading_in_parts_changes_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = both(llama(), PROMPTS)
    monkeypatch.setattr("trainer.sampling.decoding.prompt_groups", lambda prompts: prompt_groups(prompts, worthwhile=1))
    assert [r.ids for r in both(llama(), PROMPTS)[1]] == [r.ids for r in whole]


def test_no_pass_over_prompts_has_more_tokens_than_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """15 rows with five different prompts of three tokens, and nine more of three to eleven. Equal prompts are read once;
    each pass pads its prompts to the longest, and 24 tokens have room for six of three, three of six, two of eight …"""
    prompts = sorted([[5, 6, 7 + n] for n in range(5)] * 3 + [[2] * n for n in range(3, 12)], key=lambda p: (len(p), p))
    assert [(len(part.prompts), part.width) for part in prompt_groups(prompts)] == [(14, 11)]
    expected = [(6, 3), (3, 6), (2, 8), (2, 10), (1, 11)]
    parts = list(prompt_groups(prompts, most=24))
    assert [(len(part.prompts), part.width) for part in parts] == expected
    assert [row for part in parts for row in range(part.first, part.last)] == list(range(24))

    model, passes = llama(), []
    model.register_forward_pre_hook(lambda *args: passes.append(tuple(args[2]["input_ids"].shape)), with_kwargs=True)
    shuffled = prompts[::2] + prompts[1::2]
    _, whole = both(llama(), shuffled)
    monkeypatch.setattr("trainer.sampling.decoding.prompt_groups", lambda prompts: prompt_groups(prompts, most=24))
    draws = uniforms(torch.Generator().manual_seed(7), len(shuffled), 24)
    found = sample_with(model, shuffled, draws, OPTIONS)
    assert [shape for shape in passes if shape[1] > 1] == expected
    assert [r.ids for r in found] == [r.ids for r in whole]
    for one, other in zip(found, whole, strict=True):
        torch.testing.assert_close(torch.tensor(one.logprobs), torch.tensor(other.logprobs), rtol=1e-4, atol=1e-5)


def test_in_place_prompt_above_cap_has_a_separate_pass() -> None:
    parts = list(prompt_groups([[2], [3], [4] * 9, [5] * 9], worthwhile=100, most=4))
    assert [(part.first, part.last) for part in parts] == [(0, 2), (2, 3), (3, 4)]


def test_of_the_cache_only_the_rows_that_move_are_copied() -> None:
    cache = InPlaceCache(llama(), rows=4, width=6)
    window = cache.window
    window.prefilled, states = (slice(0, 4), None), torch.arange(4.0)[:, None, None, None].expand(4, 2, 3, 4)
    for layer in range(2):
        cache.update(states, -states, layer)
    window.prefilled, window.at, window.live = None, 2, 4
    before = cache.layers[1].keys.data_ptr()
    cache.move(torch.tensor([3]), torch.tensor([1]))
    assert cache.layers[1].keys[:, 0, 0, 0].tolist() == [0, 3, 2, 3]
    assert cache.layers[0].values[:, 1, 2, 3].tolist() == [0, -3, -2, -3]
    window.live, window.first, window.at = 3, 1, 3
    seen, _ = cache.update(states[:3, :, :1] + 10, states[:3, :, :1], 1)
    assert seen.shape == (3, 2, 3, 4) and seen[:, 0, -1, 0].tolist() == [10, 11, 12]
    assert cache.get_seq_length() == 2 and cache.layers[1].keys.data_ptr() == before


def test_in_place_batch_without_unfinished_rows_ends_at_once() -> None:
    model, calls = llama(), 0

    def counted(*args: Any, **inputs: Any) -> Any:
        nonlocal calls
        calls += 1
        return type(model).forward(model, *args, **inputs)

    model.forward = counted
    prompts = [[2], [3, 4]]
    with torch.no_grad():
        best = [int(llama()(torch.tensor([prompt])).logits[0, -1].argmax()) for prompt in prompts]
    for prompt, eos in zip(prompts, best, strict=True):
        options = SamplingOptions(Stops((eos,)), 0, 1e-4, CPU)
        (response,) = sample_in_place(model, [prompt], torch.full((1, 20), 0.5), options)
        assert response.finished and response.ids == [eos]
    assert calls == len(prompts)


def test_in_place_cache_under_autocast_has_the_compute_dtype() -> None:
    """Rotated keys come in float32: kept so, all of them would be cast again at every step."""
    model, draws = compute_in(llama(), torch.bfloat16), torch.zeros(1, 4)
    progress = Progress.begin(model, [[5, 6, 7]], draws, SamplingOptions(Stops((1,)), 0, 1.0, CPU))
    with autocast(model):
        read_prompts(model, progress, [[5, 6, 7]], 0)
    layer = progress.cache.layers[0]
    assert layer.keys.dtype == layer.values.dtype == torch.bfloat16
