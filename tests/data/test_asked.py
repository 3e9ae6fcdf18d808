"""How the prompt is asked in other people's columns, and what stands in its messages."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.errors import UnclearFormat
from data.schema import DatasetKind
from tests.data.reading import Row, errors, jsonl, read, rows_of, talk


def parquet(*records: Row) -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(records)), content)
    return content.getvalue()


@pytest.mark.parametrize(
    ("record", "prompt"),
    [
        ({"instruction": "q", "generation": "x", "model_name": "m", "distilabel_metadata": {"raw": "x"}}, "q"),
        ({"messages": talk("q"), "generation": "x" * 80, "model_name": "m"}, talk("q")),
        ({"instruction": "q", "context": "c", "response": "x", "category": "closed_qa"}, "q\nc"),
        ({"id": "1", "system_prompt": "s", "question": "q", "response": "x"}, talk("q", system="s")),
        ({"prompt": "q", "query": "i", "response": "x", "system": "s", "history": [["r", "z"]]}, talk("r", "z", "q\ni", system="s")),
        ({"prompt": "Shorten: a text of many words", "query": "a text of many words.", "response": "x"}, "Shorten: a text of many words\na text of many words."),
        ({"prompt": "Shorten: a text of many words.", "query": "a text of many words.", "response": "x"}, "Shorten: a text of many words."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["file.jsonl", "file.parquet"])
def test_demonstrations_in_other_peoples_columns(name: str, record: Row, prompt: Any) -> None:
    found = read(jsonl(record) if name.endswith("jsonl") else parquet(record), name)
    assert (found.plan.format, found.plan.kind) == ("prompt_completion", DatasetKind.SFT)
    assert found.rows == [{"prompt": prompt, "completion": record.get("generation", record.get("response"))}]


@pytest.mark.parametrize("beside", [{"reply": "x"}, {"thoughts": "x" * 80}])
def test_conversation_without_answer_beside_one_is_unclear(beside: Row) -> None:
    with pytest.raises(UnclearFormat):
        read(jsonl({"messages": talk("q")} | beside))


def test_question_with_a_third_long_column_is_unclear() -> None:
    with pytest.raises(UnclearFormat):
        read(jsonl({"question": "q", "response": "x", "critique": "c" * 80}))


def test_the_query_beside_a_pair_goes_below_the_prompt() -> None:
    record = {"prompt": "Shorten.", "query": "A long text.", "chosen": "x", "rejected": "y"}
    assert rows_of(record) == [{"prompt": "Shorten.\nA long text.", "a": "x", "b": "y", "label": "a"}]


def test_distilabel_older_file_takes_prompt_from_input() -> None:
    found = read(jsonl({"system_prompt": "s", "input": "q", "generations": ["x", "y"], "rating": [7.0, 9.0]}))
    assert found.plan.format == "rankings"
    assert found.rows == [{"prompt": talk("q", system="s"), "completions": ["x", "y"], "ranks": [2, 1]}]


@pytest.mark.parametrize("name", ["file.jsonl", "file.parquet"])
@pytest.mark.parametrize("column", ["images", "audios", "video"])
@pytest.mark.parametrize(
    "record",
    [
        {"messages": talk("<image>Who?", "x")},
        {"prompt": "<image>Who?", "chosen": "x", "rejected": "y"},
        {"prompt": "<image>Who?", "completion": "x", "label": True},
    ],
)
def test_image_column_that_the_text_refers_to_is_refused(name: str, column: str, record: Row) -> None:
    record = record | {column: ["1.jpg"]}
    (error,) = errors(jsonl(record) if name.endswith("jsonl") else parquet(record), name)
    assert error["pointer"] == f"/{column}"


@pytest.mark.parametrize("empty", [[], None, "", "[]", {"bytes": None, "path": None}])
def test_empty_image_column_is_ignored(empty: Any) -> None:
    found = read(jsonl({"messages": talk("q", "x"), "images": empty}))
    assert (len(found.rows), found.found) == (1, {})


HH = "\n\nHuman: q\n\nAssistant: "


@pytest.mark.parametrize("empty", [None, ""])
def test_dialogue_format_is_detected_by_either_side(empty: str | None) -> None:
    good = {"chosen": f"{HH}x", "rejected": f"{HH}y"}
    found = read(jsonl(good | {"chosen": empty}, good, good | {"rejected": empty}, good))
    assert (found.plan.format, found.lines) == ("hh_rlhf", [2, 4])
    assert found.found == {"empty_text": [1, 3]}
    assert found.rows[0]["prompt"] == talk("q")


def test_an_empty_prompt_beside_whole_dialogues_is_none() -> None:
    dialogues = {"prompt": None, "chosen": f"{HH}x", "rejected": f"{HH}y"}
    talks = {"prompt": None, "chosen": talk("q", "x"), "rejected": talk("q", "y")}
    for record in (dialogues, talks):
        assert rows_of(record) == [{"prompt": talk("q"), "a": "x", "b": "y", "label": "a"}]


def test_a_table_may_have_both_names_of_a_role() -> None:
    ours = [{"role": turn["role"], "content": turn["content"], "from": None, "value": None} for turn in talk("q", "x")]
    theirs = [
        {"role": None, "content": None, "from": who, "value": said} for who, said in (("human", "r"), ("gpt", "y"))
    ]
    found = read(parquet({"messages": ours}, {"messages": theirs}), "file.parquet")
    assert found.rows == [{"messages": talk("q", "x")}, {"messages": talk("r", "y")}]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"tool_calls": [{"id": "1"}]}, "tools"),
        ({"content": None, "tool_calls": [{"id": "1"}]}, "tools"),
        ({"content": None, "refusal": "no"}, "empty_text"),
        ({}, "wrong_type"),
    ],
)
def test_why_a_message_cannot_be_used(answer: Row, code: str) -> None:
    good = {"messages": talk("q", "x")}
    found = read(jsonl(good, {"messages": [*talk("q"), {"role": "assistant"} | answer]}))
    assert found.found == {code: [2]}
    assert ("refusal" in found.finding(code)["detail"]) == ("refusal" in answer)


def test_an_answer_that_is_null_is_empty() -> None:
    good = {"instruction": "q", "generations": ["x", "y"], "ratings": [1, 2]}
    (error,) = errors(jsonl(good, good | {"generations": ["x", None]}))
    assert (error["pointer"], error["detail"]) == ("/generations/1", "is empty")


def test_an_input_beside_a_prompt_and_two_sides_goes_below_it() -> None:
    record = {"prompt": "Shorten.", "input": "A long text.", "chosen": "Text.", "rejected": "No."}
    assert rows_of(record) == [{"prompt": "Shorten.\nA long text.", "a": "Text.", "b": "No.", "label": "a"}]


def test_prompts_with_metadata_beside_them_are_prompts() -> None:
    found = read(b'prompt,metadata\nWhy?,"{""a"": 1}"\n', "prompts.csv")
    assert (found.plan.kind, found.rows) == ("prompts", [{"prompt": "Why?"}])


@pytest.mark.parametrize("name", ["file.jsonl", "file.parquet"])
@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "value": "q"},
        {"type": "text", "text": None, "value": "q"},
        {"type": "input_text", "text": "q"},
        {"text": "q"},
        {"type": "text", "text": "q", "image_url": None},
    ],
)
def test_parts_of_text_are_text(name: str, part: Row) -> None:
    record = {"messages": [{"role": "user", "content": [part]}, {"role": "assistant", "content": [part]}]}
    assert read(jsonl(record) if name.endswith("jsonl") else parquet(record), name).rows == [
        {"messages": talk("q", "q")}
    ]


@pytest.mark.parametrize(
    ("part", "code", "detail"),
    [
        ({"type": "reasoning", "text": "so"}, "reasoning", "is a part of the type reasoning: remove it"),
        ({"type": "thinking", "thinking": "so"}, "reasoning", "is a part of the type thinking: remove it"),
        ({"type": "tool_call", "id": "1"}, "tools", "is a part of the type tool_call; only text is trained here"),
        ({"type": "tool_result", "value": "1"}, "tools", "is a part of the type tool_result; only text"),
        ({"type": "image_url", "image_url": {"url": "x"}}, "not_text", "is a part of the type image_url, not text"),
        ({"type": "text", "text": "q", "image": "x"}, "not_text", "is a part of the type image, not text"),
        ({"type": "refusal", "refusal": "no"}, "not_text", "is a part of the type refusal, not text"),
        ({"type": "text"}, "empty_text", "is empty"),
        (7, "wrong_type", "must be a text, or a part with `type` and `text`"),
    ],
)
def test_content_part_that_is_no_text_is_named_by_its_type(part: Any, code: str, detail: str) -> None:
    good = {"messages": talk("q", "x")}
    bad = {"messages": [*talk("q"), {"role": "assistant", "content": [{"type": "text", "text": "x"}, part]}]}
    found = read(jsonl(good, bad))
    assert found.found == {code: [2]}
    assert f"`messages/1/content/1{'/text' if code == 'empty_text' else ''}` {detail}" in found.finding(code)["detail"]


@pytest.mark.parametrize("name", ["file.jsonl", "file.parquet"])
@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_key_is_left_out_with_a_warning(name: str, key: str) -> None:
    asked, answer = talk("q", "x")
    records = [{"messages": [asked | {key: None}, answer | {key: said}]} for said in ("", "first q, then x")]
    found = read(jsonl(*records) if name.endswith("jsonl") else parquet(*records), name)
    assert (found.rows, found.found) == ([{"messages": talk("q", "x")}] * 2, {"reasoning_dropped": [2]})
    warning = found.finding("reasoning_dropped")
    assert warning["severity"] == "warning" and f"`{key}`" in warning["detail"]


def test_reasoning_dropped_is_reported_for_answers_not_prompts() -> None:
    asked, answer = talk("q", "x")
    thought = {**answer, "content": "y", "reasoning_content": "so"}
    pair = {"chosen": [asked, thought], "rejected": [asked, answer]}
    assert read(jsonl(pair)).found == {"reasoning_dropped": [1]}
    assert read(jsonl({"messages": [asked, thought]}), kind="prompts").found == {}


@pytest.mark.parametrize(
    "mark", [{"weight": 0}, {"loss_weight": 0}, {"loss_weight": 0.0}, {"train": False}, {"loss": False}]
)
def test_last_answer_without_training_mark_is_left_out(mark: Row) -> None:
    asked, answer = talk("q", "x")
    found = read(jsonl({"messages": [asked, answer]}, {"messages": [asked, answer | mark]}))
    assert (found.lines, found.found) == ([1], {"not_imitated": [2]})


@pytest.mark.parametrize(
    "mark", [{"weight": 1}, {"loss_weight": 0.5}, {"train": True}, {"loss": True}, {"weight": None, "loss": None}]
)
def test_an_answer_with_any_weight_is_learnt(mark: Row) -> None:
    asked, answer = talk("q", "x")
    assert read(jsonl({"messages": [asked, answer | mark]})).rows == [{"messages": talk("q", "x")}]


@pytest.mark.parametrize("role", ["tool", "tool_call", "tool_response", "function_call"])
def test_a_turn_of_a_tool_is_called_one(role: str) -> None:
    good = {"messages": talk("q", "x")}
    found = read(jsonl(good, {"messages": [*talk("q"), {"role": role, "content": "{}"}, *talk("", "x")[1:]]}))
    assert found.found == {"tools": [2]}
