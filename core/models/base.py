"""What all tables share."""

import base64
import secrets
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import BigInteger, DateTime, MetaData, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

CreatedAt = Annotated[datetime, mapped_column(DateTime(timezone=True), server_default=func.now())]
"""When the transaction began that wrote the row."""


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {  # noqa: RUF012  (SQLAlchemy's own way to declare it)
        str: Text,
        int: BigInteger,
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB(none_as_null=True),
        list[dict[str, Any]]: JSONB(none_as_null=True),
    }


def one_of(column: str, values: type[StrEnum]) -> str:
    """SQL of a CHECK that `column` holds a value of the enum."""
    return f"{column} IN ({', '.join(repr(value.value) for value in values)})"


# Ids: a prefix that says what it is, and 120 random bits.
def new_id(prefix: str) -> str:
    """For example `job_` and 24 lowercase letters and digits."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(15)).decode().lower()}"
