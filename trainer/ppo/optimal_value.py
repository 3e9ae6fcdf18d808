"""V* of every training prompt: what the best policy near the reference would score (A*-PO, Brantley et al. 2025, stage 1)."""

import math
from collections.abc import Sequence

import torch
from torch.nn.utils.rnn import pad_sequence

from trainer.ppo.state import Dials
from trainer.randomness import generator
from trainer.rewards import RewardInput, Scores
from trainer.rollout.batch import respond
from trainer.rollout.context import PPOModels
from trainer.rollout.shaping import shaped_scores, shaped_tokens
from trainer.sampling import uniforms
from trainer.session.session import Session
from trainer.spec import PPOSpec
from trainer.text.codec import Codec, TokenizedPrompt


def optimal_value(scores: Sequence[float], beta: float) -> float:
    """β·log mean exp(score/β) over responses of the reference: their mean for a large β, their best for a small one."""
    highest = max(scores)
    return highest + beta * math.log(math.fsum(math.exp((score - highest) / beta) for score in scores) / len(scores))


def estimate(
    session: Session, spec: PPOSpec, actors: PPOModels, codec: Codec, prompts: Sequence[TokenizedPrompt], dials: Dials
) -> None:
    """Sample the reference on every prompt, score, and keep V* in `dials`.

    The responses to a prompt depend on the seed and on its place alone. Their scores are clipped and penalised as those of
    training are; the spec refuses a scale that moves.
    """
    samples, at_once = spec.optimal_value.samples, max(1, spec.batch_size // spec.optimal_value.samples)
    told = 0
    scores: list[float] = []
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
        scores += _shaped(actors.rewards.score(answers), answers, spec)
        tenth = 10 * some.stop // len(prompts)
        if tenth > told:
            session.say(f"V*: {some.stop} of {len(prompts)} prompts, {samples} responses of the reference each.")
            told = tenth
    starts = range(0, len(scores), samples)
    dials.optimal_values = [optimal_value(scores[i : i + samples], spec.optimal_value.beta) for i in starts]


def _shaped(scores: Scores, answers: Sequence[RewardInput], spec: PPOSpec) -> list[float]:
    """What PPO would optimise of each response."""
    finished_B = torch.tensor([answer.finished for answer in answers])
    lengths_B = torch.tensor([len(answer.response_ids) for answer in answers])
    ends_B = torch.tensor(scores.totals if scores.dense is None else scores.dense.ends)
    shaped_B = shaped_scores(ends_B, finished_B, lengths_B, spec.shaping)
    if scores.dense is not None:
        tokens_BR = pad_sequence([torch.tensor(own) for own in scores.dense.tokens], batch_first=True)
        shaped_B = shaped_B + shaped_tokens(tokens_BR, finished_B, spec.shaping).sum(1)
    shaped: list[float] = shaped_B.tolist()
    return shaped
