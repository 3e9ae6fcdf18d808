"""Prompts keep the answer that a reward checks: in verl's, NeMo-RL's and OpenRLHF's layouts, and beside any prompt."""

import json
from typing import Any

import pytest

from data.errors import UnclearFormat
from tests.data.reading import Row, jsonl, read, rows_of, talk
from tests.data.test_same_rows import as_parquet

VERL = {"data_source": "math", "prompt": talk("q"), "ability": "math", "extra_info": {"index": 0}}


def verl(truth: Any, style: str = "rule") -> Row:
    return VERL | {"reward_model": {"style": style, "ground_truth": truth}}


@pytest.mark.parametrize(
    ("truth", "answer"),
    [
        ("72", {"answer": "72"}),
        (72, {"answer": 72}),
        (["72", "seventy-two"], {"answer": '["72", "seventy-two"]'}),
        (None, {}),
    ],
)
def test_verls_ground_truth_is_the_answer(truth: Any, answer: Row) -> None:
    for content in (jsonl(verl(truth)), as_parquet([verl(truth)])):
        found = read(content)
        assert (found.plan.format, found.plan.kind, found.detection.sure) == ("verl", "prompts", True)
        assert found.rows == [{"prompt": talk("q")} | answer | {"source": "math"}]


def test_verl_objects_may_be_json_texts() -> None:
    record = verl("72") | {"reward_model": json.dumps({"ground_truth": "72"}), "prompt": json.dumps(talk("q"))}
    assert rows_of(record) == [{"prompt": talk("q"), "answer": "72", "source": "math"}]


@pytest.mark.parametrize(
    "record",
    [{"messages": talk("q", "72"), "task_name": "math"}, {"input": "q", "output": "72", "task_name": "math"}],
)
def test_nemo_answer_is_unclear_until_the_kind_is_given(record: Row) -> None:
    with pytest.raises(UnclearFormat) as unclear:
        read(jsonl(record))
    assert {(one["format"], one["kind"]) for one in unclear.value.extras["candidates"][:2]} == {
        ("nemo_rl", "prompts"),
        ("nemo_rl", "sft"),
    }
    prompt = talk("q") if "messages" in record else "q"
    assert rows_of(record, kind="prompts") == [{"prompt": prompt, "answer": "72", "source": "math"}]
    assert rows_of(record, kind="sft", format="nemo_rl") == [{"prompt": prompt, "completion": "72", "source": "math"}]


def test_nemos_ranked_completions_are_pairs() -> None:
    said = [
        {"rank": rank, "completion": [{"role": "assistant", "content": text}]} for rank, text in ((1, "x"), (0, "y"))
    ]
    found = read(jsonl({"context": talk("q"), "completions": said}))
    assert (found.plan.format, found.rows) == (
        "ranked_answers",
        [{"prompt": talk("q"), "completions": ["x", "y"], "ranks": [2, 1]}],
    )


@pytest.mark.parametrize(
    ("record", "row"),
    [
        ({"context_messages": talk("q"), "id": 1, "dataset": "d"}, {"prompt": talk("q"), "source": "d"}),
        ({"input": talk("q"), "label": "7", "datasource": "d"}, {"prompt": talk("q"), "answer": "7", "source": "d"}),
        ({"prompt": "q", "label": 7, "datasource": "d"}, {"prompt": "q", "answer": 7, "source": "d"}),
    ],
)
def test_openrlhfs_labels_are_answers(record: Row, row: Row) -> None:
    found = read(jsonl(record))
    assert (found.plan.format, found.plan.kind, found.rows) == ("openrlhf", "prompts", [row])


@pytest.mark.parametrize(
    "name", ["answer", "reference_answer", "expected_answer", "ground_truth", "final_answer", "solution"]
)
@pytest.mark.parametrize(
    "asked",
    [
        {"prompt": "q"},
        {"problem": "q"},
        {"messages": talk("q", "x")},
        {"instruction": "q", "output": "x"},
    ],
)
def test_a_ground_truth_beside_a_prompt_is_kept(asked: Row, name: str) -> None:
    (row,) = rows_of(asked | {name: "7"}, kind="prompts")
    assert row["answer"] == "7"


def test_ground_truth_of_a_demonstration_is_a_warning() -> None:
    found = read(jsonl({"instruction": "q", "output": "x", "ground_truth": "7"}), kind="sft")
    assert found.rows == [{"prompt": "q", "completion": "x"}]
    assert "ground_truth" in found.finding("verdicts_ignored")["detail"]


def test_an_empty_ground_truth_is_none() -> None:
    assert rows_of({"prompt": "q", "answer": None, "ground_truth": ""}, kind="prompts") == [{"prompt": "q"}]


def test_long_solution_beside_a_prompt_is_unclear() -> None:
    with pytest.raises(UnclearFormat):
        read(jsonl({"prompt": "q", "solution": "x" * 80}))


SWIFT = {"messages": talk("q", "x", "and?", "z"), "rejected_response": "y"}
ROW = {"prompt": talk("q", "x", "and?"), "a": "z", "b": "y", "label": "a"}


@pytest.mark.parametrize(
    "record",
    [
        SWIFT,
        {"messages": SWIFT["messages"], "rejected_response": None, "rejected_messages": talk("q", "x", "and?", "y")},
    ],
)
def test_ms_swifts_rejected_response_is_the_other_side(record: Row) -> None:
    found = read(jsonl(record))
    assert (found.plan.format, found.detection.sure, found.rows) == ("ms_swift", True, [ROW])


def test_a_conversation_and_an_answer_can_be_mapped() -> None:
    fields = {"chosen": "messages", "rejected": "rejected_response"}
    assert rows_of(SWIFT, mapping={"fields": fields}) == [ROW]
