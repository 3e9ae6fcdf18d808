"""The scalar head by hand."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from trainer.models.heads import has_linear_score, head_logits, scalar_head

HIDDEN = torch.tensor([[1.0, 1.0], [0.0, -1.0]])


def model(bias: float | None, **config: float) -> SimpleNamespace:
    score = nn.Linear(2, 1, bias=bias is not None)
    with torch.no_grad():
        score.weight.copy_(torch.tensor([[1.0, 2.0]]))
        if bias is not None:
            score.bias.fill_(bias)
    return SimpleNamespace(score=score, config=SimpleNamespace(**config))


@pytest.mark.parametrize(
    ("bias", "config", "scores"),
    [
        (None, {}, [3.0, -2.0]),
        (0.5, {}, [3.5, -1.5]),
        (0.5, {"score_bias": 1.5}, [2.0, -3.0]),
        (0.5, {"score_bias": 1.5, "score_scale": 4.0}, [0.5, -0.75]),  # less the bias first, then divided
    ],
)
def test_scalar_head_subtracts_the_bias_and_divides(
    bias: float | None, config: dict[str, float], scores: list[float]
) -> None:
    assert scalar_head(model(bias, **config), HIDDEN).tolist() == scores


def test_scalar_head_computes_in_float32() -> None:
    """1 + 2·2⁻¹⁰ has no bfloat16 representation."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = scalar_head(model(None), torch.tensor([[1.0, 2.0**-10]], dtype=torch.bfloat16))
    assert (found.dtype, found.tolist()) == (torch.float32, [1 + 2.0**-9])


@pytest.mark.parametrize(("cap", "logits"), [(None, [3.0, -3.0]), (3.0, [2.284782, -2.284782])])  # 3·tanh 1
def test_head_logits_are_soft_capped(cap: float | None, logits: list[float]) -> None:
    layer = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3.0], [-3.0]]))
    policy = SimpleNamespace(get_output_embeddings=lambda: layer, config=SimpleNamespace(final_logit_softcapping=cap))
    assert head_logits(policy, torch.ones(1, 1)).detach().tolist() == [pytest.approx(logits, rel=1e-6)]


def test_scalar_score_is_a_linear_layer_with_one_output() -> None:
    assert has_linear_score(model(None))
    assert not has_linear_score(SimpleNamespace()) and not has_linear_score(SimpleNamespace(score=nn.Linear(2, 2)))
