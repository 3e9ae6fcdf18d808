"""Responses for rounds, items and figures, made from rows."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from pydantic import TypeAdapter
from sqlalchemy.orm import Session

from api import progress
from api.annotation import schemas
from api.annotation.progress_schemas import (
    AnnotationError,
    AnnotationProgress,
    AnnotationSide,
    AnnotatorProgress,
    RewardModelProgress,
)
from api.etags import etag_of
from api.schema import DataProgress
from core import models
from core.annotation import results, scores, shuffle
from core.annotation.figures import Figures
from core.annotation.queue import Assignment, QueueProgress
from core.annotation.results import RoundCounts
from core.annotation.spec import RoundFromCheckpoints, RoundFromDataset
from core.models.annotation import RoundKind, RoundStatus
from core.models.tasks import TaskStatus

_WAITING = (RoundStatus.PREPARING, RoundStatus.CLOSING)
_SOURCE = TypeAdapter[RoundFromDataset | RoundFromCheckpoints](RoundFromDataset | RoundFromCheckpoints)
_ScoringStatus = Literal["queued", "scoring", "succeeded", "failed"]
_SCORING_STATUS: dict[TaskStatus, _ScoringStatus] = {
    TaskStatus.QUEUED: "queued",
    TaskStatus.RUNNING: "scoring",
    TaskStatus.SUCCEEDED: "succeeded",
}


def round_of(session: Session, round_: models.AnnotationRound) -> schemas.AnnotationRound:
    (view,) = rounds_of(session, [round_])
    return view


def rounds_of(session: Session, rounds: Sequence[models.AnnotationRound]) -> list[schemas.AnnotationRound]:
    counts = results.counts(session, rounds)
    return [_round(session, round_, counts[round_.id]) for round_ in rounds]


def item_of(assignment: Assignment, kind: str) -> schemas.AnnotationItem:
    """The item in the annotator's order, without its policies."""
    annotation, item = assignment
    is_answered = annotation.choice is not None or annotation.ranks is not None
    return schemas.AnnotationItem(
        id=item.id,
        kind=RoundKind(kind),
        prompt=item.prompt,
        completions=[item.completions[index] for index in annotation.shown],
        previous=_shown_answer(annotation) if is_answered else None,
        reserved_until=annotation.reserved_until,
    )


def answer_of(annotation: models.Annotation, standing: QueueProgress) -> schemas.AnnotationAnswer:
    """A stored answer. The annotation must have been answered."""
    assert annotation.seconds is not None and annotation.answered_at is not None
    answer = _shown_answer(annotation)
    return schemas.AnnotationAnswer(
        item=annotation.item_id,
        annotator=annotation.annotator,
        choice=answer.choice,
        ranks=answer.ranks,
        seconds=annotation.seconds,
        answered_at=annotation.answered_at,
        done=standing.done,
        total=standing.total,
        last_item=standing.last_item,
    )


def progress_of(session: Session, round_: models.AnnotationRound) -> AnnotationProgress:
    figures, counts = results.figures_of(session, round_), results.counts(session, [round_])[round_.id]
    return AnnotationProgress(
        items=counts.items,
        items_done=counts.complete,
        answers=figures.answers,
        answers_wanted=counts.items * round_.overlap,
        skips=figures.skips,
        ties=figures.ties,
        first_chosen=figures.first_chosen,
        second_chosen=figures.second_chosen,
        annotators=[AnnotatorProgress(**asdict(annotator)) for annotator in figures.annotators],
        alpha=figures.alpha,
        alpha_items=figures.alpha_items,
        pairwise=figures.pairwise,
        gold_right=figures.gold_right,
        gold_of=figures.gold_of,
        sides=_sides(round_, figures),
        reward_model=_reward_model(session, round_, figures),
    )


def result_of(item: models.AnnotationItem, answers: Sequence[models.Annotation]) -> schemas.AnnotationResult:
    return schemas.AnnotationResult(
        id=item.id,
        number=item.number,
        prompt=item.prompt,
        completions=item.completions,
        policies=item.policies,
        finished=item.finished,
        row=item.row,
        gold=item.gold,
        scores=item.scores,
        answers=[schemas.StoredAnswer.model_validate(answer) for answer in answers],
    )


def _round(session: Session, round_: models.AnnotationRound, counts: RoundCounts) -> schemas.AnnotationRound:
    task = session.get(models.DataTask, round_.task_id) if round_.task_id and round_.status in _WAITING else None
    policies = round_.policies
    return schemas.AnnotationRound(
        id=round_.id,
        name=round_.name,
        kind=RoundKind(round_.kind),
        status=RoundStatus(round_.status),
        etag=etag_of(round_),
        progress=_progress(session, task) if task is not None else None,
        error=_error(round_.error),
        source=_SOURCE.validate_python(round_.source),
        policies=None if policies is None else [schemas.AnnotationPolicy(**policy) for policy in policies],
        instructions=round_.instructions,
        overlap=round_.overlap,
        gold=round_.gold,
        gold_share=round_.gold_share,
        reservation_minutes=round_.reservation_minutes,
        items=counts.items,
        gold_items=counts.gold_items,
        complete=counts.complete,
        left_out=round_.left_out,
        cut_off=counts.cut_off,
        answers=counts.answers,
        answers_wanted=counts.items * round_.overlap,
        annotators=counts.annotators,
        reward_model=round_.reward_model,
        dataset=round_.dataset_id,
        version=round_.version,
        jobs=round_.jobs,
        created_at=round_.created_at,
        closed_at=round_.closed_at,
    )


def _progress(session: Session, task: models.DataTask) -> DataProgress | None:
    return progress.progress_of(session, [task]).get(task.id)


def _error(stored: dict[str, str] | None) -> AnnotationError | None:
    return None if stored is None else AnnotationError.model_validate(stored)


def _shown_answer(annotation: models.Annotation) -> schemas.ShownAnswer:
    """The answer in the order in which the annotator saw the completions."""
    choice, ranks = annotation.choice, annotation.ranks
    stored = {
        "choice": None if choice is None else shuffle.choice_of(choice, annotation.shown),
        "ranks": None if ranks is None else shuffle.shown_ranks(ranks, annotation.shown),
    }
    return schemas.ShownAnswer.model_validate(stored)


def _sides(round_: models.AnnotationRound, figures: Figures) -> list[AnnotationSide] | None:
    if figures.sides is None:
        return None
    policies = round_.policies or []
    return [
        AnnotationSide(
            checkpoint=policies[side.policy]["checkpoint"], model=policies[side.policy]["model"], **asdict(side)
        )
        for side in figures.sides
    ]


def _reward_model(session: Session, round_: models.AnnotationRound, figures: Figures) -> RewardModelProgress | None:
    if round_.reward_model is None:
        return None
    task = scores.task_of(session, round_)
    status = TaskStatus.QUEUED if task is None else TaskStatus(task.status)  # the scoring starts when the items exist
    is_going_on = status in (TaskStatus.QUEUED, TaskStatus.RUNNING)
    return RewardModelProgress(
        checkpoint=round_.reward_model,
        status=_SCORING_STATUS.get(status, "failed"),
        progress=_progress(session, task) if task is not None and is_going_on else None,
        error=_error(task.error) if task is not None else None,
        **asdict(figures.reward_model),
    )
