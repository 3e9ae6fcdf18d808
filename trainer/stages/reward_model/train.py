"""The reward-model stage: training on pairs, thumbs or labelled steps, then normalisation of the scores and the report card.

Only differences of the scores of pairs are trained, so their level is arbitrary. The SFT reference answers set it: `scalar_head` returns
(raw − config.score_bias) ÷ config.score_scale.
"""

import time
from collections.abc import Callable, Sequence
from itertools import chain
from statistics import fmean
from typing import Protocol

import torch
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.distributed.cpu_threads import SEQUENTIAL, PairedExecutor
from trainer.events import ReportCard
from trainer.events.report_card import Card, PointwiseCard
from trainer.hangs import phase
from trainer.models import Model, present
from trainer.models.members import levels_of, set_levels
from trainer.models.sequences import Batch, member_scores, sequence_scores
from trainer.models.step_scores import mark_steps
from trainer.optim.learner import Learner
from trainer.optim.micro_batches import BatchLimits, pair_limits, pairs_at_once
from trainer.randomness import batch_indices
from trainer.session.checkpoint import StageResult, TrainerState, load_optimizer
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint, StageLoop
from trainer.spec import RewardModelSpec
from trainer.spec.stages import total_steps
from trainer.stages.held_out_rows import evaluated, evaluating
from trainer.stages.reward_model import pointwise, report_card, stepwise
from trainer.stages.reward_model.pairwise import accumulate_rankings, figures, member_verdicts, score_pairs
from trainer.stages.tokenized_rows import (
    TokenizedDemonstration,
    TokenizedPair,
    TokenizedSolution,
    TokenizedThumb,
    rankings,
)
from trainer.text.codec import Codec

REFERENCES = 2048
"""The most SFT reference answers for mean and standard deviation."""


def unscale(model: Model) -> None:
    """Reset the scale before training, in which differences of raw scores are log odds of a preference.

    A model that was normalised to standard deviation 1 would otherwise be trained on scaled log odds.
    """
    model.config.score_scale = 1.0
    if levels := levels_of(model.config):
        set_levels(model.config, [(bias, 1.0) for bias, _ in levels])


@phase("evaluate")
def normalise(
    session: Session,
    spec: RewardModelSpec,
    model: Model,
    codec: Codec,
    references: Sequence[TokenizedDemonstration],
    at_once: int,
) -> dict[str, float]:
    """Set bias and scale after training by `spec.normalize`; return them, and the raw mean and standard deviation.

    The bias sets the references' mean score to 0 (Stiennon et al. 2020, Huang et al. 2024). The scale sets their standard
    deviation to 1. An ensemble has them for each member; the numbers returned are then the means over the members.
    """
    if levels_of(model.config):
        return _normalise_members(session, spec, model, codec, references, at_once)
    measured: dict[str, float] = {}
    if references:
        raw = raw_scores(model, references[:REFERENCES], codec, at_once, session.device, session.world)
        measured = {"reference_mean": float(raw.mean()), "reference_std": float(raw.std(correction=0))}
    if measured and spec.normalize != "none":
        model.config.score_bias = measured["reference_mean"]
    if measured and spec.normalize == "mean_and_std":
        if measured["reference_std"] > 1e-6:
            model.config.score_scale = measured["reference_std"]
        else:
            session.log(
                "All SFT reference answers have the same score, so the scale of the scores is not changed.", True
            )
    set_to = {"score_bias": float(model.config.score_bias), "score_scale": float(model.config.score_scale)}
    return set_to | measured


def _normalise_members(
    session: Session,
    spec: RewardModelSpec,
    model: Model,
    codec: Codec,
    references: Sequence[TokenizedDemonstration],
    at_once: int,
) -> dict[str, float]:
    levels, measured = levels_of(model.config), dict[str, float]()
    if references:
        raw_NM = _raw_member_scores(model, references[:REFERENCES], codec, at_once, session.device, session.world)
        means, deviations = raw_NM.mean(0).tolist(), raw_NM.std(0, correction=0).tolist()
        if spec.normalize == "mean":
            levels = [(mean, scale) for mean, (_, scale) in zip(means, levels, strict=True)]
        if spec.normalize == "mean_and_std":
            scales = [one if one > 1e-6 else 1.0 for one in deviations]
            levels = list(zip(means, scales, strict=True))
        measured = {"reference_mean": fmean(means), "reference_std": fmean(deviations)}
        if spec.normalize == "mean_and_std" and min(deviations) <= 1e-6:
            session.log("A member gives all SFT reference answers the same score, so its scale is not changed.", True)
    set_levels(model.config, levels)
    set_to = {"score_bias": fmean(bias for bias, _ in levels), "score_scale": fmean(scale for _, scale in levels)}
    return set_to | measured


@torch.no_grad()
def raw_scores(
    model: Model,
    examples: Sequence[TokenizedDemonstration],
    codec: Codec,
    batch_size: int,
    device: torch.device,
    world: World = SINGLE,
) -> Tensor:
    """(N,) raw scores of whole answers, without bias and scale; those of an ensemble are the means of its members' raw scores."""
    if levels_of(model.config):
        return _raw_member_scores(model, examples, codec, batch_size, device, world).mean(1)
    scores_N = _scores(sequence_scores, model, examples, codec, batch_size, device, world)
    return scores_N * float(getattr(model.config, "score_scale", 1.0)) + float(model.config.score_bias)


@torch.no_grad()
def _raw_member_scores(
    model: Model,
    examples: Sequence[TokenizedDemonstration],
    codec: Codec,
    batch_size: int,
    device: torch.device,
    world: World = SINGLE,
) -> Tensor:
    """(N, M) raw scores of each member, without bias and scale."""
    scores_NM = _scores(member_scores, model, examples, codec, batch_size, device, world)
    bias_M, scale_M = torch.tensor(levels_of(model.config), device=scores_NM.device).unbind(1)
    return scores_NM * scale_M + bias_M


def _scores(
    scores_of: Callable[[Model, Batch], Tensor],
    model: Model,
    examples: Sequence[TokenizedDemonstration],
    codec: Codec,
    batch_size: int,
    device: torch.device,
    world: World,
) -> Tensor:
    """The scores of the whole answers, on all processes."""
    mine = world.balanced_rows([len(e.prompt) + len(e.completion) for e in examples])
    batches = ([examples[row] for row in mine[i : i + batch_size]] for i in range(0, len(mine), batch_size))
    with present(model):
        scores = [
            scores_of(model, Batch.from_ids([e.prompt for e in b], [e.completion for e in b], codec.pad_id).to(device))
            for b in batches
        ]
    return world.gather_rows(torch.cat(scores) if scores else None, mine, len(examples), device)


class Objective(Protocol):
    """The training data of the reward model with its loss."""

    @property
    def rows(self) -> int:
        """The number of items to draw batches from: rankings (a single pair is one), thumbs, or solutions."""

    @property
    def has_held_out(self) -> bool:
        """Whether rows are held out."""

    def accumulate(self, rows: Sequence[int]) -> dict[str, float]:
        """Add the gradient of the mean loss of these items; return its figures."""

    def evaluate(self, last: bool) -> dict[str, float]:
        """The held-out figures, before the end (`last`: at the end) of the stage; empty where no rows are held out."""

    def card(self, scale: dict[str, float], references: int) -> Card | PointwiseCard | None:
        """The report card of the latest evaluation; None without held-out rows."""


class PairObjective:
    """Bradley-Terry on pairs. The pairs of a ranking stay together."""

    def __init__(
        self,
        session: Session,
        spec: RewardModelSpec,
        model: Model,
        codec: Codec,
        pairs: Sequence[TokenizedPair],
        held_out: Sequence[TokenizedPair],
        pair: PairedExecutor = SEQUENTIAL,
    ) -> None:
        self._pair = pair
        self._session, self._spec, self._model, self._codec = session, spec, model, codec
        self._rankings, self._held_out = rankings(pairs), rankings(held_out)
        self._judged: list[report_card.ScoredPair] = []
        self._members: report_card.MemberVerdicts | None = None

    @property
    def rows(self) -> int:
        return len(self._rankings)

    @property
    def has_held_out(self) -> bool:
        return bool(self._held_out)

    def accumulate(self, rows: Sequence[int]) -> dict[str, float]:
        batch, device, world = [self._rankings[row] for row in rows], self._session.device, self._session.world
        at_once = pair_limits(self._spec)
        return accumulate_rankings(self._model, batch, self._codec, at_once, device, self._spec, world, self._pair)

    def evaluate(self, last: bool) -> dict[str, float]:
        if not self._held_out:
            return {}
        device, world = self._session.device, self._session.world
        kept = evaluated(self._held_out, self._spec.eval_rows, last)
        scored = score_pairs(self._model, [*chain(*kept)], self._codec, pair_limits(self._spec), device, world)
        self._judged = [*map(report_card.ScoredPair, scored.pairs, scored.a_P.tolist(), scored.b_P.tolist())]
        self._members = member_verdicts(scored)
        return figures(scored) | report_card.headline(self._judged) | _headline(self._members) | {"rows": len(kept)}

    def card(self, scale: dict[str, float], references: int) -> Card | None:
        card = report_card.report_card(self._judged, scale, references)
        return card if card is None or self._members is None else card.model_copy(update=self._members.fields)


class ThumbObjective:
    """Binary cross-entropy on single completions with a thumb."""

    def __init__(
        self,
        session: Session,
        spec: RewardModelSpec,
        model: Model,
        codec: Codec,
        verdicts: Sequence[TokenizedThumb],
        held_out: Sequence[TokenizedThumb],
    ) -> None:
        self._session, self._model, self._codec = session, model, codec
        self._verdicts, self._held_out, self._limits = verdicts, held_out, BatchLimits.from_spec(spec, spec.batch_size)
        self._eval_rows, self._member_share = spec.eval_rows, spec.member_share
        self._judged: list[pointwise.ScoredThumb] = []

    @property
    def rows(self) -> int:
        return len(self._verdicts)

    @property
    def has_held_out(self) -> bool:
        return bool(self._held_out)

    def accumulate(self, rows: Sequence[int]) -> dict[str, float]:
        batch, device, world = [self._verdicts[row] for row in rows], self._session.device, self._session.world
        return pointwise.accumulate(self._model, batch, self._codec, self._limits, device, world, self._member_share)

    def evaluate(self, last: bool) -> dict[str, float]:
        if not self._held_out:
            return {}
        device, world = self._session.device, self._session.world
        rows = evaluated(self._held_out, self._eval_rows, last)
        self._judged = pointwise.score_thumbs(self._model, rows, self._codec, self._limits, device, world)
        values = pointwise.figures(self._judged) | pointwise.headline(self._judged) | {"rows": len(rows)}
        return values | _headline(pointwise.member_verdicts(self._judged))

    def card(self, scale: dict[str, float], references: int) -> PointwiseCard | None:
        card, members = pointwise.report_card(self._judged, scale, references), pointwise.member_verdicts(self._judged)
        return card if card is None or members is None else card.model_copy(update=members.fields)


class StepObjective:
    """Binary cross-entropy on the labelled steps of solutions."""

    def __init__(
        self,
        session: Session,
        spec: RewardModelSpec,
        model: Model,
        codec: Codec,
        solutions: Sequence[TokenizedSolution],
        held_out: Sequence[TokenizedSolution],
    ) -> None:
        self._session, self._model, self._codec, self._eval_rows = session, model, codec, spec.eval_rows
        self._solutions, self._held_out = solutions, held_out
        self._limits = BatchLimits.from_spec(spec, spec.batch_size)
        self._judged: list[stepwise.ScoredSolution] = []

    @property
    def rows(self) -> int:
        return len(self._solutions)

    @property
    def has_held_out(self) -> bool:
        return bool(self._held_out)

    def accumulate(self, rows: Sequence[int]) -> dict[str, float]:
        batch, device, world = [self._solutions[row] for row in rows], self._session.device, self._session.world
        return stepwise.accumulate(self._model, batch, self._codec, self._limits, device, world)

    def evaluate(self, last: bool) -> dict[str, float]:
        if not self._held_out:
            return {}
        device, world = self._session.device, self._session.world
        rows = evaluated(self._held_out, self._eval_rows, last)
        self._judged = stepwise.score_solutions(self._model, rows, self._codec, self._limits, device, world)
        return stepwise.figures(self._judged) | stepwise.headline(self._judged) | {"rows": len(rows)}

    def card(self, scale: dict[str, float], references: int) -> PointwiseCard | None:
        return stepwise.report_card(self._judged, scale, references)


def _headline(members: report_card.MemberVerdicts | None) -> dict[str, float]:
    return {} if members is None else members.headline


def train_on_pairs(
    session: Session,
    spec: RewardModelSpec,
    model: Model,
    codec: Codec,
    pairs: Sequence[TokenizedPair],
    held_out: Sequence[TokenizedPair],
    references: Sequence[TokenizedDemonstration],
    pair: PairedExecutor = SEQUENTIAL,
) -> StageResult:
    """Train `model` in place on pairs; see `train`. `pair` computes the two halves of a batch."""
    objective = PairObjective(session, spec, model, codec, pairs, held_out, pair)
    return train(objective, session, spec, model, codec, references)


def train_on_thumbs(
    session: Session,
    spec: RewardModelSpec,
    model: Model,
    codec: Codec,
    verdicts: Sequence[TokenizedThumb],
    held_out: Sequence[TokenizedThumb],
    references: Sequence[TokenizedDemonstration],
) -> StageResult:
    """Train `model` in place on thumbs; see `train`."""
    return train(
        ThumbObjective(session, spec, model, codec, verdicts, held_out), session, spec, model, codec, references
    )


def train_on_steps(
    session: Session,
    spec: RewardModelSpec,
    model: Model,
    codec: Codec,
    solutions: Sequence[TokenizedSolution],
    held_out: Sequence[TokenizedSolution],
) -> StageResult:
    """Train `model` in place on labelled steps; see `train`. Its scores stay log odds, so no reference answers are scored."""
    return train(StepObjective(session, spec, model, codec, solutions, held_out), session, spec, model, codec, ())


def train(
    objective: Objective,
    session: Session,
    spec: RewardModelSpec,
    model: Model,
    codec: Codec,
    references: Sequence[TokenizedDemonstration],
) -> StageResult:
    """Train `model` in place from the newest checkpoint, set its bias and scale, and save it as the stage's result.

    Where rows are held out, report_card.json is saved with it.
    """
    point = ResumePoint.newest(session, "reward_model", spec)
    spec = point.spec
    steps = total_steps(objective.rows, spec)
    learner = Learner(model, spec, steps, world=session.world)
    if point.checkpoint:
        learner.restore(load_optimizer(point.checkpoint, "optimizer"))
    unscale(model)
    mark_steps(model.config, spec.step_delimiter if spec.loss == "stepwise" else None)

    summary: dict[str, float] = {}
    """The latest held-out figures. The last step always updates them."""

    def step(index: int) -> dict[str, float]:
        seed = session.seed("reward_model")
        values = objective.accumulate(batch_indices(objective.rows, spec.batch_size, index, seed, "order", spec.epochs))
        values |= learner.measured_update(index) | {"lr": learner.lr(index)}
        if loop.evaluates(index + 1):
            with evaluating(loop.is_last(index + 1)):
                found = objective.evaluate(loop.is_last(index + 1))
            summary.update({f"eval/{name}": value for name, value in found.items() if name != "rows"})
            values |= {f"eval/{name}": value for name, value in found.items()}
        return values

    session.begin("reward_model", steps, point.step)
    state = lambda: TrainerState({"optimizer": learner.state()}, {}, {})  # noqa: E731
    loop = StageLoop(
        session, "reward_model", steps, point, model, codec.tokenizer, state, learner.retune, objective.has_held_out
    )
    seconds = loop.run(step)
    began = time.perf_counter()
    sequences = spec.micro_batch_size or spec.batch_size
    at_once = sequences if spec.loss != "pairwise" else 2 * pairs_at_once(spec)
    scale = normalise(session, spec, model, codec, references, at_once)
    card = objective.card(scale, min(len(references), REFERENCES))
    files = {}
    if card is not None:
        session.emit(ReportCard(stage="reward_model", step=steps, card=card))
        files["report_card.json"] = card.model_dump_json(indent=2, exclude_none=True)
    result = StageResult(steps, seconds + time.perf_counter() - began, summary | scale)
    session.finish("reward_model", model, codec.tokenizer, result, files)
    return result
