"""Presets: formats whose columns only have other names than the fields of a row."""

import pytest

from data.errors import RowError
from data.findings import Findings
from data.formats.base import Rated, Reading
from data.formats.column_presets import PRESETS
from data.formats.mapping import Preset
from data.schema import DatasetKind
from tests.data.reading import Row, jsonl, read

BATTLES = Preset(
    id="battles",
    title="",
    about="",
    source="",
    example=(),
    columns={"prompt": ("question", "task"), "system": "role", "a": "left", "b": "right", "label": "vote"},
    labels={1: "a", 2: "b", 0: "tie"},
    optional=frozenset({"system"}),
).format()
RECORD: Row = {"question": "q", "left": "x", "right": "y", "vote": 2}


def converted(record: Row) -> Row | Rated:
    (row,) = BATTLES.rows(record, Reading(DatasetKind.PREFERENCES, Findings()))
    return row


def test_preset_record_becomes_a_row() -> None:
    assert converted(RECORD) == {"prompt": "q", "a": "x", "b": "y", "label": "b"}


@pytest.mark.parametrize("vote", ["1", 1.0, "1.0"])
def test_preset_label_as_text_or_float_is_a_number(vote: object) -> None:
    assert converted(RECORD | {"vote": vote}) == {"prompt": "q", "a": "x", "b": "y", "label": "a"}


def test_preset_unknown_label_is_refused() -> None:
    with pytest.raises(RowError, match="must be 1 or 2 or 0") as bad:
        converted(RECORD | {"vote": 3})
    assert (bad.value.pointer, bad.value.code) == ("/vote", "bad_label")


def test_preset_empty_alias_gives_way_to_a_filled_one() -> None:
    record = RECORD | {"question": None, "task": "r"}
    row = converted(record)
    assert isinstance(row, dict) and row["prompt"] == "r"
    assert BATTLES.names_in(record)["prompt"] == "task"


@pytest.mark.parametrize("role", [{}, {"role": None}, {"role": ""}])
def test_preset_optional_field_may_be_absent(role: Row) -> None:
    assert converted(RECORD | role) == converted(RECORD)
    assert BATTLES.fits(RECORD) == 1


@pytest.mark.parametrize("column", ["question", "left", "right", "vote"])
def test_preset_required_field_absent_is_refused(column: str) -> None:
    record = {name: value for name, value in RECORD.items() if name != column}
    assert BATTLES.fits(record) == 0
    with pytest.raises(RowError, match=f"'{column}' is missing"):
        converted(record)


def test_preset_declares_the_columns_that_it_reads() -> None:
    assert BATTLES.fields == {"question", "task", "role", "left", "right", "vote"}


def test_preset_reads_reference_answers_for_prompts_alone() -> None:
    alpaca = next(preset for preset in PRESETS if preset.id == "alpaca").format()
    assert "solution" in alpaca.columns(DatasetKind.PROMPTS) and "solution" not in alpaca.columns(DatasetKind.SFT)


def test_conversation_as_text_is_refused() -> None:
    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "x"}]
    good = {"messages": talk, "rejected_response": "y"}
    found = read(jsonl(good, good | {"messages": "q"}), format="ms_swift")
    assert (found.lines, found.found) == ([1], {"wrong_type": [2]})
