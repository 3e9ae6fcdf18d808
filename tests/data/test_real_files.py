"""Published files: their formats, rows, and the lines of their defects. The repository does not carry them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data.reading import Read, read

pytestmark = pytest.mark.slow


@pytest.fixture
def real(shared_data: Path) -> Callable[[str], Read]:
    return lambda path: read((shared_data / path).read_bytes(), path)


def test_pandalm_file_has_3_annotators_and_60_bad_records(real: Callable[[str], Read]) -> None:
    """By the file itself: 54 records with an empty response, 6 in which one is `true` or a number; 939 remain.

    Each is 12 lines long, behind the first line's bracket: the 19th begins in line 2 + 18 × 12.
    """
    found = real("pandalm_human_testset/testset-v1.json")
    assert (found.plan.format, found.detection.sure, found.converted.records) == ("pandalm", True, 999)
    assert len(found.rows) == 3 * 939 and found.converted.left_out == 60
    assert {row["annotator"] for row in found.rows} == {"annotator1", "annotator2", "annotator3"}
    assert found.finding("empty_text")["count"] == 54 and found.found["empty_text"][:3] == [218, 230, 302]
    assert found.found["wrong_type"] == [1886, 1898, 1910, 1934, 1946, 1970]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("LLMBar_Natural", 100),
        ("LLMBar_Adversarial_Neighbor", 134),
        ("Processed_MT-Bench", 200),
        ("Processed_LLMEval2", 198),
    ],
)
def test_llmbar(real: Callable[[str], Read], name: str, rows: int) -> None:
    found = real(f"llmbar/{name}.json")
    assert (found.plan.format, len(found.rows)) == ("llmbar", rows)
    if name == "Processed_LLMEval2":
        assert found.found == {"identical_answers": [344], "empty_text": [1016]}


@pytest.mark.parametrize(("part", "rows", "first"), [("test", 1319, "18"), ("train", 7473, "72")])
def test_gsm8k(real: Callable[[str], Read], part: str, rows: int, first: str) -> None:
    found = real(f"gsm8k/{part}.jsonl")
    assert (found.plan.format, len(found.rows), found.rows[0]["answer"], found.found) == ("gsm8k", rows, first, {})
