"""CSV fields that hold a word for a missing value."""

import re

import pytest

from data.errors import UnusableFile
from tests.data.reading import jsonl, read

HEAD = b"prompt,chosen,rejected,annotator,margin\n"


@pytest.mark.parametrize("word", ["NaN", "nan", "null", "NULL", "<NA>", "#N/A", "None", "NA", "N/A"])
def test_csv_answer_that_is_missing_is_a_bad_row(word: str) -> None:
    found = read(HEAD + f"q,x,y,kim,\nr,{word},w,kim,\n".encode(), "x.csv", kind="preferences")
    assert (found.lines, found.found) == ([2], {"empty_text": [3], "missing_words": [3]})
    with pytest.raises(UnusableFile, match=f"Read as empty: {re.escape(word)} in the column 'chosen'"):
        found.converted.refuse()
    assert found.finding("missing_words")["detail"] == f"{word} in the column 'chosen'."


def test_csv_missing_notes_are_left_out_and_counted() -> None:
    found = read(HEAD + b"q,x,y,NaN,nan\nr,v,w,NaN,2\n", "x.csv")
    assert [sorted(row) for row in found.rows] == [
        ["a", "b", "label", "prompt"],
        ["a", "b", "label", "margin", "prompt"],
    ]
    warning = found.finding("missing_words")
    assert (warning["severity"], warning["count"], warning["lines"]) == ("warning", 3, [2])
    assert warning["detail"] == "NaN in the column 'annotator' (2); nan in the column 'margin' (1)."


def test_csv_words_of_people_stay_in_other_columns() -> None:
    found = read(HEAD + b"q,x,y,None,\nr,v,NaN or so,NA,\n", "x.csv")
    assert [(row["annotator"], row["b"]) for row in found.rows] == [("None", "y"), ("NA", "NaN or so")]
    assert not found.found


def test_csv_missing_word_in_an_unused_column_is_no_finding() -> None:
    found = read(b"prompt,completion,comment\nq,x,NaN\n", "x.csv", kind="sft")
    assert "missing_words" not in found.found


def test_csv_without_any_answer_is_refused() -> None:
    with pytest.raises(
        UnusableFile,
        match=r"^Line 2: the field 'completion' is missing .* Read as empty: NaN in the column 'completion'\.",
    ):
        read(b"prompt,completion\nq,NaN\n", "x.csv", kind="sft")


def test_jsonl_keeps_such_a_word_as_an_answer() -> None:
    assert read(jsonl({"prompt": "q", "completion": "None"}), kind="sft").rows[0]["completion"] == "None"


def test_csv_missing_word_between_spaces_is_no_answer() -> None:
    assert read(HEAD + b"q,x,y,,\nr, NaN ,w,,\n", "x.csv").found == {"empty_text": [3], "missing_words": [3]}
