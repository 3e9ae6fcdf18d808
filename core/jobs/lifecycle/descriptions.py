"""The fields that a user changes in every state of a job: name, tags, notes, metadata, and whether it may be preempted."""

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.errors import InvalidRequest, NotFound
from core.models import Job
from data.parse import bad_text
from trainer.spec.nulls import merge_patch

LONGEST_TAG = 50
MOST_TAGS = 20
MOST_METADATA = 50


def normal_tag(text: str) -> str:
    """The tag in lower case, with single spaces inside and none around it. Raises ValueError for an invalid one."""
    tag = " ".join(unicodedata.normalize("NFC", _printable(text)).lower().split())
    if not 1 <= len(tag) <= LONGEST_TAG:
        raise ValueError(f"a tag has 1 to {LONGEST_TAG} characters")
    return tag


def _printable(text: str) -> str:
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
        raise ValueError("must not contain a control character")
    return text


def storable_text(text: str) -> str:
    """The unchanged text. Raises ValueError for one that PostgreSQL cannot store."""
    if bad_text(text):
        raise ValueError("holds a NUL character or half of a surrogate pair")
    return text


Name = Annotated[str, Field(max_length=200), AfterValidator(_printable)]
Tag = Annotated[str, AfterValidator(normal_tag)]
Notes = Annotated[str, Field(max_length=10_000), AfterValidator(storable_text)]
_Key = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_printable)]
_Value = Annotated[str, Field(max_length=500), AfterValidator(storable_text)]
MetadataPatch = dict[_Key, _Value | None]


def change_description(session: Session, job: Job, patch: Mapping[str, Any]) -> None:
    """Apply a merge patch (RFC 7396) to `name`, `tags`, `notes`, `metadata` and `preemptible`, whose values are valid.

    Null empties a field or restores its default. Raises InvalidRequest for too much metadata, and NotFound if the job was deleted meanwhile.
    """
    query = select(Job).filter_by(id=job.id).with_for_update(key_share=True)
    if session.scalars(query.execution_options(populate_existing=True)).one_or_none() is None:
        raise NotFound(f"{job.id} was deleted meanwhile.")
    stored = {"name": job.name, "tags": job.tags, "notes": job.notes, "metadata": job.metadata_}
    merged = merge_patch(stored, patch)
    metadata = merged.get("metadata", {})
    if len(metadata) > MOST_METADATA:
        detail = f"would hold {len(metadata)} keys; the limit is {MOST_METADATA}"
        raise InvalidRequest(
            f"`metadata` {detail}.", param="metadata", errors=[{"pointer": "#/metadata", "detail": detail}]
        )
    job.name, job.notes = merged.get("name", ""), merged.get("notes", "")
    job.tags, job.metadata_ = list(dict.fromkeys(merged.get("tags", []))), metadata
    if "preemptible" in patch:
        job.preemptible = bool(patch["preemptible"])


def copy_description(made: Job, job: Job) -> None:
    """Give a job that was made from another one its tags and metadata."""
    made.tags, made.metadata_ = list(job.tags), dict(job.metadata_)
