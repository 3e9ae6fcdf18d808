"""Direct decode steps draw what the model's own forward pass does, and serve only models for which that holds."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import Qwen3Config, Qwen3ForCausalLM

from tests import tolerance
from tests.trainer.models.lora.tools import maker, policy_in
from tests.trainer.sampling.test_in_place import OPTIONS, PROMPTS, SIZES, gemma, qwen, windowed
from tests.trainer.tiny_models import gpt2, llama
from trainer.models import Model, compute_in
from trainer.models.attention import packs
from trainer.sampling import sample_with, uniforms
from trainer.sampling.decoding import Progress, Step
from trainer.sampling.direct import direct
from trainer.sampling.engine import Response
from trainer.sampling.graphs import GraphDecoding


def qwen3(seed: int = 0) -> Model:
    """With norms of queries and keys."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(Qwen3Config(**SIZES)).eval()


def drawn(model: Model, decode: str) -> list[Response]:
    draws = uniforms(torch.Generator().manual_seed(7), len(PROMPTS), 24)
    return sample_with(model, PROMPTS, draws, OPTIONS, decoding=GraphDecoding(decode, pytest.fail))


def is_direct(model: Model, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a batch is drawn by direct steps, apart from the trial."""
    drawn(model, "auto")
    calls = []

    def counted(model: Model, progress: Progress) -> Step:
        calls.append(model)
        return direct(model, progress)

    monkeypatch.setattr("trainer.sampling.direct.direct", counted)
    drawn(model, "auto")
    return bool(calls)


@pytest.mark.parametrize("make", [llama, qwen, qwen3])
def test_direct_steps_draw_the_tokens_of_the_forward_pass(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make()
    assert is_direct(model, monkeypatch)
    own, found = drawn(model, "eager"), drawn(model, "auto")
    assert [r.ids for r in found] == [r.ids for r in own]
    assert len({len(r.ids) for r in own}) > 1  # rows leave at different steps
    for one, other in zip(found, own, strict=True):
        torch.testing.assert_close(torch.tensor(one.logprobs), torch.tensor(other.logprobs), **tolerance.outputs())


def test_direct_steps_follow_the_weights_as_they_change() -> None:
    model = llama()
    drawn(model, "auto")
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5)
    assert [r.ids for r in drawn(model, "auto")] == [r.ids for r in drawn(model, "eager")]


@pytest.mark.parametrize("make", [gpt2, gemma, windowed])
def test_direct_steps_are_not_taken_by_other_architectures(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_direct(make(), monkeypatch)


def test_direct_steps_are_not_taken_under_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_direct(compute_in(llama(), torch.bfloat16), monkeypatch)


def test_direct_steps_are_not_taken_by_an_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = maker(policy_in(tmp_path))
    assert not is_direct(made.policy("policy", tmp_path, "trained"), monkeypatch)


class Doubled(nn.Module):
    """A layer's feed-forward part with a factor that direct steps do not know."""

    def __init__(self, mlp: nn.Module) -> None:
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj, self.act_fn = (
            mlp.gate_proj,
            mlp.up_proj,
            mlp.down_proj,
            mlp.act_fn,
        )
        self._whole = mlp

    def forward(self, states: Tensor) -> Tensor:
        out: Tensor = 2 * self._whole(states)
        return out


def test_direct_steps_are_refused_where_the_trial_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama()
    layer: Any = model.model.layers[1]
    layer.mlp = Doubled(layer.mlp)
    assert not is_direct(model, monkeypatch)


def test_direct_steps_draw_the_same_before_and_after_packing() -> None:
    model = llama()
    before = drawn(model, "auto")
    assert packs(model)
    assert [(r.ids, r.logprobs) for r in drawn(model, "auto")] == [(r.ids, r.logprobs) for r in before]
