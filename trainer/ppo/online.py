"""Online iterative RLHF: between rounds, the policy's own answers are labelled and the reward model learns from them.

Bai et al. (2022), §4.5; Dong et al. (2024).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from trainer.models import Model
from trainer.optim.learner import Learner
from trainer.optim.micro_batches import pairs_at_once
from trainer.randomness import batch_indices, generator
from trainer.rewards.base import RewardInput
from trainer.rewards.judges import Judge
from trainer.rollout.batch import respond
from trainer.rollout.context import PPOModels
from trainer.sampling import uniforms
from trainer.session.session import Session
from trainer.spec import OnlineSpec, PPOSpec
from trainer.stages.reward_model.pairwise import accumulate_pairs, evaluate_pairs
from trainer.stages.reward_model.train import normalise, unscale
from trainer.stages.tokenized_rows import TokenizedDemonstration, TokenizedPair
from trainer.text.codec import Codec, TokenizedPrompt


@dataclass(frozen=True)
class Feedback:
    """Where preferences come from, and what the reward model learnt from before."""

    judge: Judge
    pairs: list[TokenizedPair]
    references: list[TokenizedDemonstration]
    """SFT answers that set the level of the scores."""


def round_beginning_at(iteration: int, spec: PPOSpec) -> int | None:
    """The round (1, 2, …; the first is 0) that begins with this iteration after a refit; None for any other iteration."""
    if spec.online is None:
        return None
    starts = {number * spec.steps // spec.online.rounds: number for number in range(1, spec.online.rounds)}
    return starts.get(iteration)


def refit(
    session: Session,
    spec: PPOSpec,
    actors: PPOModels,
    codec: Codec,
    prompts: Sequence[TokenizedPrompt],
    feedback: Feedback,
    collected: list[TokenizedPair],
    number: int,
) -> tuple[dict[str, float], list[TokenizedPair]]:
    """Label pairs of the policy and train the reward model in place on them and as many old ones.

    `collected` are the earlier rounds' pairs. Returns figures and the new pairs. A function of (seed, round) and the weights,
    so a resume from before it repeats it.
    """
    online = spec.online
    assert online is not None and actors.reward_model is not None  # the spec demands both
    fresh = _labelled(session, spec, actors, codec, prompts, feedback.judge, number)
    old = [*feedback.pairs, *collected]
    order = torch.randperm(len(old), generator=generator(session.seed("ppo"), "old pairs", number)).tolist()
    pairs = [*fresh, *(old[row] for row in order[: len(fresh)])]
    figures: dict[str, float] = {"online/round": number, "online/pairs": len(fresh)}
    figures["online/old_pairs"] = len(pairs) - len(fresh)
    if fresh:
        figures |= _figures_before(session, actors.reward_model, codec, fresh)
        _train(session, online, actors.reward_model, codec, pairs, number)
        at_once = pairs_at_once(session.spec.reward_model)
        level = normalise(
            session, session.spec.reward_model, actors.reward_model, codec, feedback.references, 2 * at_once
        )
        after = evaluate_pairs(actors.reward_model, fresh, codec, at_once, session.device, session.world)
        figures |= {"online/accuracy": after["accuracy"]} if "accuracy" in after else {}
        figures |= {"online/loss": after["loss"], "online/score_bias": level["score_bias"]}
    return figures, fresh


def _labelled(
    session: Session,
    spec: PPOSpec,
    actors: PPOModels,
    codec: Codec,
    prompts: Sequence[TokenizedPrompt],
    judge: Judge,
    number: int,
) -> list[TokenizedPair]:
    """Two answers of the policy to each of the round's prompts, labelled; pairs of equal answers are left out."""
    online, seed = spec.online, session.seed("ppo")
    assert online is not None
    rows = batch_indices(len(prompts), online.prompts, number - 1, seed, "online prompts")
    flips = torch.rand(online.prompts, generator=generator(seed, "label noise", number)) < online.noise
    pairs = []
    for first in range(0, len(rows), spec.batch_size):
        session.check_lease()
        some = [prompts[row] for row in rows[first : first + spec.batch_size]]
        sides: list[list[RewardInput]] = []
        for side in ("a", "b"):
            draws_BR = uniforms(generator(seed, "online answers", number, first, side), len(some), spec.max_new_tokens)
            how = (codec, draws_BR, spec.temperature, session.device, session.world, actors.sampler)
            sides.append(respond(actors.policy, some, *how)[1])
        preferred_b = judge.points(*sides)
        for a, b, points, flipped in zip(*sides, preferred_b, flips[first : first + len(some)].tolist(), strict=True):
            if a.scored_ids != b.scored_ids:
                target = points if flipped else 1 - points
                pairs.append(TokenizedPair(a.prompt_ids, a.scored_ids, b.scored_ids, target))
    return pairs


def _figures_before(session: Session, model: Model, codec: Codec, fresh: list[TokenizedPair]) -> dict[str, float]:
    """How the reward model ranks the new pairs before it has learnt from them: where it has gone stale."""
    found = evaluate_pairs(model, fresh, codec, pairs_at_once(session.spec.reward_model), session.device, session.world)
    figures = {"online/ties": sum(not pair.decided for pair in fresh) / len(fresh)}
    return figures | ({"online/accuracy_before": found["accuracy"]} if "accuracy" in found else {})


def _train(
    session: Session, online: OnlineSpec, model: Model, codec: Codec, pairs: list[TokenizedPair], number: int
) -> None:
    """`epochs` passes over the pairs with a fresh optimizer, as the reward model's own stage trains.

    A model that is frozen as a whole is freed for that time; one of which a part learns (an adapter) keeps its own say.
    """
    spec, seed = session.spec.reward_model, session.seed("ppo")
    rate = spec.learning_rate if online.learning_rate is None else online.learning_rate
    steps = math.ceil(len(pairs) * online.epochs / spec.batch_size)
    frozen = not any(parameter.requires_grad for parameter in model.parameters())
    if frozen:
        model.requires_grad_(True)
    learner = Learner(model, spec, steps, peak=rate, world=session.world)
    unscale(model)
    for step in range(steps):
        session.check_lease()
        rows = batch_indices(len(pairs), spec.batch_size, step, seed, f"refit {number}", online.epochs)
        accumulate_pairs(
            model, [pairs[row] for row in rows], codec, pairs_at_once(spec), session.device, spec, session.world
        )
        learner.update(step)
    if frozen:
        model.requires_grad_(False)
