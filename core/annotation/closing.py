"""The end of a round: its answers become the rows of a dataset version, written in the data lane."""

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
from data.kinds import DatasetKind
from data.schema import canonical

CLOSE_TASK = "annotation_close"
_BATCH = 500


def close(session: Session, round_: AnnotationRound, dataset_id: str | None, name: str | None) -> AnnotationRound:
    """Take no more answers, and have them written into a new dataset, or into the next version of `dataset_id` behind
    the rows of its newest ready one.

    Raises RoundNotReady, RoundClosed, NothingToClose, or what is wrong with the dataset.
    """
    if dataset_id is not None and name is not None:
        raise InvalidRequest("`name` is for a new dataset; leave it or `dataset` out.", param="name")
    # The dataset is locked before the round, as wherever both are.
    if dataset_id is None:
        dataset, parent = _own(session, round_, name), None
    else:
        dataset, parent = _appended_to(session, round_, dataset_id)
    round_ = rounds.locked(session, round_.id)
    rounds.refuse_unless_ready(round_)
    if session.scalars(select(func.count()).select_from(Annotation).where(_counts(round_.id))).one() == 0:
        raise NothingToClose(f"Nobody has answered anything in {round_.id} but gold questions.")
    dataset = dataset or _new(session, round_, name)
    version = versions.new_version(session, dataset, _origin(round_), parent)
    args = {"round": round_.id, "dataset": dataset.id, "version": version.id, "parent": parent and parent.id}
    round_.status, round_.error = RoundStatus.CLOSING.value, None
    round_.dataset_id, round_.version = dataset.id, version.number
    round_.task_id = tasks.enqueue(session, round_.owner_id, CLOSE_TASK, args).id
    session.flush()
    return round_


def finish(session: Session, round_id: str, version: DatasetVersion) -> None:
    """The version has its rows: the round is closed."""
    round_ = rounds.locked(session, round_id)
    if round_.status == RoundStatus.CLOSING and version.status == VersionStatus.READY:
        round_.status, round_.closed_at = RoundStatus.CLOSED.value, datetime.now(UTC)
        session.flush()


def answered_rows(session: Session, round_id: str) -> Iterator[dict[str, Any]]:
    """A row of preferences for each answer, in the order of the items: ties too, no skips, no gold questions."""
    query = select(AnnotationItem, Annotation).join(Annotation, Annotation.item_id == AnnotationItem.id)
    query = query.where(_counts(round_id)).order_by(AnnotationItem.number, Annotation.answered_at, Annotation.annotator)
    for item, annotation in session.execute(query.execution_options(yield_per=_BATCH)):
        yield row_of(item, annotation)


def row_of(item: AnnotationItem, annotation: Annotation) -> dict[str, Any]:
    """The canonical row of one answer, its completions where the annotator saw them: so that it can be seen in the rows
    whether the place decided."""
    assert annotation.answered_at is not None
    time = annotation.answered_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    notes = {"annotator": annotation.annotator, "source": item.source or f"annotation/{item.round_id}", "time": time}
    seen = [item.completions[index] for index in annotation.shown]
    if annotation.ranks is not None:
        said = {"completions": seen, "ranks": shuffle.shown_ranks(annotation.ranks, annotation.shown)}
    else:
        assert annotation.choice is not None
        said = {"a": seen[0], "b": seen[1], "label": shuffle.shown_label(annotation.choice, annotation.shown)}
    return canonical(DatasetKind.PREFERENCES, {"prompt": item.prompt, **said, **notes})


def _counts(round_id: str) -> ColumnElement[bool]:
    """Which annotations become rows."""
    answered = Annotation.status == AnnotationStatus.ANSWERED
    return (Annotation.round_id == round_id) & answered & Annotation.gold.is_(False)


def _appended_to(session: Session, round_: AnnotationRound, dataset_id: str) -> tuple[Dataset, DatasetVersion]:
    """The dataset, nobody else adding a version to it until the commit, and its newest version that is ready."""
    try:
        found = versions.dataset_of(session, round_.owner_id, dataset_id)
        held = select(Dataset.id).filter_by(id=dataset_id).with_for_update(key_share=True)
        if session.scalars(held).one_or_none() is None:
            raise NotFound(f"There is no dataset {dataset_id!r}.")
        newest = versions.newest(session, [found.id]).get(found.id)
        if newest is not None and newest.status == VersionStatus.IMPORTING:
            raise DatasetNotReady(f"Version {newest.number} of {found.id} is still being made; try again after that.")
        parent = versions.usable(session, round_.owner_id, found.id)
    except PlatformError as error:
        error.extras.setdefault("param", "dataset")
        raise
    if found.kind != DatasetKind.PREFERENCES:
        raise WrongDatasetKind(f"{dataset_id} holds {found.kind}; answers are preferences.", param="dataset")
    return found, parent


def _own(session: Session, round_: AnnotationRound, name: str | None) -> Dataset | None:
    """The dataset that was made for the round when it was closed before, and could not be written; called `name` now."""
    began = (DatasetVersion.number == 1) & DatasetVersion.origin.contains(_origin(round_))
    query = select(Dataset).join(DatasetVersion, DatasetVersion.dataset_id == Dataset.id)
    query = query.where(Dataset.owner_id == round_.owner_id, began).order_by(Dataset.created_at, Dataset.id).limit(1)
    found = session.scalars(query.with_for_update(of=Dataset, key_share=True)).first()
    if found is not None and name is not None:
        found.name = versions.fit_name(name)
    return found


def _origin(round_: AnnotationRound) -> dict[str, Any]:
    return {"type": "annotation", "round": round_.id}


def _new(session: Session, round_: AnnotationRound, name: str | None) -> Dataset:
    kind = DatasetKind.PREFERENCES.value
    return versions.new_dataset(session, round_.owner_id, name or _default_name(round_), kind)


def _default_name(round_: AnnotationRound) -> str:
    return f"{round_.name[: versions.LONGEST_NAME - 20]}, answers"
