"""The stepwise reward model: scores, loss and figures of the labelled steps of solutions (a process reward model).

The score r at the last token of a step is the log odds that the step is good. The loss is binary cross-entropy on its label.
Sources: Lightman et al. 2023 (arXiv 2305.20050), §2.6, and Wang et al. 2023 (arXiv 2312.08935), eq. 2. A step is read where PPO reads it, at
the token that completes the delimiter behind it (trainer/rewards/steps.py).

B counts solutions, N labelled steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.distributed.sharding import in_step
from trainer.events.report_card import PointwiseCard
from trainer.models import Model, present
from trainer.models.sequences import Batch, scores_at
from trainer.optim.learner import require_finite
from trainer.optim.micro_batches import AtOnce, limits
from trainer.stages.reward_model import pointwise
from trainer.stages.reward_model.pairwise import pointwise_loss
from trainer.stages.reward_model.pointwise import ScoredThumb
from trainer.stages.tokenized_rows import TokenizedSolution, TokenizedThumb
from trainer.text.codec import Codec


@dataclass(frozen=True)
class ScoredSolution:
    """A solution with the score of each of its labelled steps."""

    solution: TokenizedSolution
    scores: list[float]

    def steps(self) -> list[ScoredThumb]:
        """Each step as a completion that ends with it, with its label as a thumb."""
        own = self.solution
        return [
            ScoredThumb(TokenizedThumb(own.prompt, own.completion[: end + 1], good, own.source), score)
            for end, good, score in zip(own.ends, own.good, self.scores, strict=True)
        ]

    @property
    def finds_first_error(self) -> bool:
        """Whether the first step with a score of 0 or less is the first bad step; without a bad step, whether there is none."""
        return _first([score > 0 for score in self.scores]) == _first(self.solution.good)


def _first(good: Sequence[bool]) -> int | None:
    return next((index for index, one in enumerate(good) if not one), None)


def stepwise_loss(scores_N: Tensor, good_N: Tensor) -> Tensor:
    """Loss of each step, (N,), in nats: −log σ(r) for a good step, −log σ(−r) for a bad one."""
    return pointwise_loss(scores_N, good_N)


def accumulate(
    model: Model,
    batch: Sequence[TokenizedSolution],
    codec: Codec,
    micro_batch: AtOnce,
    device: torch.device,
    world: World = SINGLE,
) -> dict[str, float]:
    """Add the gradient of the mean loss over all steps of the batch, which does not depend on its division; return its figures."""
    mine = world.balanced_rows([solution.tokens for solution in batch])
    parts = limits(micro_batch).split([batch[row].tokens for row in mine])
    count = sum(len(solution.ends) for solution in batch)
    scores: dict[int, list[float]] = {}
    with world.fail_together():
        for part in in_step(parts, world, model):
            rows = [mine[index] for index in part]
            some = [batch[row] for row in rows]
            scores_N = _scores(model, some, codec, device)
            good_N = torch.tensor([good for solution in some for good in solution.good], device=device)
            loss = stepwise_loss(scores_N, good_N).sum() / count
            require_finite(loss, "reward-model loss")
            loss.backward()
            scores |= dict(zip(rows, _by_row(scores_N, some), strict=True))
    return figures(_gathered(scores, mine, batch, world))


@torch.no_grad()
def score_solutions(
    model: Model,
    solutions: Sequence[TokenizedSolution],
    codec: Codec,
    at_once: AtOnce,
    device: torch.device,
    world: World = SINGLE,
) -> list[ScoredSolution]:
    """All solutions with the scores of their steps, in their order."""
    mine = world.balanced_rows([solution.tokens for solution in solutions])
    scores: dict[int, list[float]] = {}
    with present(model):
        for part in limits(at_once).split([solutions[row].tokens for row in mine]):
            rows = [mine[index] for index in part]
            some = [solutions[row] for row in rows]
            scores |= dict(zip(rows, _by_row(_scores(model, some, codec, device), some), strict=True))
    return _gathered(scores, mine, solutions, world)


def figures(judged: Sequence[ScoredSolution]) -> dict[str, float]:
    """Loss, accuracy, AUC and margin of the steps, and the share of solutions whose first error is found.

    The latter is the measure of ProcessBench (Zheng et al. 2024, arXiv 2412.06559, §4).
    """
    first = sum(item.finds_first_error for item in judged) / len(judged)
    return pointwise.figures(steps_of(judged)) | {"first_error_accuracy": first}


def headline(judged: Sequence[ScoredSolution]) -> dict[str, float]:
    """The figures of the card that are logged as metrics."""
    return pointwise.headline(steps_of(judged))


def report_card(
    judged: Sequence[ScoredSolution], reference_scores: Mapping[str, float], references: int
) -> PointwiseCard | None:
    """The report card of the steps of these solutions; None without solutions."""
    card = pointwise.report_card(steps_of(judged), reference_scores, references)
    if card is None:
        return None
    first = figures(judged)["first_error_accuracy"]
    return card.model_copy(update={"loss": "stepwise", "first_error_accuracy": first})


def steps_of(judged: Sequence[ScoredSolution]) -> list[ScoredThumb]:
    """The steps of all solutions."""
    return [*chain.from_iterable(item.steps() for item in judged)]


def _scores(model: Model, some: Sequence[TokenizedSolution], codec: Codec, device: torch.device) -> Tensor:
    """(N,) raw scores of the steps, solution after solution."""
    batch = Batch.from_ids([one.prompt for one in some], [one.completion for one in some], codec.pad_id)
    return scores_at(model, batch.to(device), [one.ends for one in some])


def _by_row(scores_N: Tensor, some: Sequence[TokenizedSolution]) -> list[list[float]]:
    scores = iter(scores_N.tolist())
    return [[next(scores) for _ in solution.ends] for solution in some]


def _gathered(
    scores: Mapping[int, list[float]], mine: Sequence[int], solutions: Sequence[TokenizedSolution], world: World
) -> list[ScoredSolution]:
    """The scored solutions of all processes in order; `scores` are those of this process' rows, `mine`."""
    whole = world.gather_objects([scores[row] for row in mine], mine, len(solutions))
    return [ScoredSolution(solution, own) for solution, own in zip(solutions, whole, strict=True)]
