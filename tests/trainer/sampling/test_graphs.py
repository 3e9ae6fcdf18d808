"""What a captured step computes, computed without a capture: that part needs no GPU."""

from typing import Any

import pytest
import torch

from tests.trainer.models import gpt2, llama
from tests.trainer.sampling.test_in_place import PROMPTS, qwen, windowed
from tests.trainer.stage_tools import CPU
from trainer.sampling import sample_with, uniforms
from trainer.sampling.decoding import Progress, takes_ready_masks
from trainer.sampling.graphs import buckets, fixed, stepper


def test_each_bucket_is_half_the_next_down_to_8_rows() -> None:
    assert buckets(64) == [8, 16, 32, 64]
    assert buckets(37) == [5, 10, 19, 37]
    assert buckets(1) == [1] and buckets(8) == [8]


@pytest.mark.parametrize("make", [llama, gpt2, qwen])
def test_a_step_over_fixed_memory_draws_the_same_tokens(make: Any) -> None:
    prompts = PROMPTS * 3
    draws = uniforms(torch.Generator().manual_seed(7), len(prompts), 24)
    options: dict[str, Any] = {"eos_id": 1, "pad_id": 0, "temperature": 0.8, "device": CPU}
    captures = []

    def captured(run: Any) -> Any:
        captures.append(run)
        return run

    plain = sample_with(make(), prompts, draws, **options)
    found = sample_with(
        make(), prompts, draws, **options, step=lambda model, progress: fixed(model, progress, captured)
    )
    assert found == plain
    assert len(captures) > 1 and len({len(r.ids) for r in plain}) > 1  # rows have left, so smaller steps were captured


def test_without_a_gpu_and_for_models_with_windows_steps_are_plain() -> None:
    draws = torch.zeros(2, 4)
    for model in (llama(), windowed()):
        progress = Progress.of(model, [[2], [3, 4]], draws, 1, 1.0, False)
        assert takes_ready_masks(model, progress.cache) == (model.config.model_type == "llama")
        step = stepper("auto", pytest.fail)(model, progress)
        assert step.__qualname__.startswith("eager")
