"""The pairwise reward model: losses, scores and figures of pairs, with one forward pass for each different answer.

P counts pairs, K the answers to one prompt, M the members of an ensemble (trainer/models/members.py). A ranking counts as one item of a batch. Each of its pairs has the weight
1 ÷ (number of its pairs), and a complete ranking has K·(K − 1)/2 pairs (Ouyang et al. 2022, §3.5, eq. 1).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.distributed.cpu_threads import SEQUENTIAL, PairedExecutor
from trainer.distributed.sharding import in_step
from trainer.models import Model, present
from trainer.models.members import learners_of, members_of
from trainer.models.sequences import Batch, member_scores, sequence_scores
from trainer.optim.halves import accumulate_halves, divides, halves
from trainer.optim.learner import require_finite
from trainer.optim.loss_scale import backward
from trainer.optim.micro_batches import AtOnce, BatchLimits, limits
from trainer.spec import RewardModelSpec
from trainer.stages.reward_model.report_card import MemberVerdicts
from trainer.stages.tokenized_rows import TokenizedPair, rankings
from trainer.text.codec import Codec


def bradley_terry_loss(scores_a: Tensor, scores_b: Tensor, targets: Tensor, margins: Tensor | float = 0.0) -> Tensor:
    """Loss of each pair, (B,), in nats: −[p log σ(a − b − m) + (1 − p) log σ(b − a − m)], p the probability that A is preferred.

    Without margins, Stiennon et al. 2020, §3.4, and Ouyang et al. 2022, eq. 1; with them, Touvron et al. 2023, eq. 2. A
    tie is p = ½: the two sides should score the same (and its margin be 0).
    """
    difference = scores_a - scores_b
    return -(targets * F.logsigmoid(difference - margins) + (1 - targets) * F.logsigmoid(-difference - margins))


def pointwise_loss(scores: Tensor, up: Tensor) -> Tensor:
    """Loss of each completion, (B,), in nats: −log σ(r) for a thumb up, −log σ(−r) for one down.

    Binary cross-entropy with the score r as the log odds of a thumb up (Cobbe et al. 2021, §4, on solutions found right or
    wrong).
    """
    return -F.logsigmoid(torch.where(up, scores, -scores))


def centring_loss(scores_a: Tensor, scores_b: Tensor) -> Tensor:
    """(a + b)² of each pair, (B,): a difference leaves the level of the scores open, this ties it to 0 (Eisenstein et al. 2023, eq. 2)."""
    return (scores_a + scores_b) ** 2


Ranking = list[TokenizedPair]


@dataclass(frozen=True)
class PairScores:
    """Pairs with the scores of their two sides, (P,) each. `weights_P` sums to the number of rankings."""

    pairs: list[TokenizedPair]
    a_P: Tensor
    b_P: Tensor
    targets_P: Tensor
    margins_P: Tensor
    weights_P: Tensor
    members: tuple[Tensor, Tensor] | None = None
    """The scores of the two sides by each member of an ensemble, (P, M) each, of which `a_P` and `b_P` are the means."""

    def loss(self, spec: RewardModelSpec, learning: bool = False) -> Tensor:
        """The sum over rankings of the mean loss of their pairs. That of an ensemble is the mean of its members' losses.

        `learning`: each member has the pairs of its `member_share` alone.
        """
        if self.members is None:
            losses_P = self._losses(spec, self.a_P, self.b_P)
        else:
            by_member = zip(*(side_PM.unbind(1) for side_PM in self.members), strict=True)
            losses_PM = torch.stack([self._losses(spec, a_P, b_P) for a_P, b_P in by_member], 1)
            if learning and spec.member_share < 1:
                rows = [(pair.prompt, pair.a, pair.b) for pair in self.pairs]
                losses_PM = losses_PM * learners_of(rows, losses_PM.shape[1], spec.member_share, losses_PM.device)
            losses_P = losses_PM.mean(1)
        return (losses_P * self.weights_P).sum()

    def _losses(self, spec: RewardModelSpec, a_P: Tensor, b_P: Tensor) -> Tensor:
        margins = self.margins_P if spec.margin else 0.0
        losses_P = bradley_terry_loss(a_P, b_P, self.targets_P, margins)
        if spec.center_coef:
            losses_P = losses_P + spec.center_coef * centring_loss(a_P, b_P)
        return losses_P

    def detached(self) -> "PairScores":
        members = self.members and (self.members[0].detach(), self.members[1].detach())
        return replace(self, a_P=self.a_P.detach(), b_P=self.b_P.detach(), members=members)


def accumulate_pairs(
    model: Model,
    batch: Sequence[TokenizedPair],
    codec: Codec,
    micro_batch: AtOnce,
    device: torch.device,
    spec: RewardModelSpec | None = None,
    world: World = SINGLE,
) -> dict[str, float]:
    """Add the gradient of the batch's mean loss, which does not depend on its division; return loss, accuracy and margin.

    `micro_batch` counts pairs, and a ranking is never divided. `spec` sets margins and centring; None: plain Bradley-Terry.
    """
    return accumulate_rankings(model, rankings(batch), codec, micro_batch, device, spec or RewardModelSpec(), world)


def accumulate_rankings(
    model: Model,
    batch: Sequence[Ranking],
    codec: Codec,
    micro_batch: AtOnce,
    device: torch.device,
    spec: RewardModelSpec,
    world: World = SINGLE,
    pair: PairedExecutor = SEQUENTIAL,
) -> dict[str, float]:
    """The same for rankings. One ranking may occur twice in a batch, where an epoch ends and the next begins.

    `pair` computes the two halves of a batch that is one micro-batch.
    """
    parts: list[PairScores] = []
    mine = _local_rankings(batch, world)
    micro_batches = [*_in_parts([batch[row] for row in mine], limits(micro_batch))]

    def loss_of(some: Sequence[Ranking]) -> tuple[Tensor, PairScores]:
        scored = _score(model, some, codec, device)
        loss = scored.loss(spec, learning=True) / len(batch)
        require_finite(loss, "reward-model loss")
        return loss, scored.detached()

    if divides(pair, micro_batches, len(mine)):
        one, other = ([batch[mine[at]] for at in half] for half in halves([_tokens(batch[row]) for row in mine]))
        return figures(
            _concatenated(accumulate_halves(pair, model, lambda: loss_of(one), lambda: loss_of(other))), spec
        )
    with world.fail_together():
        for some in in_step(micro_batches, world, model):
            loss, scored = loss_of(some)
            backward(loss, model)
            parts.append(scored)
    return figures(_gathered(parts, mine, batch, device, world), spec)


@torch.no_grad()
def score_pairs(
    model: Model,
    pairs: Sequence[TokenizedPair],
    codec: Codec,
    at_once: AtOnce,
    device: torch.device,
    world: World = SINGLE,
) -> PairScores:
    """The scores of all pairs, `at_once` pairs at a time. Rankings stay together, so the order may change."""
    together = rankings(pairs)
    mine = _local_rankings(together, world)
    own = _in_parts([together[row] for row in mine], limits(at_once))
    with present(model):
        parts = [_score(model, some, codec, device) for some in own]
    return _gathered(parts, mine, together, device, world)


def evaluate_pairs(
    model: Model,
    pairs: Sequence[TokenizedPair],
    codec: Codec,
    at_once: AtOnce,
    device: torch.device,
    world: World = SINGLE,
) -> dict[str, float]:
    """Loss (plain Bradley-Terry), accuracy and margin over all pairs; empty without pairs."""
    return figures(score_pairs(model, pairs, codec, at_once, device, world)) if pairs else {}


def figures(scored: PairScores, spec: RewardModelSpec | None = None) -> dict[str, float]:
    """Mean loss over all rankings, and accuracy and margin over the pairs that are not ties."""
    values = {"loss": float(scored.loss(spec or RewardModelSpec()) / scored.weights_P.sum())}
    differences = scored.a_P - scored.b_P
    signed = torch.where(scored.targets_P > 0.5, differences, -differences)[scored.targets_P != 0.5]
    if len(signed):
        values |= {"accuracy": float((signed > 0).float().mean()), "margin": float(signed.mean())}
    return values


def member_verdicts(scored: PairScores) -> MemberVerdicts | None:
    """Whether each member scores the preferred side higher, in the pairs that are not ties; None without members or pairs."""
    if scored.members is None or not (scored.targets_P != 0.5).any():
        return None
    a_PM, b_PM = scored.members
    differences_PM = torch.where(scored.targets_P[:, None] > 0.5, a_PM - b_PM, b_PM - a_PM)
    return MemberVerdicts((differences_PM[scored.targets_P != 0.5] > 0).tolist())


def _score(model: Model, some: Sequence[Ranking], codec: Codec, device: torch.device) -> PairScores:
    """One forward pass over the different answers of each ranking: all A sides first, then the B sides not among them."""
    pairs = [(index, pair) for index, ranking in enumerate(some) for pair in ranking]
    a_sides, b_sides = [(at, tuple(p.a)) for at, p in pairs], [(at, tuple(p.b)) for at, p in pairs]
    row_of = {answer: row for row, answer in enumerate(dict.fromkeys([*a_sides, *b_sides]))}
    prompts = [some[at][0].prompt for at, _ in row_of]
    batch = Batch.from_ids(prompts, [list(ids) for _, ids in row_of], codec.pad_id).to(device)
    a_rows, b_rows = [row_of[side] for side in a_sides], [row_of[side] for side in b_sides]
    if members_of(model.config) == 1:
        scores = sequence_scores(model, batch)
        return _scored(some, scores[a_rows], scores[b_rows])
    scores_BM = member_scores(model, batch)
    return _of_members(some, scores_BM[a_rows], scores_BM[b_rows])


def _of_members(together: Sequence[Ranking], a_PM: Tensor, b_PM: Tensor) -> PairScores:
    return replace(_scored(together, a_PM.mean(1), b_PM.mean(1)), members=(a_PM, b_PM))


def _scored(together: Sequence[Ranking], a_P: Tensor, b_P: Tensor) -> PairScores:
    def column(values: Sequence[float]) -> Tensor:
        return torch.tensor(values, device=a_P.device)

    pairs = [pair for ranking in together for pair in ranking]
    weights = [1 / len(ranking) for ranking in together for _ in ranking]
    return PairScores(
        pairs, a_P, b_P, column([p.target for p in pairs]), column([p.margin for p in pairs]), column(weights)
    )


def _local_rankings(together: Sequence[Ranking], world: World) -> list[int]:
    """This process' rankings, balanced by the tokens of their pairs."""
    return world.balanced_rows([_tokens(ranking) for ranking in together])


def _tokens(ranking: Ranking) -> int:
    return sum(2 * len(p.prompt) + len(p.a) + len(p.b) for p in ranking)


def _gathered(
    parts: Sequence[PairScores], mine: Sequence[int], together: Sequence[Ranking], device: torch.device, world: World
) -> PairScores:
    """The scores of all rankings; `parts` are this process' own."""
    if world.size == 1:
        return _concatenated(parts)
    held = [part.members or (part.a_P, part.b_P) for part in parts]
    scores = iter([sides for a, b in held for sides in zip(a.tolist(), b.tolist(), strict=True)])
    own = [[next(scores) for _ in together[row]] for row in mine]
    sides = [both for ranking in world.gather_objects(own, mine, len(together)) for both in ranking]
    a, b = torch.tensor(sides, device=device).unbind(1)
    return _scored(together, a, b) if a.dim() == 1 else _of_members(together, a, b)


def _in_parts(together: Sequence[Ranking], most: BatchLimits) -> Iterator[list[Ranking]]:
    """Yield the rankings in order, in parts within the limits. A part has at least one ranking.

    A limit of n rows allows 2·n answers.
    """
    part: list[Ranking] = []
    count = longest = 0
    for ranking in together:
        answers = {tuple(side) for pair in ranking for side in (pair.a, pair.b)}
        width = len(ranking[0].prompt) + max(map(len, answers))
        rows, tokens = count + len(answers), (count + len(answers)) * max(longest, width)
        if part and ((most.rows and rows > 2 * most.rows) or (most.tokens and tokens > most.tokens)):
            yield part
            part, count, longest = [], 0, 0
        part.append(ranking)
        count, longest = count + len(answers), max(longest, width)
    if part:
        yield part


def _concatenated(parts: Sequence[PairScores]) -> PairScores:
    return PairScores(
        [pair for part in parts for pair in part.pairs],
        torch.cat([part.a_P for part in parts]),
        torch.cat([part.b_P for part in parts]),
        torch.cat([part.targets_P for part in parts]),
        torch.cat([part.margins_P for part in parts]),
        torch.cat([part.weights_P for part in parts]),
        _together([part.members for part in parts if part.members is not None]),
    )


def _together(members: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor] | None:
    """The members' scores of several parts; None without members."""
    return (torch.cat([a for a, _ in members]), torch.cat([b for _, b in members])) if members else None
