"""V* of every training prompt: the expected score of the best policy near the reference (A*-PO, Brantley et al. 2025, stage 1)."""

import math
from collections.abc import Sequence

import torch
from torch.nn.utils.rnn import pad_sequence

from trainer.randomness import generator
from trainer.rewards import RewardInput, Scores
from trainer.rewards.missing import MissingCounts, MissingWatch, counts_of, together
from trainer.rollout.batch import sample_responses, to_answers
from trainer.rollout.context import PPOContext
from trainer.rollout.shaping import shaped_scores, shaped_tokens
from trainer.sampling import uniforms
from trainer.session.session import Session
from trainer.spec import PPOSpec
from trainer.text.codec import TokenizedPrompt


def optimal_value(scores: Sequence[float], beta: float) -> float:
    """β·log mean exp(score/β) over responses of the reference: close to their mean for a large β, to their best for a small β."""
    highest = max(scores)
    return highest + beta * math.log(math.fsum(math.exp((score - highest) / beta) for score in scores) / len(scores))


def estimate_optimal_values(
    session: Session, context: PPOContext, prompts: Sequence[TokenizedPrompt], watch: MissingWatch | None = None
) -> list[float | None]:
    """Sample the reference on every prompt, score the responses, and return V* of each prompt.

    Responses without a value are left out, and counted in `watch`. V* is None if no response to the prompt has one.

    The responses to a prompt depend only on the seed and on the prompt's index. Their scores are clipped and penalised as in
    training; the spec refuses a running scale. Reports each tenth of the prompts. Raises Stopped if asked to stop.
    """
    spec, samples = context.spec, context.spec.optimal_value.samples
    at_once, reported = max(1, spec.batch_size // samples), 0
    scores: list[float] = []
    counts: dict[str, MissingCounts] = {}
    for first in range(0, len(prompts), at_once):
        session.check_lease()
        session.stop_if_asked()
        some = range(first, min(first + at_once, len(prompts)))
        draws = [generator(context.seed, "optimal value", row) for row in some]
        draws_BR = torch.cat([uniforms(own, samples, spec.max_new_tokens) for own in draws])
        repeated = [prompts[row] for row in some for _ in range(samples)]
        responses = sample_responses(context, repeated, draws_BR, context.models.reference)
        answers = to_answers(repeated, responses, context.codec)
        rewards = context.models.rewards.score(answers)
        counts = together(counts, counts_of(rewards.parts))
        scores += _shaped(rewards, answers, spec)
        tenth = 10 * some.stop // len(prompts)
        if tenth > reported:
            session.log(f"V*: {some.stop} of {len(prompts)} prompts, {samples} responses of the reference each.")
            reported = tenth
    of_prompts = (scores[first : first + samples] for first in range(0, len(scores), samples))
    if watch is not None:
        watch.note(session, "ppo", session.step, counts)
    return [_optimal_value(own, spec.optimal_value.beta) for own in of_prompts]


def _optimal_value(scores: Sequence[float], beta: float) -> float | None:
    """V* over the scores that are numbers; None without one."""
    found = [score for score in scores if not math.isnan(score)]
    return optimal_value(found, beta) if found else None


def _shaped(scores: Scores, answers: Sequence[RewardInput], spec: PPOSpec) -> list[float]:
    """The shaped score of each response, as PPO optimises it; NaN for one without a total."""
    finished_B = torch.tensor([answer.finished for answer in answers])
    lengths_B = torch.tensor([len(answer.response_ids) for answer in answers])
    ends_B = torch.tensor(scores.numbers if scores.dense is None else scores.dense.ends)
    plain_B = shaped_scores(ends_B, finished_B, lengths_B, spec.shaping, spec.max_new_tokens)
    shaped_B = torch.where(ends_B.isnan(), ends_B, plain_B)
    if scores.dense is not None:
        tokens_BR = pad_sequence([torch.tensor(own) for own in scores.dense.tokens], batch_first=True)
        shaped_B = shaped_B + shaped_tokens(tokens_BR, finished_B, spec.shaping).sum(1)
    shaped: list[float] = shaped_B.tolist()
    return shaped
