"""The output layer in one piece against PyTorch's own operations, in double precision, one by one."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from tests import tolerance
from tests.trainer.tiny_models import llama
from trainer.models import Model, compute_in, output_layer
from trainer.models.output_layer import token_logprobs
from trainer.models.sequences import Batch, completion_logprobs

TOKENS, VOCABULARY, HIDDEN = 9, 11, 5
TARGETS = torch.tensor([0, 10, 3, 3, 1, 7, 2, 9, 5])
WEIGHTS = torch.linspace(-1, 1, TOKENS, dtype=torch.float64), torch.linspace(0.5, -2, TOKENS, dtype=torch.float64)


def layer(bias: bool = False, softcap: float | None = None, dtype: torch.dtype = torch.float64) -> Model:
    torch.manual_seed(0)
    head = nn.Linear(HIDDEN, VOCABULARY, bias=bias, dtype=dtype)
    nn.init.normal_(head.weight)
    config = SimpleNamespace(final_logit_softcapping=softcap)
    return SimpleNamespace(get_output_embeddings=lambda: head, config=config, head=head, device=torch.device("cpu"))


def hidden(dtype: torch.dtype = torch.float64) -> Tensor:
    draws = torch.Generator().manual_seed(1)
    return torch.randn(TOKENS, HIDDEN, dtype=dtype, generator=draws).requires_grad_()


def step_by_step(model: Model, hidden_NH: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    logits, cap = model.head(hidden_NH), model.config.final_logit_softcapping
    logits = logits if cap is None else cap * torch.tanh(logits / cap)
    own = torch.log_softmax(logits / temperature, -1)
    return own[torch.arange(TOKENS), TARGETS], -(own.exp() * own).sum(-1)


def gradients(model: Model, inputs: Tensor, of: tuple[Tensor, Tensor | None]) -> list[Tensor]:
    logprobs, entropy = of
    loss = (logprobs * WEIGHTS[0]).sum() + (0 if entropy is None else (entropy * WEIGHTS[1]).sum())
    return list(torch.autograd.grad(loss, [inputs, *model.head.parameters()]))


@pytest.mark.parametrize("buffer", [1 << 20, 2 * VOCABULARY * 8])
@pytest.mark.parametrize("at_once", [1 << 18, 2 * VOCABULARY])
@pytest.mark.parametrize(("bias", "softcap", "temperature"), [(False, None, 1.0), (True, None, 0.7), (True, 2.0, 1.3)])
@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("as_on_a_gpu", [False, True])
def test_numbers_and_gradients(
    monkeypatch: pytest.MonkeyPatch,
    buffer: int,
    at_once: int,
    bias: bool,
    softcap: float | None,
    temperature: float,
    entropy: bool,
    as_on_a_gpu: bool,
) -> None:
    """Kept whole or computed twice, two rows at a time; looked at all at once or by twos."""
    monkeypatch.setattr(output_layer, "_waits_for_memory", lambda logits: as_on_a_gpu)
    monkeypatch.setattr(output_layer, "BUFFER_BYTES", buffer)
    monkeypatch.setattr(output_layer, "_CACHED_ELEMENTS", at_once)
    model, inputs = layer(bias, softcap), hidden()
    ours = token_logprobs(model, inputs, TARGETS, temperature, with_entropy=entropy)
    logprobs, entropies = step_by_step(model, inputs, temperature)
    theirs = (logprobs, entropies if entropy else None)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(gradients(model, inputs, ours), gradients(model, inputs, theirs))


def test_by_hand() -> None:
    """Hidden state 1 and weights 0 and log 3: probabilities ¼ and ¾."""
    head = nn.Linear(1, 2, bias=False)
    head.weight.data = torch.tensor([[0.0], [math.log(3)]])
    model = SimpleNamespace(get_output_embeddings=lambda: head, config=SimpleNamespace())
    logprobs, entropy = token_logprobs(model, torch.ones(1, 1), torch.tensor([1]), with_entropy=True)
    assert logprobs.tolist() == pytest.approx([math.log(0.75)])
    assert entropy is not None and entropy.tolist() == pytest.approx([-0.25 * math.log(0.25) - 0.75 * math.log(0.75)])
    logprobs.sum().backward()
    assert head.weight.grad is not None and head.weight.grad.flatten().tolist() == pytest.approx([-0.25, 0.25])


@pytest.mark.parametrize("as_on_a_gpu", [False, True])
def test_the_gradient_of_a_sure_token_survives_bfloat16(monkeypatch: pytest.MonkeyPatch, as_on_a_gpu: bool) -> None:
    """Logits (7, 0, 0, 0): p = 0.99727, so the target's gradient is 0.00273; 1 and p rounded apart give 0.0039 or 0."""
    monkeypatch.setattr(output_layer, "_waits_for_memory", lambda logits: as_on_a_gpu)
    head = nn.Linear(4, 4, bias=False, dtype=torch.bfloat16)
    head.weight.data = torch.eye(4, dtype=torch.bfloat16)
    model = SimpleNamespace(get_output_embeddings=lambda: head, config=SimpleNamespace())
    inputs = torch.tensor([[7.0, 0.0, 0.0, 0.0]], dtype=torch.bfloat16, requires_grad=True)
    logprobs, _ = token_logprobs(model, inputs, torch.tensor([0]))
    assert logprobs.dtype == torch.float32
    logprobs.sum().backward()
    other = 1 / (math.exp(7) + 3)
    assert inputs.grad is not None
    assert inputs.grad[0].tolist() == pytest.approx([3 * other, -other, -other, -other], rel=0.01)


@pytest.mark.parametrize("dtype", [torch.bfloat16])
def test_output_layer_autocast_gradients_match_plain_operations(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    batch = Batch.from_ids([[3, 4], [6]], [[5, 1], [7, 8, 9, 1]], pad_id=0)

    def learned(one_by_one: bool) -> Tensor:
        monkeypatch.setattr(output_layer, "_is_plain", lambda head: not one_by_one)
        model = compute_in(llama(), dtype)
        logprobs, entropy = completion_logprobs(model, batch, 0.8, with_entropy=True)
        (logprobs.sin() + entropy).sum().backward()
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])

    ours, theirs = learned(False), learned(True)
    assert float((ours - theirs).norm() / theirs.norm()) < 0.02


def test_tied_embeddings_get_both_gradients() -> None:
    batch = Batch.from_ids([[3, 4], [6]], [[5, 1], [7, 8, 9, 1]], pad_id=0)
    model = llama()
    model.lm_head.weight = model.model.embed_tokens.weight
    completion_logprobs(model, batch)[0].sum().backward()
    ours = model.lm_head.weight.grad.clone()
    model.zero_grad()
    ids = batch.input_ids_BT
    own = torch.log_softmax(model(ids, use_cache=False).logits, -1)
    total = sum(own[row, at - 1, ids[row, at]] for row, ends in enumerate([(2, 4), (1, 5)]) for at in range(*ends))
    total.backward()
    torch.testing.assert_close(ours, model.lm_head.weight.grad, **tolerance.outputs())


@pytest.mark.parametrize(("buffer", "numbers"), [(1 << 20, TOKENS * VOCABULARY), (1, 0)])
def test_output_layer_keeps_at_most_one_copy_of_the_logits(
    monkeypatch: pytest.MonkeyPatch, buffer: int, numbers: int
) -> None:
    monkeypatch.setattr(output_layer, "BUFFER_BYTES", buffer)
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        logprobs, _ = token_logprobs(layer(), hidden(), TARGETS, with_entropy=True)
    whole = logprobs.grad_fn.whole
    assert not [t for t in kept if t.shape == (TOKENS, VOCABULARY)]
    assert (0 if whole is None else whole.numel()) == numbers


def test_a_second_backward_pass_is_right_too() -> None:
    model, inputs = layer(), hidden()
    logprobs, _ = token_logprobs(model, inputs, TARGETS)
    first, second = (torch.autograd.grad(logprobs.sum(), inputs, retain_graph=True)[0] for _ in range(2))
    torch.testing.assert_close(first, second)


def test_output_layer_head_with_hooks_uses_plain_operations() -> None:
    model, heard = layer(), []
    model.head.register_forward_hook(lambda *_: heard.append(1))
    found = token_logprobs(model, hidden(), TARGETS, 0.7, with_entropy=True)
    torch.testing.assert_close(found, step_by_step(model, hidden(), 0.7))
    assert heard == [1, 1]


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_hooked_head_has_the_same_gradients(temperature: float) -> None:
    model, inputs = layer(), hidden()
    plain = token_logprobs(model, inputs, TARGETS, temperature, with_entropy=True)
    expected = gradients(model, inputs, plain)
    model.head.register_forward_hook(lambda *_: None)
    hooked = token_logprobs(model, inputs, TARGETS, temperature, with_entropy=True)
    torch.testing.assert_close(hooked, plain)
    torch.testing.assert_close(gradients(model, inputs, hooked), expected)


def test_hooked_head_keeps_no_fp32_logits() -> None:
    model, kept = layer(dtype=torch.bfloat16), list[Tensor]()
    model.head.register_forward_hook(lambda *_: None)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        token_logprobs(model, hidden(torch.bfloat16), TARGETS)
    assert not [t for t in kept if t.dtype == torch.float32 and t.numel() >= TOKENS * VOCABULARY]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_impossible_token_adds_no_entropy_and_gets_no_gradient(dtype: torch.dtype) -> None:
    """A hook sets the logit of a token to −∞, as a mask of forbidden tokens does. The others are far below 0."""
    head = nn.Linear(3, 3, bias=False, dtype=dtype)
    head.weight.data = torch.eye(3, dtype=dtype)
    head.register_forward_hook(lambda _module, _inputs, logits: logits + torch.tensor([0.0, 0.0, -torch.inf]))
    model = SimpleNamespace(get_output_embeddings=lambda: head, config=SimpleNamespace())
    inputs = torch.tensor([[-8.0, -8.0, 0.0]], dtype=dtype, requires_grad=True)
    _, entropy = token_logprobs(model, inputs, torch.tensor([0]), with_entropy=True)
    assert entropy is not None and float(entropy.detach()) == pytest.approx(math.log(2))
    (gradient,) = torch.autograd.grad(entropy.sum(), inputs)
    assert gradient[0].tolist() == pytest.approx([0, 0, 0])
