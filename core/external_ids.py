"""Ids that an owner gives to jobs and datasets, so that a program can find them again. They are unique per owner and kind."""

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from core.errors import ExternalIdTaken
from core.models import Dataset, Job

Kind = type[Job] | type[Dataset]


def refuse_taken(session: Session, kind: Kind, owner_id: str, external_id: str | None) -> None:
    """Raise ExternalIdTaken if the owner has such a row. Called before the work of a creation."""
    if external_id is None:
        return
    existing = session.scalars(select(kind.id).filter_by(owner_id=owner_id, external_id=external_id)).one_or_none()
    if existing is not None:
        raise ExternalIdTaken(
            f"{existing} has the external id {external_id!r}.", param="external_id", existing=existing
        )


def set_external_id(session: Session, row: Job | Dataset, external_id: str | None) -> None:
    """Give a new row its external id. Raises ExternalIdTaken, also if a concurrent request was first."""
    if external_id is None:
        return
    session.flush()
    try:
        with session.begin_nested():
            row.external_id = external_id
            session.flush()
    except IntegrityError as error:
        kind, owner_id = type(row), row.owner_id
        refuse_taken(session, kind, owner_id, external_id)
        raise ExternalIdTaken(param="external_id") from error  # the other row was deleted at once
