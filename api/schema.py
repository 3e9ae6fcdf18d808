"""Base classes of the schemas of requests and responses."""

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import ConfigDict, Field, StringConstraints

from data.findings import Described


class Schema(Described):
    """Base of the schemas that only the API has. Instances are made from rows."""


class DataProgress(Schema):
    """Progress of a data task."""

    fraction: float
    """From 0 to 1."""
    note: str
    """Current step, or what the task waits for, for people."""
    place: int | None
    """Tasks that run or begin before it while it waits in the queue: 0 for the next one. Null once it runs."""


T = TypeVar("T")


class ListOf(Schema, Generic[T]):
    """One page of a list. The same request with `after` set to `last_id` returns the next page."""

    # Reading the docstrings of each `ListOf[…]` is slow.
    model_config = ConfigDict(use_attribute_docstrings=False)

    object: Literal["list"] = Field("list", description="Always `list`.")
    data: list[T] = Field(description="The items of this page.")
    has_more: bool = Field(False, description="Whether more follow.")
    first_id: str | None = Field(None, description="Cursor of the first item.")
    last_id: str | None = Field(None, description="Cursor of the last item: the next page's `after`.")

    @classmethod
    def from_items(cls, items: list[T], has_more: bool = False, key: str = "id") -> Self:
        """A page of `items`, whose cursor is the attribute `key`."""
        ids: list[Any] = [str(getattr(item, key)) for item in items]
        return cls(data=items, has_more=has_more, first_id=ids[0] if ids else None, last_id=ids[-1] if ids else None)


IgnoredColumns = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=1000)]], Field(max_length=200)
]
"""Names of columns of a file that is imported."""

Timestamp = datetime
"""RFC 3339, in UTC."""
