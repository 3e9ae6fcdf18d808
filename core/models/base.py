"""Parts that all tables share: naming of constraints, types of columns, ids, and the columns of a lease."""

import base64
import secrets
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import BigInteger, DateTime, MetaData, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

CreatedAt = Annotated[datetime, mapped_column(DateTime(timezone=True), server_default=func.now())]
"""The start of the transaction that wrote the row."""

CreatedBy = Annotated[str | None, mapped_column(Text)]
"""The user whose request made the row. Null: it is from before users were recorded, or the platform made it."""


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {  # noqa: RUF012  (the form that SQLAlchemy documents)
        str: Text,
        int: BigInteger,
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB(none_as_null=True),
        list[dict[str, Any]]: JSONB(none_as_null=True),
    }


class LeasedRow:
    """The columns that core/leasing.py needs. A table may declare any of them again, with more detail."""

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str]
    status: Mapped[str]
    attempt: Mapped[int] = mapped_column(default=0)
    """Number of the newest attempt. A write that names another one is refused."""
    worker_id: Mapped[str | None]
    """The worker that holds the row; null without a lease."""
    lease_expires_at: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]
    started_at: Mapped[datetime | None]
    """Start of the first attempt."""


def one_of(column: str, values: type[StrEnum]) -> str:
    """SQL of a CHECK that `column` holds a value of the enum."""
    return f"{column} IN ({', '.join(repr(value.value) for value in values)})"


def new_id(prefix: str) -> str:
    """The prefix, an underscore, and 120 random bits as 24 lowercase letters and digits."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(15)).decode().lower()}"
