"""The self-test before the first iteration: it compares numbers of a few real prompts that must be equal.

`rounding.tolerance` measures how far rounding alone moves them. Each of the six checks finds an error that went unnoticed in
a published trainer. In one, the ratio of the first minibatch was not 1 (Huang et al. 2024, §3). In others, the sampler and
the trainer disagreed (Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL training"). The test uses its own random
streams and changes no state, so a run is bit-identical with and without it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from trainer.distributed.sharding import layerwise
from trainer.errors import SelfTestFailed
from trainer.models import Model, present
from trainer.models.rounding import HARMLESS, Gap, Tolerance, gap, tolerance
from trainer.models.sequences import Batch, completion_logprobs, completion_values, sequence_scores
from trainer.optim.micro_batches import BatchLimits
from trainer.ppo.critic_heads import HeadValues, owners
from trainer.ppo.experience import Experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Minibatch
from trainer.ppo.update import minibatches
from trainer.randomness import generator
from trainer.rewards.base import Scores
from trainer.rollout.batch import ScoredBatch, forward_in_parts, response_logprobs, sampler_logprobs
from trainer.rollout.context import PPOContext
from trainer.sampling import Response, uniforms
from trainer.session.session import Session
from trainer.stages.tokenized_rows import TokenizedDemonstration
from trainer.text.codec import TokenizedPrompt

_PROMPTS, _TOKENS, _ANSWERS = 8, 12, 64
_LOOKED_AT = 256
"""The shortest of so many prompts are taken: the test's cost depends on their length, its outcome does not."""
_STANDARD_ERRORS = 5.0
"""With 3, one healthy run in 370 would be stopped."""


@dataclass(frozen=True)
class SelfTestBatch:
    """A few responses of the policy with their log-probabilities, as `score` records them."""

    batch: Batch
    responses: list[Response]
    sampler_logprobs_BR: Tensor | None
    """None if the sampler does not report them."""
    logprobs_BR: Tensor


Forward = Callable[[Batch], Tensor]


@torch.no_grad()
def run_self_test(
    session: Session,
    context: PPOContext,
    learners: Learners,
    prompts: Sequence[TokenizedPrompt],
    references: Sequence[TokenizedDemonstration] = (),
) -> None:
    """Report that all checks passed, or raise SelfTestFailed with the check, its figures and the usual causes.

    `references` are the stored answers on which the run's own reward model was normalised.
    """
    models = context.models
    with layerwise(models.reference), layerwise(models.reward_model), layerwise(models.teacher):
        sampled = _sampled(context, prompts)
        metrics = _check_policy(sampled, context, learners)
        metrics |= _check_critic(sampled, models.critic, metrics)
        metrics |= _check_reference(sampled, context)
        metrics |= _check_teacher(sampled, context, metrics)
        metrics |= _check_reward_model(sampled, session, context, references, metrics)
    session.log("Self-test passed: " + ", ".join(f"{name} {value:.2g}" for name, value in metrics.items()) + ".")


def _check_policy(sampled: SelfTestBatch, context: PPOContext, learners: Learners) -> dict[str, float]:
    policy, what, forward = context.models.policy, "the policy's log-probabilities", _policy_forward(context)
    batch, mask_BR = sampled.batch, sampled.batch.mask_BR
    allowed = of_sampler = _measured(what, policy, forward, batch, mask_BR)
    if context.models.sampler.engine is not None:  # its kernels may round as in bfloat16
        of_sampler = tolerance(policy, lambda: forward(batch), mask_BR, torch.bfloat16)
    metrics = _check_sampler(sampled, of_sampler)
    metrics |= _check_ratio(sampled, context, learners, allowed)
    return metrics | _check_padding(what, forward, batch, mask_BR, allowed)


def _check_critic(sampled: SelfTestBatch, critic: Model | None, before: dict[str, float]) -> dict[str, float]:
    if critic is None:
        return {}
    what, forward, batch = "the critic's values", partial(completion_values, critic), sampled.batch
    allowed = _measured(what, critic, forward, batch, batch.mask_BR)
    return _worse(before, _check_padding(what, forward, batch, batch.mask_BR, allowed))


def _check_teacher(sampled: SelfTestBatch, context: PPOContext, before: dict[str, float]) -> dict[str, float]:
    teacher, batch = context.models.teacher, sampled.batch
    if teacher is None:
        return {}

    def forward(part: Batch) -> Tensor:
        return completion_logprobs(teacher, part, context.spec.temperature)[0]

    what = "the teacher's log-probabilities"
    allowed = _measured(what, teacher, forward, batch, batch.mask_BR)
    return _worse(before, _check_padding(what, forward, batch, batch.mask_BR, allowed))


def _check_reward_model(
    sampled: SelfTestBatch,
    session: Session,
    context: PPOContext,
    references: Sequence[TokenizedDemonstration],
    before: dict[str, float],
) -> dict[str, float]:
    model, batch, what = context.models.reward_model, sampled.batch, "the reward model's scores"
    if model is None:
        return {}
    forward = _scores_forward(model)
    whole_B1 = torch.ones(len(batch), 1, dtype=torch.bool, device=batch.input_ids_BT.device)
    allowed = _measured(what, model, forward, batch, whole_B1)
    metrics = _worse(before, _check_padding(what, forward, batch, whole_B1, allowed))
    if references:
        answers = _drawn(references, context.seed)
        metrics |= _check_stored_answers(model, answers, context, allowed)
        if session.spec.reward_model.normalize != "none" and "reward_model" in session.spec.stages:
            _check_normalisation(metrics, whole=len(answers) == len(references))
    return metrics


def _policy_forward(context: PPOContext) -> Forward:
    return lambda batch: completion_logprobs(context.models.policy, batch, context.spec.temperature)[0]


def _scores_forward(reward_model: Model) -> Forward:
    """Scores of shape (B, 1), because the other passes also return one row per response."""
    return lambda batch: sequence_scores(reward_model, batch)[:, None]


def _measured(what: str, model: Model, forward: Forward, batch: Batch, mask_BX: Tensor) -> Tolerance:
    """Return how far rounding moves these numbers. Raises SelfTestFailed if they are random or not finite."""
    found = tolerance(model, lambda: forward(batch), mask_BX)
    _require(math.isfinite(found.mean), f"{what} are not finite", "NaN or infinite", "weights that have diverged")
    _require(
        found.repeats,
        f"{what} differ between two equal passes",
        f"by more than rounding, which may move them by {found.mean:.2g} on average",
        "dropout or another source of chance left on",
    )
    return found


def _worse(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {name: max(value, one.get(name, 0.0)) for name, value in other.items()}


def _sampled(context: PPOContext, prompts: Sequence[TokenizedPrompt]) -> SelfTestBatch:
    """Sample up to 8 short prompts with at most 12 tokens each, from a random stream of the test's own."""
    models, spec, codec = context.models, context.spec, context.codec
    chosen = [prompt.ids for prompt in sorted(prompts[:_LOOKED_AT], key=lambda prompt: len(prompt.ids))[:_PROMPTS]]
    draws_BR = uniforms(generator(context.seed, "self_test"), len(chosen), min(spec.max_new_tokens, _TOKENS))
    with present(models.policy):
        responses = models.sampler.sample(models.policy, chosen, draws_BR, context.sampling_options())
        batch = Batch.from_ids(chosen, [response.ids for response in responses], codec.pad_id).to(context.device)
        logprobs_BR = forward_in_parts(_policy_forward(context), batch, BatchLimits.from_spec(spec), context.world)
    return SelfTestBatch(batch, responses, sampler_logprobs(responses, logprobs_BR), logprobs_BR)


def _check_sampler(sampled: SelfTestBatch, allowed: Tolerance) -> dict[str, float]:
    if sampled.sampler_logprobs_BR is None:
        return {}
    found = gap(sampled.sampler_logprobs_BR, sampled.logprobs_BR, sampled.batch.mask_BR)
    _require(
        allowed.allows(found),
        "the sampler and the training pass disagree about the log-probabilities of the sampled tokens",
        f"{_figures(found, allowed)} nats",
        "an architecture whose cached, left-padded forward pass differs from its plain one, logits that are scaled or "
        "capped in one of them alone, or another temperature",
    )
    return {"sampler gap": found.mean}


def _check_ratio(
    sampled: SelfTestBatch, context: PPOContext, learners: Learners, allowed: Tolerance
) -> dict[str, float]:
    """The first optimizer steps, which take gradients in micro-batches, must compute what `score` recorded."""
    experience, worst, mean_ratio = _experience(sampled, context), 0.0, 1.0
    for rows in minibatches(len(sampled.batch), context.spec, 0, context.seed):
        with torch.enable_grad():
            minibatch = Minibatch.select(experience, rows, context.spec, KLCoefficients(0.0, 0.0))
            try:
                metrics, _ = minibatch.accumulate(learners, only_critic=False)
            finally:
                learners.drop_gradients()
        rms = math.sqrt(2 * metrics["approxkl"])
        if rms >= worst:
            worst, mean_ratio = rms, metrics["ratio"]
    _require(
        worst <= allowed.rms,
        "the ratio of the policy to itself is not 1 in the first optimizer step",
        f"root mean square of its logarithm {_bounded(worst, allowed.rms)}, mean ratio {mean_ratio:.4g}",
        "layers that compute something else where gradients are taken, or one that mixes the rows of a batch",
    )
    return {"ratio off by": abs(mean_ratio - 1)}


def _experience(sampled: SelfTestBatch, context: PPOContext) -> Experience:
    """The responses in the form of an update's input, with nothing to learn: every score and advantage is 0."""
    zeros_BR, zeros_B = torch.zeros_like(sampled.logprobs_BR), torch.zeros_like(sampled.logprobs_BR[:, 0])
    scored = ScoredBatch(
        sampled.batch,
        sampled.responses,
        [],
        sampled.logprobs_BR,
        sampled.logprobs_BR,
        None,
        Scores([0.0] * len(sampled.batch), {}, {}),
        zeros_B,
        {},
    )
    values_BR, heads, several = None if context.models.critic is None else zeros_BR, None, context.spec.critic.heads
    if several is not None:
        heads = HeadValues(zeros_BR[..., None].expand(-1, -1, several.count), owners(scored, context.spec, several))
    return Experience(scored, zeros_B, zeros_BR, values_BR, zeros_BR, zeros_BR, heads)


def _check_padding(what: str, forward: Forward, batch: Batch, mask_BX: Tensor, allowed: Tolerance) -> dict[str, float]:
    """No number may change with other tokens on the pads, more pads, another order of the rows, or each row alone."""
    plain_BX = forward(batch)
    order = list(reversed(range(len(batch))))
    moved_BX = forward(_repadded(batch.select(order), batch.input_ids_BT.max()))[order]
    alone_BX = torch.zeros_like(plain_BX)
    for row in range(len(batch)):
        part_1X = forward(batch.select([row]))
        alone_BX[row, : part_1X.shape[1]] = part_1X[0]
    causes = {
        "the padding or on the order of the rows": gap(plain_BX, moved_BX, mask_BX),
        "the other rows of the batch": gap(plain_BX, alone_BX, mask_BX),
    }
    for cause, found in causes.items():
        _require(
            allowed.allows(found),
            f"{what} depend on {cause}",
            _figures(found, allowed),
            "attention that is not causal, a model that reads positions or masks off the token ids, or a layer that "
            "mixes the rows of a batch",
        )
    return {"padding gap": max(found.largest for found in causes.values())}


def _check_reference(sampled: SelfTestBatch, context: PPOContext) -> dict[str, float]:
    """The starting policy equals its reference unless the spec names another. Both round alike, so the bound is small."""
    reference_BR = response_logprobs(context, context.models.reference, sampled.batch)
    mean = gap(sampled.logprobs_BR, reference_BR, sampled.batch.mask_BR).mean
    _require(
        context.spec.reference.path is not None or mean <= HARMLESS.mean,
        "the KL to the reference is not 0 at the start",
        f"mean |log π − log π_ref| is {_bounded(mean, HARMLESS.mean)} nats per token",
        "a reference loaded from another checkpoint than the policy, in another type, or a policy that has already moved",
    )
    return {"distance from the reference": mean}


def _drawn(references: Sequence[TokenizedDemonstration], seed: int) -> list[TokenizedDemonstration]:
    """Draw up to 64 of them, because the first rows of a file may be alike."""
    drawn = torch.randperm(len(references), generator=generator(seed, "self_test", "answers"))
    return [references[index] for index in drawn[:_ANSWERS].tolist()]


def _check_stored_answers(
    model: Model, answers: list[TokenizedDemonstration], context: PPOContext, allowed: Tolerance
) -> dict[str, float]:
    """Stored answers must score the same alone and in a batch. The effect of their EOS is reported, but not checked."""
    pad_id, device = context.codec.pad_id, context.device

    def scores(completions: list[list[int]]) -> Tensor:
        batch = Batch.from_ids([a.prompt for a in answers], completions, pad_id).to(device)
        return torch.cat([sequence_scores(model, batch.select(part)) for part in _eights(len(batch))])

    whole = [answer.completion for answer in answers]
    together_B = scores(whole)
    alone = Batch.from_ids([answers[0].prompt], [whole[0]], pad_id).to(device)
    apart = abs(float(sequence_scores(model, alone)) - float(together_B[0]))
    _require(
        apart <= allowed.largest,
        "the reward model scores an answer differently alone and in a batch",
        f"{_bounded(apart, allowed.largest)} apart",
        "dropout left on, or a score read at another token than the last",
    )
    without = [ids[:-1] for ids in whole]
    eos = float((together_B - scores(without)).mean()) if all(without) else math.nan
    error = float(together_B.std(unbiased=True)) / math.sqrt(len(whole)) if len(whole) > 1 else math.nan
    return {"mean score of stored answers": float(together_B.mean()), "its standard error": error, "EOS adds": eos}


def _check_normalisation(figures: dict[str, float], whole: bool) -> None:
    """The normalisation gave its answers the mean 0: all of them exactly, a sample of them within its standard error."""
    mean, error = figures["mean score of stored answers"], figures["its standard error"]
    allowed = _STANDARD_ERRORS * error if math.isfinite(error) else math.inf
    _require(
        abs(mean) <= (min(allowed, 0.01 + 0.1 * error) if whole else allowed),
        "the stored answers do not score 0 on average, as the reward model's normalisation left them",
        f"mean {mean:.3g}, standard error {error:.2g}",
        "a reward model whose bias was lost on saving or loading, or scores read at another token than in training",
    )


def _eights(count: int) -> list[list[int]]:
    return [list(range(first, min(first + _PROMPTS, count))) for first in range(0, count, _PROMPTS)]


def _repadded(batch: Batch, filler: Tensor) -> Batch:
    """The same sequences with two more pads, and another token on all pads."""
    ids_BT = torch.nn.functional.pad(batch.input_ids_BT, (0, 2))
    lengths_B1 = (batch.prompt_lengths_B + batch.completion_lengths_B)[:, None]
    is_pad_BT = torch.arange(ids_BT.shape[1], device=ids_BT.device) >= lengths_B1
    return Batch(torch.where(is_pad_BT, filler, ids_BT), batch.prompt_lengths, batch.completion_lengths)


def _figures(found: Gap, allowed: Tolerance) -> str:
    return f"mean difference {_bounded(found.mean, allowed.mean)}, largest {_bounded(found.largest, allowed.largest)}"


def _bounded(found: float, allowed: float) -> str:
    return f"{found:.3g} (allowed {allowed:.2g})"


def _require(holds: bool, what: str, figures: str, causes: str) -> None:
    if not holds:
        raise SelfTestFailed(
            f"Self-test before the first iteration: {what} ({figures}). Usual causes: {causes}. "
            "`ppo.self_test` = false runs without the test."
        )
