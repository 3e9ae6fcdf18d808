"""Each check is made to fail by something that is really broken, and all pass on healthy models."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.trainer.running import metrics_of
from tests.trainer.stage_tools import new_codec, scored_by, session_in, train_ppo
from tests.trainer.tiny_models import gpt2, gpt2_scorer, llama, scorer
from trainer.errors import SelfTestFailed
from trainer.events import Message, read
from trainer.models import Model, compute_in
from trainer.models.attention import pack_as, packs
from trainer.ppo.learners import Learners
from trainer.ppo.self_test import run_self_test
from trainer.rollout.context import PPOContext, PPOModels
from trainer.session.session import Session
from trainer.spec import EvaluationSpec, PPOSpec
from trainer.stages.evaluation import HeldOut
from trainer.stages.reward_model.train import raw_scores
from trainer.stages.tokenized_rows import TokenizedDemonstration
from trainer.text.codec import TokenizedPrompt

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
PROMPTS = [TokenizedPrompt(f"prompt {n}", [2 + n, *range(3, 4 + n)]) for n in range(10)]
REFERENCES = [TokenizedDemonstration([2 + n % 9, 7], [*range(3, 4 + n % 5), 1]) for n in range(40)]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with session_in(tmp_path) as session:
        yield session


def actors_of(policy: Model, reference: Model, reward_model: Model, critic: Model) -> PPOModels:
    raw = raw_scores(reward_model, REFERENCES, new_codec(), 8, policy.device)
    reward_model.config.score_bias = float(raw.mean())
    return PPOModels(policy, reference, reference, critic, scored_by(reward_model), reward_model)


def llamas(policy: Model | None = None, reference: Model | None = None) -> PPOModels:
    return actors_of(llama() if policy is None else policy, llama() if reference is None else reference, scorer(), scorer(3))  # fmt: skip


def check(session: Session, actors: PPOModels, **changes: Any) -> None:
    spec = PPOSpec.model_validate(changes)
    context = PPOContext.from_session(session, actors, new_codec(), spec)
    run_self_test(session, context, Learners.build(actors, spec), PROMPTS, REFERENCES)


def test_self_test_healthy_models_pass_and_figures_are_logged(session: Session) -> None:
    check(session, llamas(), temperature=0.7)
    (event,) = [event for event, _ in read(session.run_dir / "events.jsonl")]
    assert isinstance(event, Message) and event.text.startswith("Self-test passed: sampler gap ")


def test_a_model_whose_pad_is_its_eos_passes(session: Session) -> None:
    check(session, actors_of(gpt2(), gpt2(), gpt2_scorer(), gpt2_scorer(5)))


def test_without_a_critic_and_a_reward_model_the_rest_is_tested(session: Session) -> None:
    healthy = llamas()
    check(session, PPOModels(healthy.policy, healthy.reference, healthy.initial, None, healthy.rewards, None))


def test_dropout_left_on_is_found(session: Session) -> None:
    torch.manual_seed(0)
    policy = gpt2().train()
    for layer in policy.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.5
    with pytest.raises(SelfTestFailed, match="the policy's log-probabilities differ between two equal passes"):
        check(session, actors_of(policy, gpt2(), gpt2_scorer(), gpt2_scorer(5)))


def test_chance_in_the_training_pass_alone_is_found(session: Session) -> None:
    """The k-th training pass adds k / 10 to its hidden states; the sampler's pass through the model is left alone."""
    policy = llama()
    assert packs(policy)  # tried beforehand: those passes are not to be counted
    calls = iter(range(100))
    plain = policy.base_model.forward
    policy.base_model.forward = lambda **kw: _shifted(plain(**kw), 0.0 if kw.get("use_cache") else next(calls) / 10)
    with pytest.raises(SelfTestFailed, match="differ between two equal passes"):
        check(session, llamas(policy))


@pytest.mark.parametrize("dtype", DTYPES)
def test_self_test_pass_that_differs_with_gradients_fails_ratio(session: Session, dtype: torch.dtype) -> None:
    """The optimizer step's own passes are measured: passes without gradients know nothing of this fault."""
    actors = llamas(compute_in(llama(), dtype), compute_in(llama(), dtype))
    plain = actors.policy.base_model.forward
    actors.policy.base_model.forward = lambda **kw: _shifted(plain(**kw), 0.02 * torch.is_grad_enabled())
    with pytest.raises(SelfTestFailed, match="ratio of the policy to itself is not 1"):
        check(session, actors)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("limits", [{}, {"micro_batch_size": 1}, {"micro_batch_tokens": 20}, {"minibatches": 8}])
def test_self_test_passes_with_batch_dependent_rounding(
    session: Session, monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, limits: dict[str, int]
) -> None:
    """Each linear layer's output is moved by up to half a unit, differently for each number of rows."""
    actors = llamas(compute_in(llama(), dtype), compute_in(llama(), dtype))
    for module in {*actors.policy.modules(), *actors.reference.modules()}:
        if isinstance(module, nn.Linear):
            module.register_forward_hook(_rounded_by_shape)
    check(session, actors, **limits)


def _rounded_by_shape(layer: nn.Module, inputs: Any, out: torch.Tensor) -> torch.Tensor:
    draws = torch.Generator().manual_seed(out[..., 0].numel())
    unit = torch.finfo(out.dtype).eps * (torch.rand(out.shape, generator=draws) - 0.5)
    return (out.float() * (1 + unit)).to(out.dtype)


@pytest.mark.parametrize("fault", ["temperature", "positions", "mask"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_self_test_sampler_fault_exceeds_the_rounding_limit(session: Session, dtype: torch.dtype, fault: str) -> None:
    """A sampler at temperature 0.8, one position off, or without the mask of its left padding, in small types too."""
    policy, reference = (compute_in(gpt2().requires_grad_(), dtype) for _ in range(2))
    plain = policy.forward

    def faulty(**inputs: Any) -> Any:
        if fault == "positions":
            inputs["position_ids"] = inputs["position_ids"] + 1
        if fault == "mask":
            inputs["attention_mask"] = torch.ones_like(inputs["attention_mask"])
        out = plain(**inputs)
        if fault == "temperature":
            out.logits = out.logits / 0.8
        return out

    policy.forward = faulty
    with pytest.raises(SelfTestFailed, match="the sampler and the training pass disagree"):
        check(session, actors_of(policy, reference, gpt2_scorer(), gpt2_scorer(5)))


def _shifted(out: Any, by: float) -> Any:
    out.last_hidden_state = out.last_hidden_state + by * torch.arange(16.0)
    return out


@pytest.mark.parametrize(
    ("part", "what"), [("critic", "the critic's values"), ("reward_model", "the reward model's scores")]
)
def test_self_test_model_that_attends_to_pads_fails(session: Session, part: str, what: str) -> None:
    actors = llamas()
    for layer in pack_as(getattr(actors, part), False).modules():  # laid end to end, it would see none
        if hasattr(layer, "is_causal"):
            layer.is_causal = False
    with pytest.raises(SelfTestFailed, match=f"{what} depend on the padding"):
        check(session, actors)


def test_a_sampler_at_another_temperature_is_found(session: Session) -> None:
    policy = llama()
    policy.lm_head.register_forward_hook(lambda layer, inputs, out: out / 0.8 if out.shape[1] == 1 else out)
    with pytest.raises(SelfTestFailed, match="the sampler and the training pass disagree"):
        check(session, llamas(policy))


def test_self_test_other_reference_fails_unless_spec_sets_it(session: Session) -> None:
    actors = llamas(reference=llama(2))
    with pytest.raises(SelfTestFailed, match="the KL to the reference is not 0 at the start"):
        check(session, actors)
    check(session, actors, reference={"path": "somewhere/else"})


def test_a_reward_model_that_lost_its_bias_is_found(session: Session) -> None:
    actors = llamas()
    assert actors.reward_model is not None
    actors.reward_model.config.score_bias += 4.0
    with pytest.raises(SelfTestFailed, match="stored answers do not score 0 on average"):
        check(session, actors)


def test_scores_that_are_not_finite_are_found(session: Session) -> None:
    actors = llamas()
    nn.init.constant_(actors.policy.lm_head.weight, float("nan"))
    with pytest.raises(SelfTestFailed):
        check(session, actors)


def test_no_random_stream_and_no_weight_is_touched(session: Session) -> None:
    actors = llamas()
    before = torch.get_rng_state(), {name: tensor.clone() for name, tensor in actors.policy.state_dict().items()}
    check(session, actors)
    assert torch.equal(before[0], torch.get_rng_state())
    assert all(torch.equal(tensor, before[1][name]) for name, tensor in actors.policy.state_dict().items())
    assert all(parameter.grad is None for parameter in actors.policy.parameters())


def test_self_test_does_not_change_the_run(tmp_path: Path) -> None:
    runs = {}
    for self_tested in (True, False):
        spec = PPOSpec(steps=2, batch_size=4, minibatches=2, max_new_tokens=5, self_test=self_tested)
        folder, actors = tmp_path / str(self_tested), llamas()
        folder.mkdir()
        with session_in(folder) as session:
            train_ppo(session, spec, actors, PROMPTS, HeldOut(PROMPTS[:2], None, EvaluationSpec()), references=REFERENCES)  # fmt: skip
        said = [event.text for event, _ in read(folder / "events.jsonl") if isinstance(event, Message)]
        assert any(text.startswith("Self-test passed") for text in said) == self_tested
        runs[self_tested] = metrics_of(folder), [weight.detach() for weight in actors.policy.parameters()]
    assert runs[True][0] == runs[False][0] and len(runs[True][0]) == 3
    assert all(torch.equal(a, b) for a, b in zip(runs[True][1], runs[False][1], strict=True))


def test_self_test_failure_ends_the_run_before_a_step(session: Session) -> None:
    actors = llamas(reference=llama(2))
    with pytest.raises(SelfTestFailed):
        train_ppo(session, PPOSpec(), actors, PROMPTS, HeldOut(PROMPTS[:2], None, EvaluationSpec()))
    assert metrics_of(session.run_dir) == {}
