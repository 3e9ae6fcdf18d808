"""Responses for rounds, items and figures, made from rows."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy.orm import Session

from api import progress
from api.annotation import schemas
from api.annotation.progress_schemas import AnnotationProgress
from api.etags import etag_of
from api.schema import DataProgress
from core import models
from core.annotation import results, scores, shuffle
from core.annotation.figures import Figures
from core.annotation.queue import Assignment, QueueProgress
from core.annotation.results import RoundCounts
from core.models.annotation import RoundStatus
from core.models.tasks import TaskStatus

_WAITING = (RoundStatus.PREPARING, RoundStatus.CLOSING)
_STORED = (
    "id", "name", "kind", "status", "error", "source", "policies", "instructions", "overlap", "gold", "gold_share",
    "reservation_minutes", "left_out", "reward_model", "version", "jobs", "created_at", "closed_at",
)  # fmt: skip
_SCORING_STATUS = {TaskStatus.QUEUED: "queued", TaskStatus.RUNNING: "scoring", TaskStatus.SUCCEEDED: "succeeded"}


def round_of(session: Session, round_: models.AnnotationRound) -> schemas.AnnotationRound:
    (shown,) = rounds_of(session, [round_])
    return shown


def rounds_of(session: Session, found: Sequence[models.AnnotationRound]) -> list[schemas.AnnotationRound]:
    counts = results.counts(session, found)
    return [_round(session, round_, counts[round_.id]) for round_ in found]


def item_of(assignment: Assignment, kind: str) -> schemas.AnnotationItem:
    """The item in the annotator's order, without its policies."""
    annotation, item = assignment
    previous = _shown_answer(annotation) if annotation.choice is not None or annotation.ranks is not None else None
    return schemas.AnnotationItem.model_validate(
        {
            "id": item.id,
            "kind": kind,
            "prompt": item.prompt,
            "completions": [item.completions[index] for index in annotation.shown],
            "previous": previous,
            "reserved_until": annotation.reserved_until,
        }
    )


def answer_of(annotation: models.Annotation, progress: QueueProgress) -> schemas.AnnotationAnswer:
    plain = {"item": annotation.item_id, "annotator": annotation.annotator, "seconds": annotation.seconds}
    whole = plain | {"answered_at": annotation.answered_at} | _shown_answer(annotation) | asdict(progress)
    return schemas.AnnotationAnswer.model_validate(whole)


def progress_of(session: Session, round_: models.AnnotationRound) -> AnnotationProgress:
    figures, counts = results.figures_of(session, round_), results.counts(session, [round_])[round_.id]
    own = {"items": counts.items, "items_done": counts.complete, "answers_wanted": counts.items * round_.overlap}
    sides = {"sides": _sides(round_, figures), "reward_model": _reward_model(session, round_, figures)}
    return AnnotationProgress.model_validate(asdict(figures) | own | sides)


def result_of(item: models.AnnotationItem, answers: Sequence[models.Annotation]) -> schemas.AnnotationResult:
    fields = [name for name in schemas.AnnotationResult.model_fields if name not in ("object", "answers")]
    given = [schemas.StoredAnswer.model_validate(answer) for answer in answers]
    return schemas.AnnotationResult.model_validate({name: getattr(item, name) for name in fields} | {"answers": given})


def _round(session: Session, round_: models.AnnotationRound, counts: RoundCounts) -> schemas.AnnotationRound:
    shown: dict[str, object] = {name: getattr(round_, name) for name in _STORED}
    task = session.get(models.DataTask, round_.task_id) if round_.task_id and round_.status in _WAITING else None
    shown |= {"dataset": round_.dataset_id, "progress": task and _progress(session, task)}
    shown |= {"etag": etag_of(round_)}
    shown |= asdict(counts) | {"answers_wanted": counts.items * round_.overlap}
    return schemas.AnnotationRound.model_validate(shown)


def _progress(session: Session, task: models.DataTask) -> DataProgress | None:
    return progress.progress_of(session, [task]).get(task.id)


def _shown_answer(annotation: models.Annotation) -> dict[str, object]:
    """The answer in the order in which the annotator saw the completions."""
    choice = annotation.choice and shuffle.choice_of(annotation.choice, annotation.shown)
    return {"choice": choice, "ranks": annotation.ranks and shuffle.shown_ranks(annotation.ranks, annotation.shown)}


def _sides(round_: models.AnnotationRound, figures: Figures) -> list[dict[str, object]] | None:
    if figures.sides is None:
        return None
    policies = round_.policies or []
    names = [{name: policy[name] for name in ("checkpoint", "model")} for policy in policies]
    return [asdict(side) | names[side.policy] for side in figures.sides]


def _reward_model(session: Session, round_: models.AnnotationRound, figures: Figures) -> dict[str, object] | None:
    if round_.reward_model is None:
        return None
    task = scores.task_of(session, round_)
    status = TaskStatus.QUEUED if task is None else TaskStatus(task.status)  # the scoring starts when the items exist
    going_on = task is not None and status in (TaskStatus.QUEUED, TaskStatus.RUNNING)
    return {
        "checkpoint": round_.reward_model,
        "status": _SCORING_STATUS.get(status, "failed"),
        "progress": _progress(session, task) if task is not None and going_on else None,
        "error": task.error if task is not None else None,
        **asdict(figures.reward_model),
    }
