"""Prompts that two datasets share: counts, lines and near duplicates, compared with planted ones."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete

from core.blobs import BlobStore, blob_store
from core.datasets import overlap, search
from core.db import session_scope
from core.errors import SearchNotReady
from core.models import DatasetPrompt, DatasetVersion
from core.settings import Settings
from data.schema import DatasetKind
from tests.core.factories import jsonl, make_key, make_version
from tests.data.reading import talk

Row = dict[str, Any]
Store = Callable[..., str]
WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "one",
    "lazy",
    "dog",
    "while",
    "seven",
    "small",
    "owls",
    "look",
    "on",
    "from",
    "a",
    "tall",
    "old",
    "tree",
    "at",
    "night",
]


def sentence(number: int) -> str:
    """A different prompt for each number."""
    return " ".join(WORDS[(number * 7 + at * (number + 1)) % len(WORDS)] + str(number) for at in range(12))


def preferences(prompts: list[Any]) -> list[Row]:
    return [{"prompt": prompt, "a": f"x{n}", "b": f"y{n}", "label": "a"} for n, prompt in enumerate(prompts)]


def prompts_of(*texts: Any) -> list[Row]:
    return [{"prompt": said} for said in texts]


@pytest.fixture
def blobs(settings: Settings) -> BlobStore:
    return blob_store(settings)


@pytest.fixture
def stored(settings: Settings) -> Store:
    """The id of a version whose rows are indexed in two batches, as by the data worker."""
    with session_scope() as session:
        owner = make_key(session).owner_id

    def store(kind: str, rows: list[Row], index: bool = True) -> str:
        with session_scope() as session:
            version = make_version(session, owner, DatasetKind(kind), jsonl(rows))
            assert version.sha256 is not None
            half = len(rows) // 2
            for first, some in ((1, rows[:half]), (half + 1, rows[half:])):
                assert not (some and index) or search.add(session, version.sha256, kind, first, some)
            return version.id

    return store


def compared(blobs: BlobStore, one: str, two: str) -> overlap.Overlap:
    with session_scope() as session:
        return overlap.compare(
            session, blobs, session.get_one(DatasetVersion, one), session.get_one(DatasetVersion, two)
        )


def test_overlap_exact_counts_prompts_and_rows_with_both_lines(blobs: BlobStore, stored: Store) -> None:
    shared = sentence(1)
    one = stored("preferences", preferences([sentence(0), shared, sentence(2), shared, talk("a", "b", "c")]))
    messages = [{"role": "user", "content": shared}]  # the same prompt as the text
    two = stored("prompts", prompts_of(sentence(9), messages, talk("a", "b", "c"), sentence(8)))
    found = compared(blobs, one, two)
    assert (found.exact.prompts, found.exact.rows, found.exact.other_rows) == (2, 3, 2)
    assert [(s.row.line, s.other.line, s.similarity) for s in found.exact.samples] == [(2, 2, 1.0), (5, 3, 1.0)]
    assert found.exact.samples[0].row.prompt == shared
    back = compared(blobs, two, one).exact
    assert (back.prompts, back.rows, back.other_rows) == (2, 2, 3)


def test_overlap_near_duplicates_have_similarity_of_at_least_0_8(blobs: BlobStore, stored: Store) -> None:
    long = [sentence(n) + " " + sentence(n + 100) + " " + sentence(n + 200) for n in range(6)]
    near = [long[0].upper(), long[1] + " indeed", long[2].replace(" ", "  ")]
    far = [" ".join(long[3].split()[:20]), sentence(50)]
    one = stored("prompts", prompts_of(*near, *far, long[5]))
    two = stored("preferences", preferences([*long, sentence(60)]))
    found = compared(blobs, one, two)
    assert found.near is not None and found.near.complete
    assert (found.near.prompts, found.near.rows, found.exact.prompts) == (3, 3, 1)
    assert [(s.row.line, s.other.line) for s in found.near.samples] == [(1, 1), (2, 2), (3, 3)]
    assert found.near.samples[0].similarity == 1.0 and 0.9 < found.near.samples[1].similarity < 1


def test_nothing_in_common_is_nothing(blobs: BlobStore, stored: Store) -> None:
    one, two = stored("prompts", prompts_of(sentence(1))), stored("pretraining", [{"text": sentence(1)}])
    found = compared(blobs, one, two)
    assert (found.exact.prompts, found.exact.rows, found.exact.samples) == (0, 0, []) and found.near is not None
    assert found.near.prompts == 0


def test_templates_do_not_make_all_pairs(blobs: BlobStore, stored: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """150 prompts of one template on each side: the candidates are bounded, and the result is marked as incomplete."""
    frame = " ".join(WORDS)
    sides = [stored("prompts", prompts_of(*(f"{frame} {side}{n}" for n in range(150)))) for side in "ab"]
    found = compared(blobs, *sides)
    assert found.near is not None and found.near.prompts == 150 and found.near.complete
    monkeypatch.setattr(overlap, "MOST_CANDIDATES", 40)
    fewer = compared(blobs, *sides).near
    assert fewer is not None and not fewer.complete and 0 < fewer.prompts <= 40


def test_overlap_needs_both_indexes_and_bands_for_near_ones(blobs: BlobStore, stored: Store) -> None:
    """Without bands, as in data of an older version, only exact matches are counted."""
    one, two = stored("prompts", prompts_of(sentence(1))), stored("prompts", prompts_of(sentence(2)), index=False)
    with pytest.raises(SearchNotReady):
        compared(blobs, one, two)
    three = stored("prompts", prompts_of(sentence(1), sentence(3)))
    with session_scope() as session:
        sha256 = session.get_one(DatasetVersion, three).sha256
        session.execute(delete(DatasetPrompt).filter_by(sha256=sha256))  # as in a database of an older release
    found = compared(blobs, one, three)
    assert found.near is None and found.exact.prompts == 1
