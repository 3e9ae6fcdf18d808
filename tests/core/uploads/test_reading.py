"""Reading the parts of an upload as one file, and hashing them while they arrive."""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.blobs import LocalBlobs
from core.errors import NotFound, UploadNotComplete
from core.models import Upload
from core.uploads.checksums import RunningDigests
from core.uploads.parts import part_bytes_for, part_count, part_key, part_sizes, received_bytes
from core.uploads.reading import opener

CONTENT = bytes(range(200))


@pytest.fixture(scope="module")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> LocalBlobs:
    return LocalBlobs(tmp_path_factory.mktemp("blobs"))


def stored(blobs: LocalBlobs, content: bytes, part_bytes: int, name: str = "up_x") -> Upload:
    for number in range(1, part_count(len(content), part_bytes) + 1):
        if not blobs.exists(part_key(name, number)):
            with blobs.draft(part_key(name, number)) as draft:
                draft.write(content[(number - 1) * part_bytes : number * part_bytes])
                draft.keep()
    return Upload(id=name, status="complete", bytes=len(content), part_bytes=part_bytes)


@given(
    part_bytes=st.sampled_from([7, 50, 100, 199, 200, 300]),
    steps=st.lists(st.tuples(st.integers(-250, 250), st.integers(0, 2), st.integers(-1, 250))),
)
def test_upload_parts_read_and_seek_as_one_file(
    blobs: LocalBlobs, part_bytes: int, steps: Sequence[tuple[int, int, int]]
) -> None:
    upload = stored(blobs, CONTENT, part_bytes, f"up_{part_bytes}")
    with opener(blobs, upload)() as file, io.BytesIO(CONTENT) as plain:
        for offset, whence, size in steps:
            assert _moved(file, offset, whence) == _moved(plain, offset, whence)
            assert file.read(size) == plain.read(size)
            assert file.tell() == plain.tell()


def _moved(file: BinaryIO, offset: int, whence: int) -> bool:
    """Whether the seek succeeded. A position before the beginning is refused, which BytesIO does not do."""
    place = {0: 0, 1: file.tell(), 2: len(CONTENT)}[whence] + offset
    if place >= 0:
        file.seek(offset, whence)
    return place >= 0


def test_lines_go_over_the_edges_of_parts(blobs: LocalBlobs) -> None:
    with opener(blobs, stored(blobs, b"one\ntwo\nthree\n", 5, "up_lines"))() as file:
        assert list(file) == [b"one\n", b"two\n", b"three\n"]


def test_parquet_is_read_in_place(blobs: LocalBlobs, tmp_path: Path) -> None:
    table = pyarrow.table({"prompt": [f"p{n}" for n in range(1000)]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    upload = stored(blobs, (tmp_path / "x.parquet").read_bytes(), 1000, "up_parquet")
    with opener(blobs, upload)() as file:
        assert pyarrow.parquet.ParquetFile(file).read() == table


def test_upload_incomplete_cannot_be_read(blobs: LocalBlobs) -> None:
    with pytest.raises(UploadNotComplete, match="is open"):
        opener(blobs, Upload(id="up_1", status="open", bytes=10, part_bytes=5))


@given(order=st.permutations(range(1, 8)), seen=st.integers(0, 7))
def test_upload_checksum_does_not_depend_on_part_order(blobs: LocalBlobs, order: Sequence[int], seen: int) -> None:
    """`seen`: the number of parts that arrived in this process. The others arrived in another one."""
    stored(blobs, CONTENT, 30)
    digests = RunningDigests()
    for number in order[:seen]:
        digests.arrived(blobs, "up_x", number)
    for _ in range(2):
        assert digests.finish(blobs, "up_x", 7) == hashlib.sha256(CONTENT).hexdigest()


def test_a_part_that_cannot_be_read_spoils_no_sum(blobs: LocalBlobs) -> None:
    stored(blobs, CONTENT, 100, "up_gone")
    digests, key = RunningDigests(), part_key("up_gone", 2)
    digests.arrived(blobs, "up_gone", 1)
    blobs.delete(key)
    digests.arrived(blobs, "up_gone", 2)
    with pytest.raises(NotFound):
        digests.finish(blobs, "up_gone", 2)
    stored(blobs, CONTENT, 100, "up_gone")
    assert digests.finish(blobs, "up_gone", 2) == hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.parametrize(
    ("total", "least", "part_bytes", "sizes"),
    [(20, 8, 8, [8, 8, 4]), (16, 8, 8, [8, 8]), (1, 8, 8, [1]), (20_001, 1, 4, None), (20_000, 1, 2, None)],
)
def test_how_a_file_is_cut(total: int, least: int, part_bytes: int, sizes: list[int] | None) -> None:
    assert part_bytes_for(total, least) == part_bytes
    cut = part_sizes(total, part_bytes)
    assert sum(cut) == total and (sizes is None or cut == sizes)
    assert received_bytes([len(cut)], total, part_bytes) == cut[-1]
