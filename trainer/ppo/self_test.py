"""A broken run is stopped before its first iteration: on a few real prompts, numbers that must be equal are compared.

`rounding.tolerance` measures how far rounding alone moves them. There are six checks, each of something that has gone wrong
unseen in a published trainer: the ratio of the first minibatch is not 1 (Huang et al. 2024, §3); sampler and trainer disagree
(Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL training"). Nothing is drawn from the run's
own random streams, and no state is touched: a run is the same, bit for bit, with and without it.

Shapes: B prompts, R response positions.
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
from trainer.optim.micro_batches import Limits
from trainer.ppo.experience import Experience
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Coefficients, Minibatch
from trainer.ppo.update import minibatches
from trainer.randomness import generator
from trainer.rewards.base import Scores
from trainer.rollout.batch import ScoredBatch, in_parts, sampler_logprobs
from trainer.rollout.context import PPOModels
from trainer.sampling import Response, uniforms
from trainer.session.session import Session
from trainer.spec import PPOSpec
from trainer.stages.tokenized_rows import TokenizedDemonstration
from trainer.text.codec import Codec, TokenizedPrompt

_PROMPTS, _TOKENS, _ANSWERS = 8, 12, 64
_LOOKED_AT = 256
"""Prompts of which the shortest are taken: what is tested does not depend on length, what it costs does."""
_STANDARD_ERRORS = 5.0
"""At 3, one healthy run in 370 would be stopped."""


@dataclass(frozen=True)
class Sampled:
    """A few responses of the policy with their log-probabilities, recorded as `score` records them."""

    batch: Batch
    responses: list[Response]
    sampler_logprobs_BR: Tensor | None
    """None where the sampler does not say."""
    logprobs_BR: Tensor


Forward = Callable[[Batch], Tensor]


@torch.no_grad()
def run(
    session: Session,
    spec: PPOSpec,
    actors: PPOModels,
    learners: Learners,
    codec: Codec,
    prompts: Sequence[TokenizedPrompt],
    references: Sequence[TokenizedDemonstration] = (),
) -> None:
    """Raise SelfTestFailed, naming the check, its figures and the usual causes, or say that all is well.

    `references` are the stored answers on which the run's own reward model was normalised.
    """
    with layerwise(actors.reference), layerwise(actors.reward_model):
        _run(session, spec, actors, learners, codec, prompts, references)


def _run(
    session: Session,
    spec: PPOSpec,
    actors: PPOModels,
    learners: Learners,
    codec: Codec,
    prompts: Sequence[TokenizedPrompt],
    references: Sequence[TokenizedDemonstration],
) -> None:
    sampled = _sampled(session, spec, actors, codec, prompts)
    batch, mask_BR = sampled.batch, sampled.batch.mask_BR
    policy = _policy_forward(actors, spec)
    of_policy = _measured("the policy's log-probabilities", actors.policy, policy, batch, mask_BR)
    of_sampler = of_policy
    if actors.sampler.engine is not None:  # its kernels may round as in bfloat16
        of_sampler = tolerance(actors.policy, lambda: policy(batch), mask_BR, torch.bfloat16)
    figures = _sampler(sampled, of_sampler)
    figures |= _ratio(sampled, actors, learners, spec, session.seed("ppo"), of_policy)
    figures |= _company("the policy's log-probabilities", policy, batch, mask_BR, of_policy)
    if actors.critic is not None:
        critic = actors.critic
        values = partial(completion_values, critic)
        of_critic = _measured("the critic's values", critic, values, batch, mask_BR)
        figures |= _worse(figures, _company("the critic's values", values, batch, mask_BR, of_critic))
    figures |= _reference(sampled, actors, spec)
    if actors.reward_model is not None:
        scores = _scores_forward(actors.reward_model)
        whole_B1 = torch.ones(len(batch), 1, dtype=torch.bool, device=batch.input_ids_BT.device)
        of_scores = _measured("the reward model's scores", actors.reward_model, scores, batch, whole_B1)
        figures |= _worse(figures, _company("the reward model's scores", scores, batch, whole_B1, of_scores))
        if references:
            answers = _some(references, session)
            figures |= _answers(actors.reward_model, answers, codec, session.device, of_scores)
            if session.spec.reward_model.normalize != "none" and "reward_model" in session.spec.stages:
                _centred(figures, whole=len(answers) == len(references))
    session.say("Self-test passed: " + ", ".join(f"{name} {value:.2g}" for name, value in figures.items()) + ".")


def _policy_forward(actors: PPOModels, spec: PPOSpec) -> Forward:
    return lambda batch: completion_logprobs(actors.policy, batch, spec.temperature)[0]


def _scores_forward(reward_model: Model) -> Forward:
    """(B, 1), as the other passes return a row per response."""
    return lambda batch: sequence_scores(reward_model, batch)[:, None]


def _measured(what: str, model: Model, forward: Forward, batch: Batch, mask_BX: Tensor) -> Tolerance:
    """How far rounding moves these numbers. Raises SelfTestFailed where chance moves them."""
    found = tolerance(model, lambda: forward(batch), mask_BX)
    _demand(math.isfinite(found.mean), f"{what} are not finite", "NaN or infinite", "weights that have diverged")
    _demand(
        found.repeats,
        f"{what} differ between two equal passes",
        f"by more than rounding, which may move them by {found.mean:.2g} on average",
        "dropout or another source of chance left on",
    )
    return found


def _worse(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {name: max(value, one.get(name, 0.0)) for name, value in other.items()}


def _sampled(
    session: Session, spec: PPOSpec, actors: PPOModels, codec: Codec, prompts: Sequence[TokenizedPrompt]
) -> Sampled:
    """Up to 8 short prompts with at most 12 tokens each, drawn from a stream of the test's own."""
    chosen = [prompt.ids for prompt in sorted(prompts[:_LOOKED_AT], key=lambda prompt: len(prompt.ids))[:_PROMPTS]]
    draws_BR = uniforms(generator(session.seed("ppo"), "self_test"), len(chosen), min(spec.max_new_tokens, _TOKENS))
    with present(actors.policy):
        responses = actors.sampler.sample(
            actors.policy,
            chosen,
            draws_BR,
            stops=codec.stops,
            pad_id=codec.pad_id,
            temperature=spec.temperature,
            device=session.device,
        )
        batch = Batch.from_ids(chosen, [response.ids for response in responses], codec.pad_id).to(session.device)
        logprobs_BR = in_parts(_policy_forward(actors, spec), batch, Limits.from_spec(spec), actors.world)
    return Sampled(batch, responses, sampler_logprobs(responses, logprobs_BR), logprobs_BR)


def _sampler(sampled: Sampled, allowed: Tolerance) -> dict[str, float]:
    if sampled.sampler_logprobs_BR is None:
        return {}
    found = gap(sampled.sampler_logprobs_BR, sampled.logprobs_BR, sampled.batch.mask_BR)
    _demand(
        allowed.allows(found),
        "the sampler and the training pass disagree about the log-probabilities of the sampled tokens",
        f"{_figures(found, allowed)} nats",
        "an architecture whose cached, left-padded forward pass differs from its plain one, logits that are scaled or "
        "capped in one of them alone, or another temperature",
    )
    return {"sampler gap": found.mean}


def _ratio(
    sampled: Sampled, actors: PPOModels, learners: Learners, spec: PPOSpec, seed: int, allowed: Tolerance
) -> dict[str, float]:
    """The passes of the first optimizer steps, which take gradients in micro-batches, must find what `score` recorded."""
    experience, worst, mean_ratio = _experience(sampled, actors), 0.0, 1.0
    for rows in minibatches(len(sampled.batch), spec, 0, seed):
        with torch.enable_grad():
            minibatch = Minibatch.of(experience, rows, spec, Coefficients(0.0, 0.0))
            try:
                figures, _ = minibatch.accumulate(learners, only_critic=False)
            finally:
                learners.forget()
        rms = math.sqrt(2 * figures["approxkl"])
        if rms >= worst:
            worst, mean_ratio = rms, figures["ratio"]
    _demand(
        worst <= allowed.rms,
        "the ratio of the policy to itself is not 1 in the first optimizer step",
        f"root mean square of its logarithm {_of(worst, allowed.rms)}, mean ratio {mean_ratio:.4g}",
        "layers that compute something else where gradients are taken, or one that mixes the rows of a batch",
    )
    return {"ratio off by": abs(mean_ratio - 1)}


def _experience(sampled: Sampled, actors: PPOModels) -> Experience:
    """The responses as an update takes them, with nothing to learn: every score and advantage is 0."""
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
    return Experience(scored, zeros_B, zeros_BR, None if actors.critic is None else zeros_BR, zeros_BR, zeros_BR)


def _company(what: str, forward: Forward, batch: Batch, mask_BX: Tensor, allowed: Tolerance) -> dict[str, float]:
    """Other tokens on the pads, more of them, the rows in another order, and each row alone: no number may move."""
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
        _demand(
            allowed.allows(found),
            f"{what} depend on {cause}",
            _figures(found, allowed),
            "attention that is not causal, a model that reads positions or masks off the token ids, or a layer that "
            "mixes the rows of a batch",
        )
    return {"padding gap": max(found.largest for found in causes.values())}


def _reference(sampled: Sampled, actors: PPOModels, spec: PPOSpec) -> dict[str, float]:
    """The starting policy is its own reference, unless another one is named. Both compute alike, so rounding has no part."""
    with present(actors.reference):
        reference_BR = in_parts(
            lambda part: completion_logprobs(actors.reference, part, spec.temperature)[0],
            sampled.batch,
            Limits.from_spec(spec),
            actors.world,
        )
    mean = gap(sampled.logprobs_BR, reference_BR, sampled.batch.mask_BR).mean
    _demand(
        spec.reference.path is not None or mean <= HARMLESS.mean,
        "the KL to the reference is not 0 at the start",
        f"mean |log π − log π_ref| is {_of(mean, HARMLESS.mean)} nats per token",
        "a reference loaded from another checkpoint than the policy, in another type, or a policy that has already moved",
    )
    return {"distance from the reference": mean}


def _some(references: Sequence[TokenizedDemonstration], session: Session) -> list[TokenizedDemonstration]:
    """Up to 64 of them, drawn, since a file's first rows may be all of one kind."""
    drawn = torch.randperm(len(references), generator=generator(session.seed("ppo"), "self_test", "answers"))
    return [references[index] for index in drawn[:_ANSWERS].tolist()]


def _answers(
    model: Model, answers: list[TokenizedDemonstration], codec: Codec, device: torch.device, allowed: Tolerance
) -> dict[str, float]:
    """Stored answers must score the same alone as in company. What their EOS is worth is reported, not judged."""

    def scores(completions: list[list[int]]) -> Tensor:
        batch = Batch.from_ids([a.prompt for a in answers], completions, codec.pad_id).to(device)
        return torch.cat([sequence_scores(model, batch.select(part)) for part in _eights(len(batch))])

    whole = [answer.completion for answer in answers]
    together_B = scores(whole)
    alone = Batch.from_ids([answers[0].prompt], [whole[0]], codec.pad_id).to(device)
    apart = abs(float(sequence_scores(model, alone)) - float(together_B[0]))
    _demand(
        apart <= allowed.largest,
        "the reward model scores an answer differently alone and in a batch",
        f"{_of(apart, allowed.largest)} apart",
        "dropout left on, or a score read at another token than the last",
    )
    without = [ids[:-1] for ids in whole]
    eos = float((together_B - scores(without)).mean()) if all(without) else math.nan
    error = float(together_B.std(unbiased=True)) / math.sqrt(len(whole)) if len(whole) > 1 else math.nan
    return {"mean score of stored answers": float(together_B.mean()), "its standard error": error, "EOS adds": eos}


def _centred(figures: dict[str, float], whole: bool) -> None:
    """The normalisation gave its answers the mean 0: all of them exactly, a sample of them up to chance."""
    mean, error = figures["mean score of stored answers"], figures["its standard error"]
    allowed = _STANDARD_ERRORS * error if math.isfinite(error) else math.inf
    _demand(
        abs(mean) <= (min(allowed, 0.01 + 0.1 * error) if whole else allowed),
        "the stored answers do not score 0 on average, as the reward model's normalisation left them",
        f"mean {mean:.3g}, standard error {error:.2g}",
        "a reward model whose bias was lost on saving or loading, or scores read at another token than in training",
    )


def _eights(count: int) -> list[list[int]]:
    return [list(range(first, min(first + _PROMPTS, count))) for first in range(0, count, _PROMPTS)]


def _repadded(batch: Batch, filler: Tensor) -> Batch:
    """The same sequences with two pads more, and another token on all of them."""
    ids_BT = torch.nn.functional.pad(batch.input_ids_BT, (0, 2))
    lengths_B1 = (batch.prompt_lengths_B + batch.completion_lengths_B)[:, None]
    is_pad_BT = torch.arange(ids_BT.shape[1], device=ids_BT.device) >= lengths_B1
    return Batch(torch.where(is_pad_BT, filler, ids_BT), batch.prompt_lengths, batch.completion_lengths)


def _figures(found: Gap, allowed: Tolerance) -> str:
    return f"mean difference {_of(found.mean, allowed.mean)}, largest {_of(found.largest, allowed.largest)}"


def _of(found: float, allowed: float) -> str:
    return f"{found:.3g} (allowed {allowed:.2g})"


def _demand(holds: bool, what: str, figures: str, causes: str) -> None:
    if not holds:
        raise SelfTestFailed(
            f"Self-test before the first iteration: {what} ({figures}). Usual causes: {causes}. "
            "`ppo.self_test` = false runs without the test."
        )
