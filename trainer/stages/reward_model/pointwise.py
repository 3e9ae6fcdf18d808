"""The pointwise reward model: scores, loss, figures and report card of single completions with a thumb.

B counts completions, M the members of an ensemble (trainer/models/members.py).
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from data.statistics import area_under_curve, pearson, wilson_interval
from trainer.distributed import SINGLE, World
from trainer.distributed.sharding import in_step
from trainer.events.report_card import CalibrationBin, PointwiseCard, Slice
from trainer.models import Model, present
from trainer.models.members import learners_of
from trainer.models.sequences import Batch, member_scores
from trainer.optim.learner import require_finite
from trainer.optim.loss_scale import backward
from trainer.optim.micro_batches import AtOnce, limits
from trainer.stages.reward_model.pairwise import pointwise_loss
from trainer.stages.reward_model.report_card import BINS, MemberVerdicts, calibration_error
from trainer.stages.tokenized_rows import TokenizedThumb
from trainer.text.codec import Codec


@dataclass(frozen=True)
class ScoredThumb:
    """A completion with its raw score, which is the log odds of a thumb up by the model."""

    verdict: TokenizedThumb
    score: float
    members: tuple[float, ...] = ()
    """The scores of the members of an ensemble, whose mean `score` is."""

    @property
    def probability(self) -> float:
        """σ(score), without overflow."""
        return 0.5 * (1 + math.tanh(self.score / 2))

    @property
    def right(self) -> float:
        return float((self.score > 0) == self.verdict.up)


def accumulate(
    model: Model,
    batch: Sequence[TokenizedThumb],
    codec: Codec,
    micro_batch: AtOnce,
    device: torch.device,
    world: World = SINGLE,
    member_share: float = 1.0,
) -> dict[str, float]:
    """Add the gradient of the batch's mean loss, which does not depend on its division; return its figures.

    `member_share`: the share of the rows that each member of an ensemble learns from.
    """
    mine = world.balanced_rows([verdict.tokens for verdict in batch])
    parts = limits(micro_batch).split([batch[row].tokens for row in mine])
    scores: dict[int, list[float]] = {}
    with world.fail_together():
        for part in in_step(parts, world, model):
            rows = [mine[index] for index in part]
            scores_BM = _scores(model, [batch[row] for row in rows], codec, device)
            up_B = torch.tensor([batch[row].up for row in rows], device=device)
            learns_BM = None
            if member_share < 1:
                some = [(batch[row].prompt, batch[row].completion) for row in rows]
                learns_BM = learners_of(some, scores_BM.shape[1], member_share, device)
            loss = _loss(scores_BM, up_B, learns_BM).sum() / len(batch)
            require_finite(loss, "reward-model loss")
            backward(loss, model)
            scores |= dict(zip(rows, scores_BM.tolist(), strict=True))
    return figures(_gathered(scores, mine, batch, world))


@torch.no_grad()
def score_thumbs(
    model: Model,
    verdicts: Sequence[TokenizedThumb],
    codec: Codec,
    at_once: AtOnce,
    device: torch.device,
    world: World = SINGLE,
) -> list[ScoredThumb]:
    """All completions with their scores, in their order."""
    mine = world.balanced_rows([verdict.tokens for verdict in verdicts])
    scores: dict[int, list[float]] = {}
    with present(model):
        for part in limits(at_once).split([verdicts[row].tokens for row in mine]):
            rows = [mine[index] for index in part]
            found = _scores(model, [verdicts[row] for row in rows], codec, device)
            scores |= dict(zip(rows, found.tolist(), strict=True))
    return _gathered(scores, mine, verdicts, world)


def figures(judged: Sequence[ScoredThumb]) -> dict[str, float]:
    """Mean loss, accuracy at a threshold of 0 and, if both thumbs occur, AUC and margin."""
    scores, up = torch.tensor([j.score for j in judged]), torch.tensor([j.verdict.up for j in judged])
    losses = pointwise_loss(scores, up)
    if judged and judged[0].members:
        losses = _loss(torch.tensor([j.members for j in judged]), up)
    values = {"loss": float(losses.mean()), "accuracy": _mean([j.right for j in judged])}
    if up.any() and not up.all():
        values["auc"] = area_under_curve(scores[up].tolist(), scores[~up].tolist())
        values["margin"] = float(scores[up].mean() - scores[~up].mean())
    return values


def _loss(scores_BM: Tensor, up_B: Tensor, learns_BM: Tensor | None = None) -> Tensor:
    """The loss of each completion, (B,). That of an ensemble is the mean of its members' losses, times the weights `learns_BM`."""
    if scores_BM.shape[1] == 1:
        return pointwise_loss(scores_BM.squeeze(1), up_B)
    losses_BM = torch.stack([pointwise_loss(scores_B, up_B) for scores_B in scores_BM.unbind(1)], 1)
    return (losses_BM if learns_BM is None else losses_BM * learns_BM).mean(1)


def member_verdicts(judged: Sequence[ScoredThumb]) -> MemberVerdicts | None:
    """Whether the score of each member has the sign of the thumb; None for a single reward model."""
    if not judged or not judged[0].members:
        return None
    return MemberVerdicts([[(score > 0) == item.verdict.up for score in item.members] for item in judged])


def headline(judged: Sequence[ScoredThumb]) -> dict[str, float]:
    """The figures of the card that are logged as metrics."""
    ups = _mean([float(item.verdict.up) for item in judged])
    return {"calibration_error": calibration_error(calibration(judged)), "majority_baseline": max(ups, 1 - ups)}


def report_card(
    judged: Sequence[ScoredThumb], reference_scores: Mapping[str, float], references: int
) -> PointwiseCard | None:
    """The report card of these completions; None without completions. `reference_scores`: the result of `normalise`."""
    if not judged:
        return None
    values, bins = figures(judged), calibration(judged)
    by_source: dict[str, list[ScoredThumb]] = defaultdict(list)
    for item in judged:
        if item.verdict.source is not None:
            by_source[item.verdict.source].append(item)
    by_thumb = {
        name: [item for item in judged if item.verdict.up is up] for name, up in (("up", True), ("down", False))
    }
    return PointwiseCard(
        overall=_share(judged),
        by_thumb={name: _share(items) for name, items in by_thumb.items() if items},
        by_source={name: _share(items) for name, items in sorted(by_source.items())},
        auc=values.get("auc"),
        majority_baseline=headline(judged)["majority_baseline"],
        calibration=bins,
        calibration_error=calibration_error(bins),
        length_correlation=pearson([(item.score, len(item.verdict.completion)) for item in judged]),
        margin=values.get("margin"),
        references=references,
        reference_mean=reference_scores.get("reference_mean"),
        reference_std=reference_scores.get("reference_std"),
    )


def calibration(judged: Sequence[ScoredThumb]) -> list[CalibrationBin]:
    """Ten bins of equal width of the probability of a thumb up, σ(score), from 0 to 1, without empty ones."""
    inside: dict[int, list[ScoredThumb]] = defaultdict(list)
    for item in judged:
        inside[min(int(item.probability * BINS), BINS - 1)].append(item)
    return [
        CalibrationBin(
            low=at / BINS,
            high=(at + 1) / BINS,
            pairs=len(items),
            predicted=_mean([item.probability for item in items]),
            observed=_mean([float(item.verdict.up) for item in items]),
        )
        for at, items in sorted(inside.items())
    ]


def _scores(model: Model, verdicts: Sequence[TokenizedThumb], codec: Codec, device: torch.device) -> Tensor:
    """(B, M) raw scores by member; M is 1 for a single reward model."""
    batch = Batch.from_ids([v.prompt for v in verdicts], [v.completion for v in verdicts], codec.pad_id)
    return member_scores(model, batch.to(device))


def _gathered(
    scores: Mapping[int, list[float]], mine: Sequence[int], verdicts: Sequence[TokenizedThumb], world: World
) -> list[ScoredThumb]:
    """The scored rows of all processes in order; `scores` are those of this process' rows, `mine`."""
    whole = world.gather_objects([scores[row] for row in mine], mine, len(verdicts))
    return [_scored(verdict, scores) for verdict, scores in zip(verdicts, whole, strict=True)]


def _scored(verdict: TokenizedThumb, scores: Sequence[float]) -> ScoredThumb:
    return ScoredThumb(verdict, scores[0]) if len(scores) == 1 else ScoredThumb(verdict, _mean(scores), tuple(scores))


def _share(items: Sequence[ScoredThumb]) -> Slice:
    accuracy = _mean([item.right for item in items])
    low, high = wilson_interval(accuracy, len(items))
    confidence = _mean([max(item.probability, 1 - item.probability) for item in items])
    return Slice(pairs=len(items), accuracy=accuracy, low=low, high=high, confidence=confidence)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
