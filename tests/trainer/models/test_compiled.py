"""Compiled layers compute what they did before, and decoding does not go through them."""

from copy import deepcopy

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from tests import tolerance
from tests.trainer.tiny_models import llama
from trainer.errors import ModelError
from trainer.models import Model
from trainer.models.compiled import _require_a_compiler, compile_layers
from trainer.models.recompute import recompute_layers
from trainer.models.sequences import Batch, completion_logprobs
from trainer.sampling import sample
from trainer.text.stops import Stops

BATCH = Batch.of([[3, 4], [5, 6, 7], [8]], [[9, 10], [11, 12, 13, 14], [15]], pad_id=0)
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the compiler warns of itself while it traces


@pytest.fixture(scope="module", autouse=True)
def compiler() -> None:
    try:
        _require_a_compiler("cpu")
    except ModelError as missing:
        pytest.skip(str(missing))


def passed(model: Model) -> list[torch.Tensor]:
    """Log-probabilities and the gradients of their sum."""
    logprobs_BR = completion_logprobs(model, BATCH)[0]
    logprobs_BR.sum().backward()
    return [logprobs_BR.detach(), *(parameter.grad for parameter in model.parameters())]


def drawn(model: Model) -> list[list[int]]:
    said = sample(
        model, [[3, 4], [5, 6, 7]], stops=Stops((1,)), pad_id=0, max_new_tokens=6, temperature=1.0,
        generator=torch.Generator().manual_seed(0), device=torch.device("cpu"),
    )  # fmt: skip
    return [response.ids for response in said]


def test_passes_are_the_same_up_to_rounding_and_decoding_is_left_alone() -> None:
    plain, model = llama(), llama()
    compile_layers(model)
    recompute_layers(model)
    counters.clear()
    assert drawn(model) == drawn(plain) and not counters["stats"]["unique_graphs"]
    for a, b in zip(passed(model), passed(plain), strict=True):
        torch.testing.assert_close(a, b, **tolerance.outputs())
    assert counters["stats"]["unique_graphs"]


def test_a_copy_runs_on_its_own_weights() -> None:
    model = llama()
    compile_layers(model)
    with torch.no_grad():
        before, other = completion_logprobs(model, BATCH)[0], deepcopy(model)
        for weight in other.parameters():
            weight.zero_()
        assert torch.equal(completion_logprobs(model, BATCH)[0], before)
        assert not torch.equal(completion_logprobs(other, BATCH)[0], before)


def test_an_architecture_without_layers_is_refused() -> None:
    with pytest.raises(ModelError, match="has no layers for"):
        compile_layers(nn.Linear(2, 2))
