"""Online iterative RLHF: between rounds, a judge labels the policy's own answers and the reward model learns from them.

Bai et al. (2022), §4.5; Dong et al. (2024).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from trainer.hangs import phase
from trainer.models import Model
from trainer.optim.learner import Learner
from trainer.optim.micro_batches import pairs_at_once
from trainer.randomness import batch_indices, generator
from trainer.rewards.base import RewardInput
from trainer.rewards.judges import Judge
from trainer.rewards.missing import LABELS, Missing, MissingCounts, MissingWatch
from trainer.rollout.batch import sample_responses, to_answers
from trainer.rollout.context import PPOContext
from trainer.sampling import uniforms
from trainer.session.session import Session
from trainer.spec import OnlineSpec, PPOSpec
from trainer.stages.reward_model.pairwise import accumulate_pairs, evaluate_pairs
from trainer.stages.reward_model.train import normalise, unscale
from trainer.stages.tokenized_rows import TokenizedDemonstration, TokenizedPair
from trainer.text.codec import Codec, TokenizedPrompt


@dataclass(frozen=True)
class Feedback:
    """The source of the labels, and the data that the reward model was trained on."""

    judge: Judge
    pairs: list[TokenizedPair]
    references: list[TokenizedDemonstration]
    """SFT answers on which the scores are normalised."""


def round_beginning_at(iteration: int, spec: PPOSpec) -> int | None:
    """Return the round (1, 2, …; the first round is 0) that begins with this iteration; None if no later round does."""
    if spec.online is None:
        return None
    starts = {number * spec.steps // spec.online.rounds: number for number in range(1, spec.online.rounds)}
    return starts.get(iteration)


def refit_reward_model(
    session: Session,
    context: PPOContext,
    prompts: Sequence[TokenizedPrompt],
    feedback: Feedback,
    collected: list[TokenizedPair],
    number: int,
    watch: MissingWatch | None = None,
) -> tuple[dict[str, float], list[TokenizedPair]]:
    """Label pairs of the policy's answers, and train the reward model in place on them and on as many old pairs.

    `collected` are the pairs of earlier rounds. Returns metrics and the new pairs. Pairs without a label are left
    out, and counted in `watch`. The result is a function of the seed, the
    round and the weights, so a resume from before it repeats it.
    """
    online, model, codec = context.spec.online, context.models.reward_model, context.codec
    assert online is not None and model is not None  # the spec requires both
    fresh, counts = _labelled(session, context, online, prompts, feedback.judge, number)
    old = [*feedback.pairs, *collected]
    order = torch.randperm(len(old), generator=generator(context.seed, "old pairs", number)).tolist()
    pairs = [*fresh, *(old[row] for row in order[: len(fresh)])]
    metrics: dict[str, float] = {"online/round": number, "online/pairs": len(fresh)}
    metrics["online/old_pairs"] = len(pairs) - len(fresh)
    if fresh:
        metrics |= _metrics_before(session, model, codec, fresh)
        _train(session, online, model, codec, pairs, number)
        at_once = pairs_at_once(session.spec.reward_model)
        level = normalise(session, session.spec.reward_model, model, codec, feedback.references, 2 * at_once)
        after = evaluate_pairs(model, fresh, codec, at_once, session.device, session.world)
        metrics |= {"online/accuracy": after["accuracy"]} if "accuracy" in after else {}
        metrics |= {"online/loss": after["loss"], "online/score_bias": level["score_bias"]}
    if counts.missing:
        metrics["online/missing"] = counts.missing
    if watch is not None:
        watch.note(session, "ppo", session.step, {LABELS: counts})
    return metrics, fresh


def _labelled(
    session: Session,
    context: PPOContext,
    online: OnlineSpec,
    prompts: Sequence[TokenizedPrompt],
    judge: Judge,
    number: int,
) -> tuple[list[TokenizedPair], MissingCounts]:
    """Two answers of the policy to each of the round's prompts, labelled.

    Pairs of equal answers are left out, and so are those without a label, which are counted.
    """
    spec, seed = context.spec, context.seed
    rows = batch_indices(len(prompts), online.prompts, number - 1, seed, "online prompts")
    flips = torch.rand(online.prompts, generator=generator(seed, "label noise", number)) < online.noise
    pairs, counts = list[TokenizedPair](), MissingCounts.of([])
    for first in range(0, len(rows), spec.batch_size):
        session.check_lease()
        some = [prompts[row] for row in rows[first : first + spec.batch_size]]
        sides: list[list[RewardInput]] = []
        for side in ("a", "b"):
            draws = generator(seed, "online answers", number, first, side)
            responses = sample_responses(context, some, uniforms(draws, len(some), spec.max_new_tokens))
            sides.append(to_answers(some, responses, context.codec))
        with phase("reward"):
            preferred_b = judge.points(*sides)
        counts += MissingCounts.of(preferred_b)
        for a, b, points, flipped in zip(*sides, preferred_b, flips[first : first + len(some)].tolist(), strict=True):
            if a.scored_ids != b.scored_ids and not isinstance(points, Missing):
                target = points if flipped else 1 - points
                pairs.append(TokenizedPair(a.prompt_ids, a.scored_ids, b.scored_ids, target))
    return pairs, counts


def _metrics_before(session: Session, model: Model, codec: Codec, fresh: list[TokenizedPair]) -> dict[str, float]:
    """How well the reward model ranks the new pairs before it learns from them; a low accuracy shows that it is stale."""
    figures = evaluate_pairs(
        model, fresh, codec, pairs_at_once(session.spec.reward_model), session.device, session.world
    )
    metrics = {"online/ties": sum(not pair.decided for pair in fresh) / len(fresh)}
    return metrics | ({"online/accuracy_before": figures["accuracy"]} if "accuracy" in figures else {})


def _train(
    session: Session, online: OnlineSpec, model: Model, codec: Codec, pairs: list[TokenizedPair], number: int
) -> None:
    """Train for `epochs` passes over the pairs with a fresh optimizer, as the reward model's own stage does.

    A model that is frozen as a whole is trainable meanwhile. In a model with trainable parts (an adapter), only these learn.
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
    if (scale := learner.loss_scale) is not None and scale.overflows:
        session.log(
            f"{scale.overflows} of the {steps} steps of the refit overflowed in float16 and were left out.",
            warning=True,
        )
    if frozen:
        model.requires_grad_(False)
