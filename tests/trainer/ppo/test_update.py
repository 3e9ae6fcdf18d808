"""One PPO update on a real small policy: what must be 1, 0 and unchanged."""

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch

from tests import tolerance
from tests.trainer.stage_tools import context_of, four_models, new_codec, respond_and_learn, scored_by
from tests.trainer.tiny_models import gpt2, gpt2_scorer, llama, scorer
from trainer.models import Model
from trainer.ppo.experience import Experience
from trainer.ppo.iteration_log import update_metrics
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Minibatch
from trainer.ppo.update import update
from trainer.rollout.context import PPOModels
from trainer.spec import DataSpec, PPOSpec
from trainer.text.codec import Codec

PROMPTS = [[5], [6, 7, 8], [9, 10], [11, 12, 13, 14]]


class _Tokenizer:
    """Only the ids that a rollout reads; EOS and PAD are the same token."""

    eos_token_id = pad_token_id = 1
    chat_template = None
    added_tokens_decoder: ClassVar[dict[int, Any]] = {}

    def decode(self, ids: list[int], **options: object) -> str:
        return ""


def models_of(policy: Callable[[], Model], critic: Callable[[], Model]) -> PPOModels:
    reference, reward_model = policy().requires_grad_(False), critic().requires_grad_(False)
    return PPOModels(policy(), reference, reference, critic(), scored_by(reward_model), reward_model)


def build_experience(models: PPOModels, spec: PPOSpec) -> Experience:
    codec = Codec.for_tokenizer(_Tokenizer(), DataSpec(preferences="unused"))
    return respond_and_learn(models, PROMPTS, codec, spec, seed=0)


def spec_of(**changes: object) -> PPOSpec:
    defaults = {"steps": 1, "batch_size": 4, "epochs": 1, "minibatches": 1, "max_new_tokens": 9, "temperature": 0.7}
    return PPOSpec.model_validate({**defaults, "warmup_ratio": 0, **changes})


def step(models: PPOModels, spec: PPOSpec, experience: Experience) -> dict[str, float]:
    updated = update(
        context_of(models, spec),
        experience,
        Learners.build(models, spec),
        KLCoefficients(spec.kl.coef, spec.policy_loss.beta),
        0,
    )
    return update_metrics(updated.history)


@pytest.mark.parametrize(
    ("policy", "critic"), [(llama, scorer), (gpt2, gpt2_scorer)], ids=["llama", "gpt2 with dropout"]
)
def test_on_the_first_minibatch_the_ratio_is_1(policy: Callable[[], Model], critic: Callable[[], Model]) -> None:
    models, spec = models_of(policy, critic), spec_of()
    metrics = step(models, spec, build_experience(models, spec))
    assert metrics["val/ratio"] == pytest.approx(1, abs=tolerance.mean())
    assert metrics["policy/approxkl_avg"] == pytest.approx(0, abs=tolerance.largest() ** 2)
    assert metrics["policy/clipfrac_avg"] == 0


def test_the_kl_to_an_equal_reference_is_0() -> None:
    experience = build_experience(models_of(llama, scorer), spec_of())
    assert not experience.scored.kl_BR.any()


def test_the_micro_batch_split_changes_nothing_but_rounding() -> None:
    results = []
    for micro_batch_size in (None, 1, 3):
        models = models_of(llama, scorer)
        spec = spec_of(micro_batch_size=micro_batch_size, learning_rate=1e-2, critic={"learning_rate": 1e-2})
        metrics = step(models, spec, build_experience(models, spec))
        results.append((metrics, torch.cat([p.detach().flatten() for p in models.policy.parameters()])))
    (first, weights), *others = results
    for metrics, other_weights in others:
        assert metrics == pytest.approx(first, rel=1e-4, abs=1e-6)
        torch.testing.assert_close(other_weights, weights, **tolerance.gradients())


def test_update_pad_contents_change_no_metric_and_no_weight() -> None:
    outcomes = []
    for pad in (1, 17):
        models, spec = models_of(llama, scorer), spec_of(epochs=2, minibatches=2)
        experience = build_experience(models, spec)
        batch = experience.scored.batch
        lengths = batch.prompt_lengths_B + batch.completion_lengths_B
        padding = torch.arange(batch.input_ids_BT.shape[1]) >= lengths[:, None]
        assert padding.any()
        batch.input_ids_BT[padding] = pad
        outcomes.append((step(models, spec, experience), list(models.policy.parameters())))
    assert outcomes[0][0] == outcomes[1][0]
    assert all(torch.equal(a, b) for a, b in zip(outcomes[0][1], outcomes[1][1], strict=True))


def test_an_update_makes_good_tokens_likelier_and_bad_ones_rarer() -> None:
    models, spec = models_of(llama, scorer), spec_of(learning_rate=1e-3, advantage={})
    experience = build_experience(models, spec)
    step(models, spec, experience)
    from trainer.models.sequences import completion_logprobs

    with torch.no_grad():
        moved = completion_logprobs(models.policy, experience.scored.batch, 0.7)[0] - experience.scored.logprobs_BR
    assert float((moved * experience.advantages_BR).sum()) > 0


def test_only_policy_and_critic_move() -> None:
    models, spec = models_of(llama, scorer), spec_of(learning_rate=1e-2, critic={"learning_rate": 1e-2})
    four = (models.policy, models.reference, models.reward_model, models.critic)
    before = copy.deepcopy([list(m.parameters()) for m in four])
    step(models, spec, build_experience(models, spec))
    moved = [
        any(not torch.equal(a, b) for a, b in zip(old, new.parameters(), strict=True))
        for old, new in zip(before, four, strict=True)
    ]
    assert moved == [True, False, False, True]


def test_micro_batches_by_tokens_keep_gradient_and_order() -> None:
    spec = PPOSpec(batch_size=4, minibatches=2, epochs=2, steps=4, max_new_tokens=6, learning_rate=1e-2)
    actors = four_models()
    experience = respond_and_learn(actors, [[5, 6], [7], [8, 9, 10], [11]], new_codec(), spec, seed=1)
    rows = [2, 0, 3, 1]

    def accumulated(**changes: int) -> tuple[list[torch.Tensor], torch.Tensor]:
        changed = spec.model_copy(update=changes)
        learners = Learners.build(actors, changed)
        figures, tokens = Minibatch.select(experience, rows, changed, KLCoefficients(0.05, 0.0)).accumulate(
            learners, False
        )
        gradients = [p.grad.clone() for p in learners.policy.parameters]
        learners.drop_gradients()
        return [*gradients, torch.tensor(list(figures.values()))], tokens.clipped_BR

    with torch.no_grad():
        actors.policy.lm_head.weight.mul_(1.5)  # so that some ratios are clipped
    (whole, clipped), (parts, clipped_in_parts) = accumulated(), accumulated(micro_batch_tokens=9)
    assert clipped.any() and torch.equal(clipped, clipped_in_parts)
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, **tolerance.outputs())


def test_last_pass_has_the_ratio_and_entropy_of_each_token() -> None:
    spec, models = spec_of(epochs=2, learning_rate=1e-3, lr_schedule="constant"), four_models()
    experience = respond_and_learn(models, PROMPTS, new_codec(), spec, seed=0)
    coefficients = KLCoefficients(spec.kl.coef, spec.policy_loss.beta)
    result = update(context_of(models, spec), experience, Learners.build(models, spec), coefficients, 0)
    last, mask_BR = result.last_pass, experience.scored.batch.mask_BR
    assert last is not None and torch.equal(last.old_logprobs_BR, result.experience.scored.logprobs_BR)
    ratio_BR = (last.logprobs_BR - last.old_logprobs_BR).exp()
    assert float(ratio_BR[mask_BR].mean()) == pytest.approx(result.history[1]["ratio"])
    assert float(last.entropy_BR[mask_BR].mean()) == pytest.approx(result.history[1]["entropy"])
    assert result.history[1]["ratio"] != 1
