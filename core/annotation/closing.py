"""Closes a round: a data task writes its answers into a dataset version."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from core import tasks
from core.annotation import rounds, shuffle
from core.datasets import versions
from core.errors import DatasetNotReady, InvalidRequest, NotFound, NothingToClose, PlatformError, WrongDatasetKind
from core.models import Annotation, AnnotationItem, AnnotationRound, Dataset, DatasetVersion
from core.models.annotation import AnnotationStatus, RoundStatus
from core.models.datasets import VersionStatus
from data.schema import DatasetKind, canonical

CLOSE_TASK = "annotation_close"
_BATCH = 500


def close(session: Session, round_: AnnotationRound, dataset_id: str | None, name: str | None) -> AnnotationRound:
    """Refuse further answers, and queue a data task that writes the answers into a dataset.

    Without `dataset_id`, the dataset is new. Otherwise the answers follow the rows of its newest ready version, in a new
    version. Raises RoundNotReady, RoundClosed, NothingToClose, InvalidRequest, and the errors of a dataset that cannot be used.
    """
    if dataset_id is not None and name is not None:
        raise InvalidRequest("`name` is the name of a new dataset. Leave out `name` or `dataset`.", param="name")
    # Lock order: the dataset, then the round. Every function that locks both keeps it.
    if dataset_id is None:
        dataset, parent = _dataset_of_failed_close(session, round_, name), None
    else:
        dataset, parent = _appended_to(session, round_, dataset_id)
    round_ = rounds.locked(session, round_.id)
    rounds.refuse_unless_ready(round_)
    if session.scalars(select(func.count()).select_from(Annotation).where(_becomes_row(round_.id))).one() == 0:
        raise NothingToClose(f"{round_.id} has no answers to store. Answers to gold questions are not stored.")
    dataset = dataset or _new(session, round_, name)
    version = versions.new_version(session, dataset, _origin(round_), parent)
    args = {"round": round_.id, "dataset": dataset.id, "version": version.id, "parent": parent and parent.id}
    round_.status, round_.error = RoundStatus.CLOSING.value, None
    round_.dataset_id, round_.version = dataset.id, version.number
    round_.task_id = tasks.enqueue(session, round_.owner_id, CLOSE_TASK, args).id
    session.flush()
    return round_


def finish(session: Session, round_id: str, version: DatasetVersion) -> None:
    """Mark the round as closed, once the version with its answers is ready."""
    round_ = rounds.locked(session, round_id)
    if round_.status == RoundStatus.CLOSING and version.status == VersionStatus.READY:
        round_.status, round_.closed_at = RoundStatus.CLOSED.value, datetime.now(UTC)
        session.flush()


def answered_rows(session: Session, round_id: str) -> Iterator[dict[str, Any]]:
    """A row of preferences for each answer and tie, in the order of the items. Skips and gold questions are left out."""
    query = select(AnnotationItem, Annotation).join(Annotation, Annotation.item_id == AnnotationItem.id)
    query = query.where(_becomes_row(round_id)).order_by(
        AnnotationItem.number, Annotation.answered_at, Annotation.annotator
    )
    for item, annotation in session.execute(query.execution_options(yield_per=_BATCH)):
        yield row_of(item, annotation)


def row_of(item: AnnotationItem, annotation: Annotation) -> dict[str, Any]:
    """The canonical row of an answer.

    Its completions are in the order of the screen, so that an effect of the position can be measured in the rows.
    """
    assert annotation.answered_at is not None
    time = annotation.answered_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    notes = {"annotator": annotation.annotator, "source": item.source or f"annotation/{item.round_id}", "time": time}
    seen = [item.completions[index] for index in annotation.shown]
    if annotation.ranks is not None:
        answer = {"completions": seen, "ranks": shuffle.shown_ranks(annotation.ranks, annotation.shown)}
    else:
        assert annotation.choice is not None
        answer = {"a": seen[0], "b": seen[1], "label": shuffle.shown_label(annotation.choice, annotation.shown)}
    return canonical(DatasetKind.PREFERENCES, {"prompt": item.prompt, **answer, **notes})


def _becomes_row(round_id: str) -> ColumnElement[bool]:
    """SQL of a condition for annotations that become rows."""
    answered = Annotation.status == AnnotationStatus.ANSWERED
    return (Annotation.round_id == round_id) & answered & Annotation.gold.is_(False)


def _appended_to(session: Session, round_: AnnotationRound, dataset_id: str) -> tuple[Dataset, DatasetVersion]:
    """The dataset and its newest ready version. The dataset is locked, so that it gets no other version before the commit."""
    try:
        found = versions.dataset_of(session, round_.owner_id, dataset_id)
        held = select(Dataset.id).filter_by(id=dataset_id).with_for_update(key_share=True)
        if session.scalars(held).one_or_none() is None:
            raise NotFound(f"There is no dataset {dataset_id!r}.")
        newest = versions.newest(session, [found.id]).get(found.id)
        if newest is not None and newest.status == VersionStatus.IMPORTING:
            raise DatasetNotReady(
                f"Version {newest.number} of {found.id} is still being made. Try again once it is ready."
            )
        parent = versions.usable(session, round_.owner_id, found.id)
    except PlatformError as error:
        error.extras.setdefault("param", "dataset")
        raise
    if found.kind != DatasetKind.PREFERENCES:
        raise WrongDatasetKind(
            f"{dataset_id} holds {found.kind}. Answers are preferences: name a dataset of preferences.", param="dataset"
        )
    return found, parent


def _dataset_of_failed_close(session: Session, round_: AnnotationRound, name: str | None) -> Dataset | None:
    """The dataset of an earlier close of this round that could not be written, renamed to `name`. None without one."""
    first_version = (DatasetVersion.number == 1) & DatasetVersion.origin.contains(_origin(round_))
    query = select(Dataset).join(DatasetVersion, DatasetVersion.dataset_id == Dataset.id)
    query = (
        query.where(Dataset.owner_id == round_.owner_id, first_version)
        .order_by(Dataset.created_at, Dataset.id)
        .limit(1)
    )
    row = session.scalars(query.with_for_update(of=Dataset, key_share=True)).first()
    if row is not None and name is not None:
        row.name = versions.checked_name(name)
    return row


def _origin(round_: AnnotationRound) -> dict[str, Any]:
    return {"type": "annotation", "round": round_.id}


def _new(session: Session, round_: AnnotationRound, name: str | None) -> Dataset:
    kind = DatasetKind.PREFERENCES.value
    return versions.new_dataset(session, round_.owner_id, name or _default_name(round_), kind, round_.created_by)


def _default_name(round_: AnnotationRound) -> str:
    return f"{round_.name[: versions.LONGEST_NAME - 20]}, answers"
