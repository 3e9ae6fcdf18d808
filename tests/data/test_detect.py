"""Detection: the format of a file before the import, and the questions that the user must answer."""

import io
from typing import Any

import pytest

from data.detect import Detection, detect
from data.errors import InvalidOption, UnclearFormat, UnusableFile, UnusableMapping
from data.files.streams import Limits
from data.plan import Plan, make_plan
from data.preview import preview_file
from tests.data.reading import Row, jsonl, read, talk

PAIR = {"prompt": "p", "chosen": "c", "rejected": "r"}
VOTE = {"meta": {"id": 1, "who": "kim"}, "question": "q", "left": {"text": "x"}, "right": {"text": "y"}, "vote": "left"}
FIELDS = {"prompt": "question", "a": "left.text", "b": "right.text", "label": "vote", "annotator": "meta.who"}


def seen(*records: Row) -> Detection:
    content = jsonl(*records)
    return detect(lambda: io.BytesIO(content), "x.jsonl", Limits())


def test_columns_are_shown_flat_with_types_and_different_values() -> None:
    columns = {column.name: column for column in seen(VOTE, VOTE | {"vote": "right"}, VOTE | {"vote": None}).columns}
    assert list(columns) == ["meta.id", "meta.who", "question", "left.text", "right.text", "vote"]
    assert (columns["vote"].type, columns["vote"].examples, columns["vote"].share) == (
        "text or null",
        ["left", "right"],
        0.6667,
    )
    assert columns["meta.id"].type == "number"


@pytest.mark.parametrize(
    ("value", "kind"),
    [(True, "true/false"), ([1], "list"), (talk("q"), "messages"), ({}, "object"), (None, "null"), (1.5, "number")],
)
def test_detect_type_names_are_readable(value: Any, kind: str) -> None:
    assert [column.type for column in seen({"x": value}).columns] == [kind]


def test_detect_unknown_columns_are_unclear_and_suggest_mapping() -> None:
    detection = seen(VOTE, VOTE)
    assert not detection.sure
    fields = {name: FIELDS[name] for name in ("prompt", "a", "b", "label")}
    assert detection.suggested == {"fields": fields, "labels": {"left": "a"}}
    with pytest.raises(UnclearFormat) as unclear:
        make_plan(detection)
    assert "left.text, right.text, vote" in unclear.value.detail and "a mapping is suggested" in unclear.value.detail
    assert unclear.value.extras["suggested"] == detection.suggested


def test_detect_label_of_another_name_is_suggested_not_used() -> None:
    record = {"prompt": "p", "left": "x", "right": "y", "choice": 1, "annotator": "kim"}
    detection = seen(record)
    assert not detection.sure
    assert detection.suggested == {
        "fields": {
            "prompt": "prompt",
            "a": "left",
            "b": "right",
            "label": "choice",
            "annotator": "annotator",
        },
        "labels": {},
    }


def test_several_candidates_are_listed_and_one_may_be_named() -> None:
    detection = seen({"question": "q", "answer": "a"})
    assert [(one.format, one.kind) for one in detection.candidates] == [
        ("question_answer", "sft"),
        ("question_answer", "prompts"),
    ]
    with pytest.raises(UnclearFormat) as unclear:
        make_plan(detection)
    assert [one["kind"] for one in unclear.value.extras["candidates"]] == ["sft", "prompts"]
    assert make_plan(detection, kind="prompts").kind == "prompts"
    with pytest.raises(UnclearFormat, match="say which"):
        make_plan(detection, format="question_answer")


def test_plan_with_a_kind_takes_a_format_of_that_kind() -> None:
    record = PAIR | {"notes": "a long remark that somebody would miss if this were read as a plain prompt, surely"}
    assert make_plan(seen(record)).format == "trl_explicit"
    assert make_plan(seen(record), kind="prompts").format == "prompts"


def test_a_few_odd_records_do_not_make_another_format_of_a_file() -> None:
    dialogue = {"chosen": "\n\nHuman: q\n\nAssistant: a", "rejected": "\n\nHuman: q\n\nAssistant: b"}
    detection = seen(*[dialogue] * 99, {"chosen": "no dialogue a", "rejected": "no dialogue b"})
    assert (detection.candidates[0].format, detection.sure) == ("hh_rlhf", True)


def test_half_and_half_is_nothing_sure() -> None:
    detection = seen(*[PAIR, {"text": "t"}] * 10)
    assert (detection.candidates[0].score, detection.sure) == (0.5, False)


def test_detect_unreadable_records_are_reported() -> None:
    content = b"no\n" + jsonl(PAIR)
    detection = detect(lambda: io.BytesIO(content), "x.jsonl", Limits())
    assert detection.problems == [{"line": 1, "detail": "is not valid JSON: expecting value"}]
    assert detection.sure
    with pytest.raises(UnclearFormat, match="Line 1: is not valid JSON"):
        make_plan(detect(lambda: io.BytesIO(b"no\n"), "x.jsonl", Limits()))
    with pytest.raises(UnusableFile, match="has no rows: it is empty"):
        make_plan(detect(lambda: io.BytesIO(b"\n"), "x.jsonl", Limits()))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"format": "trl"}, "must be one of trl_explicit"),
        ({"format": "trl_explicit", "kind": "sft"}, "must be preferences for TRL, explicit prompt"),
        ({"format": "trl_explicit", "mapping": {"fields": {"text": "x"}}}, "belongs to the format custom"),
        ({"kind": "pairs"}, "must be one of preferences, thumbs, steps, prompts, sft, pretraining"),
    ],
)
def test_plan_with_unknown_format_or_kind_is_refused(asked: Row, told: str) -> None:
    with pytest.raises(InvalidOption, match=told):
        make_plan(seen(PAIR), **asked)


def test_a_plan_survives_being_stored() -> None:
    import dataclasses
    import json

    plan = make_plan(seen(VOTE), mapping={"fields": FIELDS, "labels": {"left": "a"}})
    assert Plan(**json.loads(json.dumps(dataclasses.asdict(plan)))) == plan == Plan.from_json(plan.as_json())


def test_mapping_assigns_columns_to_fields() -> None:
    votes = [VOTE, VOTE | {"vote": "right"}, VOTE | {"vote": "same"}, VOTE | {"vote": "?"}, VOTE | {"left": None}]
    labels = {"left": "a", "right": "b", "same": "tie"}
    found = read(jsonl(*votes), mapping={"fields": FIELDS, "labels": labels})
    assert found.rows == [
        {"prompt": "q", "a": "x", "b": "y", "label": label, "annotator": "kim"} for label in ("a", "b", "tie")
    ]
    assert found.found == {"bad_label": [4], "missing_field": [5]}
    assert "`left/text` is missing or empty" in found.finding("missing_field")["detail"]


ONE_ROW = [
    (
        {"chosen": "left.text", "rejected": "right.text", "prompt": "question"},
        {"prompt": "q", "a": "x", "b": "y", "label": "a"},
    ),
    ({"a": "left.text", "b": "right.text", "prompt": "question"}, {"prompt": "q", "a": "x", "b": "y", "label": None}),
    ({"prompt": "question", "completion": "left.text"}, {"prompt": "q", "completion": "x"}),
    ({"prompt": "question", "system": "vote", "input": "left.text"}, {"prompt": talk("q\nx", system="left")}),
    ({"prompt": "question", "answer": "meta.id"}, {"prompt": "q", "answer": 1}),
    ({"text": "question", "source": "meta.who"}, {"text": "q", "source": "kim"}),
]


@pytest.mark.parametrize(("fields", "row"), ONE_ROW)
def test_mapping_fields_determine_the_kind(fields: dict[str, str], row: Row) -> None:
    assert read(jsonl(VOTE), mapping={"fields": fields}).rows == [row]


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "asked", "a": "left", "b": "right"},
        {"prompt": "asked", "completions": "both", "scores": "how"},
        {"a": "whole.0", "b": "whole.1"},
    ],
)
def test_mapping_system_message_precedes_messages(fields: dict[str, str]) -> None:
    asked = [{"from": "human", "value": "q"}]
    record = {"asked": asked, "left": "x", "right": "y", "both": ["x", "y"], "how": [2, 1], "set": "s"}
    record |= {"whole": [talk("q", "x"), talk("q", "y")]}
    (row,) = read(jsonl(record), mapping={"fields": fields | {"system": "set"}}).rows
    assert row["prompt"] == talk("q", system="s")


def test_a_mapping_reads_messages_lists_and_scores() -> None:
    record = {"talk": talk("q", "z"), "all": ["x", "y"], "how": [0.1, 0.9], "said": [{"to": "p"}]}
    assert read(jsonl(record), mapping={"fields": {"messages": "talk"}}).rows == [{"messages": talk("q", "z")}]
    fields = {"prompt": "said.0.to", "completions": "all", "scores": "how"}
    assert read(jsonl(record), mapping={"fields": fields}).rows == [
        {"prompt": "p", "completions": ["x", "y"], "ranks": [2, 1]}
    ]
    table = b"q,a,s\np,x,1\np,y,2\n"
    scored = read(table, "x.csv", mapping={"fields": {"prompt": "q", "completion": "a", "score": "s"}})
    assert scored.rows == [{"prompt": "p", "completions": ["x", "y"], "ranks": [2, 1]}]


def test_a_column_whose_name_has_dots_is_found() -> None:
    assert read(jsonl({"a.b": "t"}), mapping={"fields": {"text": "a.b"}}).rows == [{"text": "t"}]


@pytest.mark.parametrize(
    ("mapping", "pointer"),
    [
        ({}, "#/mapping/fields"),
        ({"fields": {"promt": "x"}}, "#/mapping/fields/promt"),
        ({"fields": {"prompt": 3}}, "#/mapping/fields/prompt"),
        ({"fields": {"a": "x"}}, "#/mapping/fields"),
        ({"fields": {"text": "x", "margin": "y"}}, "#/mapping/fields/margin"),
        ({"fields": {"prompt": "p", "a": "x", "b": "y"}, "labels": {"1": "A"}}, "#/mapping/labels"),
    ],
)
def test_mapping_with_missing_or_extra_fields_is_refused(mapping: Row, pointer: str) -> None:
    with pytest.raises(UnusableMapping) as refused:
        make_plan(seen(VOTE), mapping=mapping)
    assert refused.value.extras["errors"][0]["pointer"] == pointer


def test_preview_shows_rows_and_reasons_of_refused_records() -> None:
    content = jsonl(PAIR, PAIR | {"chosen": ""})
    found = preview_file(lambda: io.BytesIO(content), "x.jsonl", Limits())
    assert found.plan is not None and found.plan.format == "trl_explicit"
    assert [(row.line, row.row, row.problem) for row in found.rows] == [
        (1, {"prompt": "p", "a": "c", "b": "r", "label": "a"}, None),
        (2, None, "`chosen` is empty"),
    ]
    assert found.rows[0].raw == content.splitlines()[0].decode()


def test_preview_unclear_file_has_no_plan_and_bad_mapping_raises() -> None:
    content = jsonl(VOTE)
    assert preview_file(lambda: io.BytesIO(content), "x.jsonl", Limits()).plan is None
    with pytest.raises(UnusableMapping):
        preview_file(lambda: io.BytesIO(content), "x.jsonl", Limits(), mapping={"fields": {"a": "left"}})


def test_preview_of_grouped_answers_shows_rankings_so_far() -> None:
    thumbs = [{"prompt": "p", "completion": c, "label": good} for c, good in (("x", True), ("y", False))]
    content = jsonl(*thumbs)
    (row,) = preview_file(lambda: io.BytesIO(content), "x.jsonl", Limits()).rows
    assert (row.line, row.row) == (1, {"prompt": "p", "completions": ["x", "y"], "ranks": [1, 2]})
