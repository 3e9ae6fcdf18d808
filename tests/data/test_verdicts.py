"""Files that rate their answers: bad answers must not be imitated, and unknown ratings must be reported."""

from typing import Any

import pytest

from data.errors import UnclearFormat
from data.schema import DatasetKind
from tests.data.reading import Row, jsonl, read, rows_of, talk

THUMBS = [(0, 1), (False, True), ("False", "True"), ("0", "1"), (0.0, 1.0)]
RANKED = {"completions": ["x", "y"], "ranks": [2, 1]}


@pytest.mark.parametrize("thumbs", THUMBS)
@pytest.mark.parametrize("tag", ["label", "tag", "kto_tag"])
@pytest.mark.parametrize("names", [("prompt", "response"), ("prompt", "output"), ("instruction", "output")])
def test_a_tag_beside_an_answer_makes_a_ranking(names: tuple[str, str], tag: str, thumbs: tuple[Any, Any]) -> None:
    found = read(jsonl(*({names[0]: "q", names[1]: said, tag: good} for said, good in zip("xy", thumbs, strict=True))))
    assert (found.plan.format, found.rows) == ("llama_factory_kto", [{"prompt": "q"} | RANKED])


@pytest.mark.parametrize("thumbs", THUMBS)
@pytest.mark.parametrize("name", ["messages", "conversations"])
def test_a_label_beside_a_conversation_makes_a_ranking(name: str, thumbs: tuple[Any, Any]) -> None:
    found = read(jsonl(*({name: talk("q", said), "label": good} for said, good in zip("xy", thumbs, strict=True))))
    assert (found.plan.format, found.rows) == ("llama_factory_kto", [{"prompt": talk("q")} | RANKED])


def test_label_missing_in_one_record_keeps_the_kto_format() -> None:
    records: list[Row] = [{"messages": talk("q", f"x{at}"), "label": at > 1} for at in range(4)]
    found = read(jsonl(records[0] | {"label": None}, *records[1:]))
    assert found.plan.format == "llama_factory_kto"
    assert found.rows == [{"prompt": talk("q"), "completions": ["x1", "x2", "x3"], "ranks": [2, 1, 1]}]
    assert found.found == {"empty_text": [1]}


def test_label_column_that_is_empty_everywhere_is_ignored() -> None:
    found = read(jsonl({"messages": talk("q", "x"), "label": None}, {"messages": talk("r", "y"), "label": None}))
    assert (found.plan.kind, len(found.rows)) == (DatasetKind.SFT, 2)


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": "q", "completion": "x"},
        {"prompt": "q", "output": "x"},
        {"instruction": "q", "output": "x"},
        {"instruction": "q", "response": "x"},
        {"messages": talk("q", "x")},
    ],
)
@pytest.mark.parametrize(
    "beside",
    [
        {"is_good": False},
        {"quality_tag": "bad"},
        {"rejected_answer": "y"},
        {"quality.responses": [1]},
    ],
)
def test_answer_beside_a_verdict_is_unclear_unless_kind_is_sft(record: Row, beside: Row) -> None:
    with pytest.raises(UnclearFormat):
        read(jsonl(record | beside))
    assert len(rows_of(record | beside, kind="sft")) == 1


@pytest.mark.parametrize("record", [{"instruction": "q", "output": "x"}, {"messages": talk("q", "x")}])
@pytest.mark.parametrize("beside", [{"score": 1}, {"rating": 0.5}, {"reward": "-3.5"}])
def test_answer_beside_a_score_is_unclear(record: Row, beside: Row) -> None:
    with pytest.raises(UnclearFormat):
        read(jsonl(record | beside))


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": "q", "completion": "x"},
        {"prompt": "q", "response": "x"},
        {"instruction": "q", "input": "", "output": "x"},
        {"messages": talk("q", "x")},
        {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "x"}]},
    ],
)
@pytest.mark.parametrize(
    "beside",
    [
        {"category": "sports", "dataset": "d", "source": "s", "id": 7, "tags": ["a", "b"]},
        {"label": "sports"},
        {"tag": "chess"},
        {"language_tag": "en", "rating": None, "is_good": None},
        {"label": None, "rejected": "", "model": "m", "metadata": {"label": 0}},
    ],
)
def test_column_without_verdicts_keeps_demonstrations(record: Row, beside: Row) -> None:
    found = read(jsonl(record | beside))
    assert (found.plan.kind, len(found.rows)) == (DatasetKind.SFT, 1)


@pytest.mark.parametrize("name", ["label", "is_good", "rejected_response", "model_response"])
def test_verdict_late_in_the_file_stops_the_import(name: str) -> None:
    early = [{"prompt": f"q{at}", "completion": "x"} for at in range(201)]
    content = jsonl(*early, {"prompt": "q", "completion": "bad", name: False, "id": 1})
    with pytest.raises(UnclearFormat, match=f"Line 202: `{name}` looks like a verdict") as asked:
        read(content)
    assert [question["column"] for question in asked.value.extras["questions"]] == [name]
    found = read(content, kind="sft")
    assert found.found == {"verdicts_ignored": [202]}
    told = found.finding("verdicts_ignored")
    assert (told["severity"], told["detail"]) == ("warning", f"Not used: {name}.")
    assert found.finding("columns_ignored")["detail"] == "Not used: id."
    assert read(content, ignore=[name]).found == {}


@pytest.mark.parametrize(
    "record",
    [
        {"question": "q", "completion": "x"},
        {"instruction": "q", "completion": "x"},
        {"prompt": "q", "completion": [{"role": "assistant", "content": "x"}]},
    ],
)
def test_axolotls_thumbs_have_their_prompt_under_other_names(record: Row) -> None:
    other = record | {"completion": "y"}
    found = read(jsonl(record | {"system": "s", "label": True}, other | {"system": "s", "label": False}))
    assert found.plan.format == "trl_unpaired"
    assert found.rows == [{"prompt": talk("q", system="s"), "completions": ["x", "y"], "ranks": [1, 2]}]


@pytest.mark.parametrize("beside", [{}, {"prompt": "q"}])
def test_a_completion_may_be_the_whole_conversation(beside: Row) -> None:
    good, bad = ({"completion": talk("q", said), "label": said == "x"} | beside for said in "xy")
    found = read(jsonl(good, bad))
    assert found.plan.format == "trl_unpaired"
    assert found.rows == [{"prompt": talk("q"), "completions": ["x", "y"], "ranks": [1, 2]}]


def test_completion_of_several_turns_without_question_is_refused() -> None:
    good, bad = ({"prompt": "q", "completion": said, "label": said == "x"} for said in "xy")
    found = read(jsonl(good, bad, good | {"completion": talk("q", "x", "r", "z")[1:]}))
    assert found.found == {"several_turns": [3]}


def test_conversation_beside_a_completion_column_is_read() -> None:
    records = [
        {"messages": talk("q"), "completion": {"role": "assistant", "content": said}, "label": good}
        for said, good in (("x", False), ("y", True))
    ]
    assert rows_of(*records) == [{"prompt": talk("q")} | RANKED]


def marked(*weights: int) -> Row:
    """A conversation whose answers have these weights."""
    contents = [text for at in range(len(weights)) for text in (f"q{at}", f"x{at}")]
    said = talk(*contents)
    return {"messages": [said[at] | ({"weight": weights[at // 2]} if at % 2 else {}) for at in range(len(said))]}


def test_an_answer_of_weight_0_is_nothing_to_imitate() -> None:
    found = read(
        jsonl(
            marked(1), marked(1, 0), {"messages": [*talk("q"), {"role": "assistant", "content": "x", "train": False}]}
        )
    )
    assert found.rows == [{"messages": talk("q0", "x0")}]
    assert found.found == {"not_imitated": [2, 3]}


def test_last_answer_with_the_only_weight_is_the_completion() -> None:
    found = read(jsonl(marked(0, 0, 1)))
    assert found.rows == [{"prompt": talk("q0", "x0", "q1", "x1", "q2"), "completion": "x2"}]
    assert found.found == {}


def test_unsupported_weights_of_a_conversation_are_reported() -> None:
    found = read(jsonl(marked(1, 1), marked(1, 0, 1)))
    assert found.rows[1] == {"messages": talk("q0", "x0", "q1", "x1", "q2", "x2")}
    assert found.found == {"weights_ignored": [2]}
    assert found.finding("weights_ignored")["severity"] == "warning"
