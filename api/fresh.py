"""A row as the database has it now, where another request may have deleted it meanwhile."""

from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from core.errors import NotFound
from core.models import Dataset, Upload


def refresh(session: Session, row: Dataset | Upload) -> None:
    """Write what was changed, and read what the database made of it. NotFound if it is gone."""
    id_ = row.id
    try:
        session.flush()
        session.refresh(row)
    except (StaleDataError, InvalidRequestError) as error:
        raise NotFound(f"{id_} was deleted meanwhile.") from error
