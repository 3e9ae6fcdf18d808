"""What a captured step computes, computed without a capture: that part needs no GPU."""

from typing import Any

import pytest
import torch

from tests.trainer.models import gpt2, llama
from tests.trainer.sampling.test_in_place import PROMPTS, qwen, windowed
from tests.trainer.stage_tools import CPU
from trainer.models import Model, compute_in
from trainer.sampling import graphs, sample_with, uniforms
from trainer.sampling.decoding import Progress, Step, eager, takes_ready_masks
from trainer.sampling.graphs import buckets, fixed, stepper
from trainer.stops import Stops


def test_each_bucket_is_half_the_next_down_to_8_rows() -> None:
    assert buckets(64) == [8, 16, 32, 64]
    assert buckets(37) == [5, 10, 19, 37]
    assert buckets(1) == [1] and buckets(8) == [8]


@pytest.mark.parametrize("make", [llama, gpt2, qwen])
def test_a_step_over_fixed_memory_draws_the_same_tokens(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    monkeypatch.setattr(graphs, "_COLUMNS", 12)
    prompts = PROMPTS * 3
    draws = uniforms(torch.Generator().manual_seed(7), len(prompts), 24)
    options: dict[str, Any] = {"stops": Stops((1,)), "pad_id": 0, "temperature": 0.8, "device": CPU}
    captures = []

    def captured(run: Any) -> Any:
        captures.append(run)
        return run

    plain = sample_with(make(), prompts, draws, **options)
    found = sample_with(
        make(), prompts, draws, **options, step=lambda model, progress: fixed(model, progress, captured)
    )
    assert found == plain
    # rows have left, so smaller steps were captured; the others went on, so wider ones
    assert len(captures) > 3 and len({len(r.ids) for r in plain}) > 1


@pytest.mark.parametrize("make", [llama, gpt2, qwen])
def test_under_autocast_a_step_over_fixed_memory_says_nearly_the_same(make: Any) -> None:
    said: list[tuple[torch.Tensor, torch.Tensor]] = []

    def both(model: Model, progress: Progress) -> Step:
        ours, plain = fixed(model, progress), eager(model, progress)

        def step(tokens_B: torch.Tensor) -> torch.Tensor:
            said.append((ours(tokens_B), plain(tokens_B)))
            return said[-1][1]

        return step

    draws = uniforms(torch.Generator().manual_seed(7), len(PROMPTS), 12)
    sample_with(
        compute_in(make(), torch.bfloat16),
        PROMPTS,
        draws,
        stops=Stops((1,)),
        pad_id=0,
        temperature=0.8,
        device=CPU,
        step=both,
    )
    assert len(said) == 11
    for ours, plain in said:
        assert ours.dtype == plain.dtype == torch.bfloat16
        assert ((ours - plain).float().norm() / plain.float().norm()).item() < 0.02


def test_without_a_gpu_and_for_models_with_windows_steps_are_plain() -> None:
    draws = torch.zeros(2, 4)
    for model in (llama(), windowed()):
        progress = Progress.of(model, [[2], [3, 4]], draws, Stops((1,)), 1.0, False)
        assert takes_ready_masks(model, progress.cache) == (model.config.model_type == "llama")
        step = stepper("auto", pytest.fail)(model, progress)
        assert step.__qualname__.startswith("eager")
