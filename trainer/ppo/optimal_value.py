"""V* of every training prompt: what the best policy near the reference would score (A*-PO, Brantley et al. 2025, stage 1)."""

import math
from collections.abc import Sequence

import torch

from trainer.ppo.actors import Actors
from trainer.ppo.dials import Dials
from trainer.ppo.rollout import respond
from trainer.ppo.shaping import shaped_scores
from trainer.prompts import EncodedPrompt
from trainer.randomness import generator
from trainer.sampling import uniforms
from trainer.session import Session
from trainer.spec import PPOSpec
from trainer.text import Codec


def optimal_value(scores: Sequence[float], beta: float) -> float:
    """β·log mean exp(score/β) over responses of the reference: their mean for a large β, their best for a small one."""
    highest = max(scores)
    return highest + beta * math.log(math.fsum(math.exp((score - highest) / beta) for score in scores) / len(scores))


def estimate(
    session: Session, spec: PPOSpec, actors: Actors, codec: Codec, prompts: Sequence[EncodedPrompt], dials: Dials
) -> None:
    """Sample the reference on every prompt, score, and keep V* in `dials`.

    The responses to a prompt depend on the seed and on its place alone. Their scores are clipped and penalised as those of
    training are; the spec refuses a scale that moves.
    """
    samples, at_once = spec.optimal_value.samples, max(1, spec.batch_size // spec.optimal_value.samples)
    told = 0
    found: list[tuple[float, bool, int]] = []  # raw score, finished, length
    for first in range(0, len(prompts), at_once):
        session.check_lease()
        session.stop_if_asked()
        some = range(first, min(first + at_once, len(prompts)))
        draws_BR = torch.cat(
            [uniforms(generator(session.seed("ppo"), "optimal value", n), samples, spec.max_new_tokens) for n in some]
        )
        repeated = [prompts[n] for n in some for _ in range(samples)]
        _, answers = respond(
            actors.reference,
            repeated,
            codec,
            draws_BR,
            spec.temperature,
            session.device,
            session.world,
            actors.sampler,
        )
        totals = actors.rewards.score(answers).totals
        found += [(score, a.finished, len(a.response_ids)) for score, a in zip(totals, answers, strict=True)]
        tenth = 10 * some.stop // len(prompts)
        if tenth > told:
            session.say(f"V*: {some.stop} of {len(prompts)} prompts, {samples} responses of the reference each.")
            told = tenth
    scores = _shaped(found, spec)
    starts = range(0, len(scores), samples)
    dials.optimal_values = [optimal_value(scores[i : i + samples], spec.optimal_value.beta) for i in starts]


def _shaped(found: Sequence[tuple[float, bool, int]], spec: PPOSpec) -> list[float]:
    scores, finished, lengths = (torch.tensor(column) for column in zip(*found, strict=True))
    shaped: list[float] = shaped_scores(scores, finished, lengths, spec.shaping).tolist()
    return shaped
