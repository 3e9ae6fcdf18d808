"""A run that is broken is stopped before its first iteration: on a few real prompts, what must be equal is compared.

Five checks, each of something that has gone wrong unseen in a published trainer (the ratio of the first minibatch is not
1: Huang et al. 2024, §3; sampler and trainer disagree: Yao et al. 2025, "Your efficient RL framework secretly brings you
off-policy RL training"). Nothing is drawn from the run's own random streams, and no state is touched: a run is the same,
bit for bit, with and without it.

Shapes: B prompts, R response positions.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.errors import SelfTestFailed
from trainer.models import Model, present
from trainer.parallel.steps import layerwise
from trainer.ppo.actors import Actors
from trainer.ppo.off_policy import sampler_logprobs
from trainer.prompts import EncodedPrompt
from trainer.randomness import generator
from trainer.sampling import uniforms
from trainer.sequences import Batch, completion_logprobs, completion_values, sequence_scores
from trainer.session import Session
from trainer.sft import Example
from trainer.spec import ModelSpec, PPOSpec
from trainer.text import Codec

_PROMPTS, _TOKENS, _ANSWERS = 8, 12, 64
_LOOKED_AT = 256
"""Prompts of which the shortest are taken: what is tested does not depend on length, what it costs does."""
_STANDARD_ERRORS = 5.0
"""At 3, one healthy run in 370 would be stopped."""


@dataclass(frozen=True)
class Tolerance:
    """How far two computations of one log-probability, value or score may lie apart, for rounding alone."""

    mean: float
    largest: float

    @classmethod
    def of(cls, model: ModelSpec) -> "Tolerance":
        """float32 has 24 bits; bfloat16 has 8, and its rounding of logits of size 10 is 0.03; float16 has 11."""
        if model.quantization is not None or model.dtype == "bfloat16":
            return cls(0.05, 1.0)
        return cls(0.01, 0.2) if model.dtype == "float16" else cls(2e-4, 5e-3)


@dataclass(frozen=True)
class Sampled:
    """A few responses of the policy, and what the sampler said of each token."""

    batch: Batch
    sampler_logprobs_BR: Tensor | None
    """None where the sampler does not say."""
    logprobs_BR: Tensor
    """By the training forward pass, all rows at once."""


@torch.no_grad()
def run(
    session: Session,
    spec: PPOSpec,
    actors: Actors,
    codec: Codec,
    prompts: Sequence[EncodedPrompt],
    references: Sequence[Example] = (),
) -> None:
    """Raise SelfTestFailed, naming the check, its figures and the usual causes, or say that all is well.

    `references` are the stored answers on which the run's own reward model was normalised.
    """
    with layerwise(actors.reference), layerwise(actors.reward_model):
        _run(session, spec, actors, codec, prompts, references)


def _run(
    session: Session,
    spec: PPOSpec,
    actors: Actors,
    codec: Codec,
    prompts: Sequence[EncodedPrompt],
    references: Sequence[Example],
) -> None:
    tolerance = Tolerance.of(session.spec.model)
    sampled = _sampled(session, spec, actors, codec, prompts)
    figures = _sampler(sampled, tolerance if actors.sampler.engine is None else _ANOTHER_ENGINE)
    figures |= _ratio(sampled, actors.policy, spec, tolerance)
    figures |= _pads(sampled, actors, spec, tolerance)
    figures |= _reference(sampled, actors, spec, tolerance)
    if actors.reward_model is not None and references:
        normalised = session.spec.reward_model.normalize != "none" and "reward_model" in session.spec.stages
        answers = _some(references, session)
        figures |= _answers(actors.reward_model, answers, codec, session.device, tolerance)
        if normalised:
            _centred(figures, whole=len(answers) == len(references))
    session.say("Self-test passed: " + ", ".join(f"{name} {value:.2g}" for name, value in figures.items()) + ".")


_ANOTHER_ENGINE = Tolerance(0.05, 1.0)
"""Its kernels are not the trainer's, and may round as in bfloat16."""


def _sampled(
    session: Session, spec: PPOSpec, actors: Actors, codec: Codec, prompts: Sequence[EncodedPrompt]
) -> Sampled:
    """Up to 8 short prompts with at most 12 tokens each, drawn from a stream of the test's own."""
    chosen = [prompt.ids for prompt in sorted(prompts[:_LOOKED_AT], key=lambda prompt: len(prompt.ids))[:_PROMPTS]]
    draws_BR = uniforms(generator(session.seed("ppo"), "self_test"), len(chosen), min(spec.max_new_tokens, _TOKENS))
    with present(actors.policy):
        responses = actors.sampler.sample(
            actors.policy,
            chosen,
            draws_BR,
            eos_id=codec.eos_id,
            pad_id=codec.pad_id,
            temperature=spec.temperature,
            device=session.device,
        )
    batch = Batch.of(chosen, [response.ids for response in responses], codec.pad_id).to(session.device)
    logprobs_BR = completion_logprobs(actors.policy, batch, spec.temperature)[0]
    return Sampled(batch, sampler_logprobs(responses, logprobs_BR), logprobs_BR)


def _sampler(sampled: Sampled, tolerance: Tolerance) -> dict[str, float]:
    if sampled.sampler_logprobs_BR is None:
        return {}
    mean, largest = _gap(sampled.sampler_logprobs_BR, sampled.logprobs_BR, sampled.batch.mask_BR)
    _demand(
        mean <= tolerance.mean and largest <= tolerance.largest,
        "the sampler and the training pass disagree about the log-probabilities of the sampled tokens",
        f"mean difference {mean:.3g}, largest {largest:.3g} nats",
        "an architecture whose cached, left-padded forward pass differs from its plain one, logits that are scaled or "
        "capped in one of them alone, or another temperature",
    )
    return {"sampler gap": mean}


def _ratio(sampled: Sampled, policy: Model, spec: PPOSpec, tolerance: Tolerance) -> dict[str, float]:
    """Row by row and in reverse, as other micro-batches would have it, the policy must say what it said before."""
    again_BR = torch.zeros_like(sampled.logprobs_BR)
    for row in reversed(range(len(sampled.batch))):
        part = completion_logprobs(policy, _rows(sampled.batch, [row]), spec.temperature)[0]
        again_BR[row, : part.shape[1]] = part[0]
    _, largest = _gap(again_BR, sampled.logprobs_BR, sampled.batch.mask_BR)
    ratio = math.exp(largest)
    _demand(
        largest <= tolerance.largest,
        "the ratio of the policy to itself is not 1",
        f"furthest ratio {ratio:.4g} in another micro-batch",
        "dropout or another source of chance left on, or a layer that mixes the rows of a batch",
    )
    return {"ratio off by": ratio - 1}


def _pads(sampled: Sampled, actors: Actors, spec: PPOSpec, tolerance: Tolerance) -> dict[str, float]:
    """Other tokens on the pads, more of them, and the rows in another order: no number may move."""
    forwards: dict[str, Callable[[Batch], Tensor]] = {
        "the policy's log-probabilities": lambda batch: completion_logprobs(actors.policy, batch, spec.temperature)[0]
    }
    if actors.critic is not None:
        critic = actors.critic
        forwards["the critic's values"] = lambda batch: completion_values(critic, batch)
    if actors.reward_model is not None:
        scorer = actors.reward_model
        forwards["the reward model's scores"] = lambda batch: sequence_scores(scorer, batch)[:, None]
    worst = 0.0
    order = list(reversed(range(len(sampled.batch))))
    other = _repadded(_rows(sampled.batch, order), sampled.batch.input_ids_BT.max())
    for what, forward in forwards.items():
        plain, moved = forward(sampled.batch)[order], forward(other)
        mask = _rows(sampled.batch, order).mask_BR[:, : plain.shape[1]]
        _, largest = _gap(plain, moved, mask)
        worst = max(worst, largest)
        _demand(
            largest <= tolerance.largest,
            f"{what} depend on the padding or on the order of the rows",
            f"largest difference {largest:.3g}",
            "attention that is not causal, or a model that reads positions or masks off the token ids",
        )
    return {"padding gap": worst}


def _reference(sampled: Sampled, actors: Actors, spec: PPOSpec, tolerance: Tolerance) -> dict[str, float]:
    """The starting policy is its own reference, unless another one is named."""
    reference_BR = completion_logprobs(actors.reference, sampled.batch, spec.temperature)[0]
    mean, _ = _gap(sampled.logprobs_BR, reference_BR, sampled.batch.mask_BR)
    _demand(
        spec.reference.path is not None or mean <= tolerance.mean,
        "the KL to the reference is not 0 at the start",
        f"mean |log π − log π_ref| is {mean:.3g} nats per token",
        "a reference loaded from another checkpoint than the policy, in another type, or a policy that has already moved",
    )
    return {"distance from the reference": mean}


def _some(references: Sequence[Example], session: Session) -> list[Example]:
    """Up to 64 of them, drawn, since a file's first rows may be all of one kind."""
    drawn = torch.randperm(len(references), generator=generator(session.seed("ppo"), "self_test", "answers"))
    return [references[index] for index in drawn[:_ANSWERS].tolist()]


def _answers(
    model: Model, answers: list[Example], codec: Codec, device: torch.device, tolerance: Tolerance
) -> dict[str, float]:
    """Stored answers must score the same alone as in company. What their EOS is worth is reported, not judged."""

    def scores(completions: list[list[int]]) -> Tensor:
        batch = Batch.of([a.prompt for a in answers], completions, codec.pad_id).to(device)
        return torch.cat([sequence_scores(model, _rows(batch, part)) for part in _eights(len(batch))])

    whole = [answer.completion for answer in answers]
    together_B = scores(whole)
    alone = Batch.of([answers[0].prompt], [whole[0]], codec.pad_id).to(device)
    gap = abs(float(sequence_scores(model, alone)) - float(together_B[0]))
    _demand(
        gap <= tolerance.largest,
        "the reward model scores an answer differently alone and in a batch",
        f"{gap:.3g} apart",
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


def _rows(batch: Batch, rows: list[int]) -> Batch:
    return batch.select(torch.tensor(rows, device=batch.input_ids_BT.device))


def _repadded(batch: Batch, filler: Tensor) -> Batch:
    """The same sequences with two pads more, and another token on all of them."""
    ids_BT = torch.nn.functional.pad(batch.input_ids_BT, (0, 2))
    lengths_B1 = (batch.prompt_lengths_B + batch.completion_lengths_B)[:, None]
    is_pad_BT = torch.arange(ids_BT.shape[1], device=ids_BT.device) >= lengths_B1
    return Batch(torch.where(is_pad_BT, filler, ids_BT), batch.prompt_lengths_B, batch.completion_lengths_B)


def _gap(a_BX: Tensor, b_BX: Tensor, mask_BX: Tensor) -> tuple[float, float]:
    """Mean and largest absolute difference over the mask; infinite where a number is not finite."""
    differences = (a_BX.float() - b_BX.float()).abs()[mask_BX]
    if not torch.isfinite(differences).all():
        return math.inf, math.inf
    return float(differences.mean()), float(differences.max())


def _demand(holds: bool, what: str, figures: str, causes: str) -> None:
    if not holds:
        raise SelfTestFailed(
            f"Self-test before the first iteration: {what} ({figures}). Usual causes: {causes}. "
            "`ppo.self_test` = false runs without the test."
        )
