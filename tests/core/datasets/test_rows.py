"""Reading rows by number and in order."""

from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from core.blobs import BlobStore, blob_store
from core.datasets import rows, versions
from core.datasets.rows import StoredRow
from core.errors import DatasetNotReady
from core.models import Dataset, DatasetContent, DatasetVersion
from core.settings import get_settings
from data.schema import DatasetKind
from tests.core.factories import make_key, make_version

FILE = b'{"prompt": "a"}\n\n{"prompt": "\xc3\xa4\xe2\x82\xac"}\r\n \n{"prompt": "c"}'
STORED = [
    StoredRow(1, 1, {"prompt": "a"}),
    StoredRow(3, 2, {"prompt": "ä€"}),
    StoredRow(5, 3, {"prompt": "c"}),
]


@pytest.fixture
def blobs(session: Session) -> BlobStore:
    return blob_store(get_settings())


@pytest.fixture(params=["with an index", "from before there was one"])
def version(session: Session, blobs: BlobStore, request: pytest.FixtureRequest, tmp_path: Path) -> DatasetVersion:
    made = make_version(session, make_key(session).owner_id, DatasetKind.PROMPTS, FILE)
    content = session.get_one(DatasetContent, made.sha256)
    if "before" in request.param:
        blobs.get_to(content.blob_key, tmp_path / "old")
        blobs.delete_prefix(f"contents/{made.sha256}")
        blobs.put_file("datasets/ds_old.jsonl", tmp_path / "old")
        content.blob_key = "datasets/ds_old.jsonl"
        session.flush()
    return made


@pytest.mark.parametrize("numbers", [[1], [3], [1, 3], [2, 3], [1, 2, 3], []])
def test_rows_are_read_by_their_numbers(version: DatasetVersion, blobs: BlobStore, numbers: list[int]) -> None:
    assert list(rows.read_stored(blobs, version, numbers)) == [STORED[number - 1] for number in numbers]


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_all_rows_in_order_from_any_on(version: DatasetVersion, blobs: BlobStore, after: int) -> None:
    assert list(rows.stream(blobs, version, after)) == STORED[after:]


def test_an_index_is_made_where_there_is_none(version: DatasetVersion, blobs: BlobStore) -> None:
    assert version.content is not None
    rows.write_index(blobs, version.content)
    with blobs.open(f"contents/{version.sha256}/rows.u64") as index:
        assert index.read() == b"".join(start.to_bytes(8, "little") for start in (0, 15, 34))


def test_rows_of_an_unfinished_version_are_refused(session: Session, blobs: BlobStore, version: DatasetVersion) -> None:
    dataset = session.get_one(Dataset, version.dataset_id)
    with pytest.raises(DatasetNotReady):
        rows.content_of(versions.new_version(session, dataset, {"type": "upload"}))
