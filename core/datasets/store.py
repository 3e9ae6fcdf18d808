"""What is kept of an upload: a row in the table, and its rows as a blob."""

import unicodedata
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.datasets.reading import Limits, canonical
from core.db import after_commit
from core.errors import DatasetInUse, InvalidRequest, NotFound
from core.ids import new_id
from core.models import Dataset, Job, JobDataset
from core.models.dataset import DatasetKind
from core.models.job import TERMINAL

LONGEST_NAME = 200
_UNFIT = frozenset({"Cc", "Cs"})
"""Control characters and halves of surrogate pairs; joiners and unusual spaces do occur in names of files."""


@dataclass(frozen=True)
class Upload:
    """What somebody sent."""

    file: BinaryIO
    kind: DatasetKind
    name: str


def blobs_key(dataset_id: str) -> str:
    """Where the rows of a dataset lie."""
    return f"datasets/{dataset_id}.jsonl"


def create(session: Session, blobs: BlobStore, owner_id: str, upload: Upload, limits: Limits, scratch: Path) -> Dataset:
    """Read every row, then store all of them, or raise InvalidDataset and store nothing. `scratch`: a folder for the draft."""
    if len(upload.name) > LONGEST_NAME or _UNFIT.intersection(map(unicodedata.category, upload.name)):
        detail = f"must have at most {LONGEST_NAME} characters, and no control character"
        raise InvalidRequest(f"The name {detail}.", param="name", errors=[{"pointer": "#/name", "detail": detail}])
    with canonical(upload.file, upload.kind, limits, scratch) as content:
        dataset = Dataset(id=new_id("ds"), owner_id=owner_id, name=upload.name, kind=upload.kind.value)
        dataset.rows, dataset.bytes, dataset.sha256 = content.rows, content.bytes, content.sha256
        dataset.blob_key = blobs_key(dataset.id)
        blobs.put_file(dataset.blob_key, content.path)
    try:
        session.add(dataset)
        session.flush()
    except BaseException:
        blobs.delete(dataset.blob_key)
        raise
    return dataset


def get(session: Session, owner_id: str, dataset_id: str, *, keep: bool = False) -> Dataset:
    """The owner's dataset. Another owner's is as absent as one that never was. `keep`: nobody deletes it before the commit."""
    query = select(Dataset).filter_by(id=dataset_id, owner_id=owner_id)
    if keep:
        query = query.with_for_update(read=True, key_share=True)
    dataset = session.scalars(query).one_or_none()
    if dataset is None:
        raise NotFound(f"There is no dataset {dataset_id!r}.")
    return dataset


def rows(blobs: BlobStore, dataset: Dataset, after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
    """Rows with their numbers (1-based), beginning behind row `after`."""
    with blobs.open(dataset.blob_key) as file:
        return [(number, orjson.loads(line)) for number, line in islice(enumerate(file, 1), after, after + limit)]


def delete(session: Session, blobs: BlobStore, dataset: Dataset) -> None:
    """Forget it, unless an unfinished job needs it.

    The lock waits for jobs that are being created with it, so that what the query sees is all there is; and for another
    who deletes it, who then leaves nothing to lock.
    """
    if session.scalars(select(Dataset).filter_by(id=dataset.id).with_for_update()).one_or_none() is None:
        raise NotFound(f"There is no dataset {dataset.id!r}.")
    used = select(Job.id).join(JobDataset, JobDataset.job_id == Job.id)
    used = used.where(JobDataset.dataset_id == dataset.id, Job.status.not_in(TERMINAL)).distinct()
    if jobs := list(session.scalars(used)):
        raise DatasetInUse(f"{dataset.id} is used by {', '.join(jobs)}.", jobs=jobs)
    key = dataset.blob_key
    session.delete(dataset)
    session.flush()
    after_commit(session, lambda: blobs.delete(key))
