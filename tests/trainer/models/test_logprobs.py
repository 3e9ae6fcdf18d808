import math

import pytest
import torch

from trainer.models import logprobs
from trainer.models.logprobs import entropies, selected_logprobs


def test_by_hand() -> None:
    logits = torch.tensor([[0.0, math.log(3.0)]])  # probabilities ¼ and ¾
    assert float(selected_logprobs(logits, torch.tensor([1]))) == pytest.approx(math.log(0.75))
    assert float(entropies(logits)) == pytest.approx(-(0.25 * math.log(0.25) + 0.75 * math.log(0.75)))


def test_temperature_by_hand() -> None:
    logits = torch.tensor([[0.0, math.log(9.0)]])  # at T = 2 again ¼ and ¾
    assert float(selected_logprobs(logits, torch.tensor([0]), temperature=2.0)) == pytest.approx(math.log(0.25))


def test_the_gradient_is_right() -> None:
    logits = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    targets = torch.tensor([0, 6, 3, 3, 1])
    weights = torch.arange(1.0, 6.0)
    loss = (selected_logprobs(logits, targets, 0.7) * weights).sum()
    (ours,) = torch.autograd.grad(loss, logits)
    reference = (torch.log_softmax(logits / 0.7, -1)[torch.arange(5), targets] * weights).sum()
    (exact,) = torch.autograd.grad(reference, logits)
    torch.testing.assert_close(ours, exact, rtol=1e-5, atol=1e-6)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = torch.randn(9, 11, generator=torch.Generator().manual_seed(1), requires_grad=True)
    targets = torch.arange(9)
    whole = selected_logprobs(logits, targets)
    (gradient,) = torch.autograd.grad(whole.sum(), logits)
    monkeypatch.setattr(logprobs, "_CHUNK_ELEMENTS", 25)  # two rows at a time
    parts = selected_logprobs(logits, targets)
    assert torch.equal(whole, parts)
    assert torch.equal(gradient, torch.autograd.grad(parts.sum(), logits)[0])


def test_nothing_fp32_of_the_vocabulary_is_kept_for_the_backward_pass() -> None:
    kept: list[torch.Tensor] = []
    logits = torch.randn(64, 512, dtype=torch.bfloat16, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        selected_logprobs(logits, torch.zeros(64, dtype=torch.long))
    assert not [t for t in kept if t.dtype == torch.float32 and t.numel() >= logits.numel()]


def test_the_gradient_of_the_entropy_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logprobs, "_CHUNK_ELEMENTS", 15)  # two rows at a time
    logits = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    weights = torch.arange(1.0, 6.0, dtype=torch.float64)
    (ours,) = torch.autograd.grad((entropies(logits, 0.7) * weights).sum(), logits)
    own = torch.log_softmax(logits / 0.7, -1)
    (exact,) = torch.autograd.grad((-(own.exp() * own).sum(-1) * weights).sum(), logits)
    torch.testing.assert_close(ours, exact)


def test_an_impossible_token_adds_no_entropy_and_gets_no_gradient() -> None:
    logits = torch.tensor([[0.0, 0.0, -torch.inf]], requires_grad=True)
    entropy = entropies(logits)
    (gradient,) = torch.autograd.grad(entropy.sum(), logits)
    assert float(entropy.detach()) == pytest.approx(math.log(2)) and gradient[0].tolist() == pytest.approx([0, 0, 0])


def test_double_precision_stays() -> None:
    logits = torch.randn(2, 3, dtype=torch.float64)
    assert entropies(logits).dtype == selected_logprobs(logits, torch.tensor([0, 1])).dtype == torch.float64


def test_the_gradient_of_a_sure_token_survives_bfloat16() -> None:
    """Logits (7, 0, 0, 0): p = 0.99727, so the target's gradient is 0.00273; 1 and p rounded apart give 0.0039 or 0."""
    logits = torch.tensor([[7.0, 0.0, 0.0, 0.0]], dtype=torch.bfloat16, requires_grad=True)
    selected_logprobs(logits, torch.tensor([0])).sum().backward()
    assert logits.grad is not None
    other = 1 / (math.exp(7) + 3)
    assert logits.grad[0].tolist() == pytest.approx([3 * other, -other, -other, -other], rel=0.01)
