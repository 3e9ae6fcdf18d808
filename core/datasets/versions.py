"""Datasets, their versions, and references to versions.

A reference is `ds_…` (the newest version), `ds_…@2`, or `ds_…@sha256:…` with at least 8 digits of the sum of the rows.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from core.access.users import acting_user
from core.datasets.damage import refuse_marked
from core.errors import DatasetBlocked, DatasetFailed, DatasetNotReady, InvalidRequest, NotFound
from core.models import Dataset, DatasetVersion
from core.models.base import new_id
from core.models.datasets import VersionStatus
from data.parse import storable
from data.schema import DatasetKind

LONGEST_NAME = 200
_REFUSED_CATEGORIES = frozenset({"Cc", "Cs"})
"""Unicode categories: control characters and lone surrogates. Joiners and unusual spaces occur in file names."""


def new_dataset(session: Session, owner_id: str, name: str, kind: str, created_by: str | None = None) -> Dataset:
    """Store a dataset without a version. Raises InvalidRequest for an invalid name.

    `created_by`: the user that it belongs to if no user's request makes it.
    """
    dataset = Dataset(id=new_id("ds"), owner_id=owner_id, name=checked_name(name), kind=DatasetKind(kind).value)
    dataset.created_by = acting_user(session) if created_by is None else created_by
    session.add(dataset)
    session.flush()
    return dataset


def checked_name(name: str) -> str:
    """Returns the name unchanged. Raises InvalidRequest if it is not valid."""
    if (
        not name.strip()
        or len(name) > LONGEST_NAME
        or _REFUSED_CATEGORIES.intersection(map(unicodedata.category, name))
    ):
        detail = f"must have at most {LONGEST_NAME} characters, and at least one, and no control character"
        raise InvalidRequest(f"The name {detail}.", param="name", errors=[{"pointer": "#/name", "detail": detail}])
    return name


def default_name(filename: str) -> str:
    """The default name of a dataset that is made from a file: the file name, shortened to the longest name."""
    return filename[:LONGEST_NAME].rstrip()


def new_version(
    session: Session, dataset: Dataset, origin: dict[str, Any], parent: DatasetVersion | None = None
) -> DatasetVersion:
    """Store the dataset's next version, which is `importing` until it is published or its data task fails. Raises NotFound."""
    # This lock serialises concurrent calls, so that the numbers differ.
    held = select(Dataset.id).filter_by(id=dataset.id).with_for_update(key_share=True)
    if session.scalars(held).one_or_none() is None:
        raise _no_dataset(dataset.id)
    newest = session.scalars(select(func.max(DatasetVersion.number)).filter_by(dataset_id=dataset.id)).one()
    version = DatasetVersion(
        id=new_id("dv"),
        dataset_id=dataset.id,
        number=(newest or 0) + 1,
        status=VersionStatus.IMPORTING.value,
        parent_id=parent and parent.id,
        origin=storable(origin),
        findings=[],
        left_out=0,
    )
    session.add(version)
    session.flush()
    return version


def get(session: Session, owner_id: str, reference: str, *, keep: bool = False) -> DatasetVersion:
    """The newest version that the reference names, in any status. Another owner's is not found.

    `keep` locks the version against deletion until the commit. Raises NotFound, and InvalidRequest for an invalid reference.
    """
    return _matching_versions(session, owner_id, reference, keep)[0]


def usable(session: Session, owner_id: str, reference: str, *, keep: bool = False) -> DatasetVersion:
    """The newest ready version that the reference names. `keep` and errors as in `get`.

    Raises DatasetNotReady, DatasetBlocked or DatasetFailed if none is ready, and DatasetDamaged.
    """
    versions = _matching_versions(session, owner_id, reference, keep)
    ready = next((version for version in versions if version.status == VersionStatus.READY), None)
    if ready is None:
        raise not_ready_error(versions[0])
    refuse_marked(ready)
    return ready


def dataset_of(session: Session, owner_id: str, dataset_id: str, *, keep: bool = False) -> Dataset:
    """The owner's dataset. `keep` locks it against deletion until the commit. Raises NotFound."""
    query = select(Dataset).filter_by(id=dataset_id, owner_id=owner_id)
    if keep:
        query = query.with_for_update(read=True, key_share=True)
    dataset = session.scalars(query).one_or_none()
    if dataset is None:
        raise _no_dataset(dataset_id)
    return dataset


def newest(session: Session, dataset_ids: Sequence[str]) -> dict[str, DatasetVersion]:
    """The newest version of each dataset in any status, by dataset id."""
    query = select(DatasetVersion).where(DatasetVersion.dataset_id.in_(dataset_ids))
    query = query.ext(distinct_on(DatasetVersion.dataset_id))
    query = query.order_by(DatasetVersion.dataset_id, DatasetVersion.number.desc())
    return {version.dataset_id: version for version in session.scalars(query)}


def not_ready_error(version: DatasetVersion) -> DatasetNotReady | DatasetBlocked | DatasetFailed:
    """The error that explains why a version is not ready and what to do."""
    which = f"Version {version.number} of {version.dataset_id}"
    if version.status == VersionStatus.IMPORTING:
        return DatasetNotReady(f"{which} is still being imported. Use it once it is ready.")
    if version.status == VersionStatus.BLOCKED:
        blocking = [finding for finding in version.findings if finding["severity"] == "blocking"]
        titles = "; ".join(str(finding["title"]) for finding in blocking)
        advice = "Look at its rows, then leave those out (the fix `leave_out`) or upload it again."
        return DatasetBlocked(
            f"{which} has blocking findings: {titles}. {advice}", findings=[f["code"] for f in blocking]
        )
    why = version.error["message"] if version.error else "unknown"
    return DatasetFailed(f"{which} could not be made: {why}")


def _matching_versions(session: Session, owner_id: str, text: str, keep: bool) -> Sequence[DatasetVersion]:
    """Every version that the reference names, newest first. Raises NotFound and InvalidRequest."""
    reference = Reference.parse(text)
    dataset = dataset_of(session, owner_id, reference.dataset_id, keep=keep)
    query = select(DatasetVersion).filter_by(dataset_id=dataset.id).order_by(DatasetVersion.number.desc())
    if reference.number is not None:
        query = query.filter_by(number=reference.number)
    if reference.sum_prefix is not None:
        query = query.where(DatasetVersion.sha256.startswith(reference.sum_prefix))
    rows = session.scalars(query).all()
    if not rows:
        raise NotFound(f"There is no version {text!r}.")
    if reference.sum_prefix is not None and len({version.sha256 for version in rows}) > 1:
        detail = f"{text!r} fits several versions. Give more digits"
        raise InvalidRequest(f"{detail}.", errors=[{"detail": detail}])
    return rows


def _no_dataset(dataset_id: str) -> NotFound:
    return NotFound(f"There is no dataset {dataset_id!r}.")


_SUM = re.compile("sha256:([0-9a-f]{8,64})")
_NUMBER = re.compile("[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class Reference:
    """A reference to a version. At most one of `number` and `sum_prefix` is set; without both it is the newest version."""

    dataset_id: str
    number: int | None = None
    sum_prefix: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Reference":
        """Raises InvalidRequest for text that is not a reference."""
        dataset_id, separator, at = text.partition("@")
        if not separator:
            return cls(dataset_id)
        if _NUMBER.fullmatch(at):
            return cls(dataset_id, number=int(at))
        if match := _SUM.fullmatch(at):
            return cls(dataset_id, sum_prefix=match[1])
        detail = f"{text!r} names no version. Write {dataset_id}@2, or {dataset_id}@sha256: and at least 8 digits"
        raise InvalidRequest(f"{detail}.", errors=[{"detail": detail}])


def pin(version: DatasetVersion) -> str:
    """The reference by the hash of the rows, which always names the same rows."""
    return f"{version.dataset_id}@sha256:{version.sha256}"
