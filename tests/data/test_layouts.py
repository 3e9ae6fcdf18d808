"""Files of particular projects that are easily mistaken for another format, and exports that are imported again."""

import io
import json

import pytest

from data.errors import UnclearFormat
from data.export import ExportFormat, export
from data.schema import DatasetKind
from tests.data.reading import Row, jsonl, read, rows_of, talk


def test_nectars_prompts_are_conversations() -> None:
    prompt = "\n\nHuman: q\n\nAssistant: z\n\nHuman: and?\n\nAssistant: "
    answers = [{"answer": "x", "model": "one", "rank": 2.0}, {"answer": "y", "model": "two", "rank": 1.0}]
    found = read(jsonl({"prompt": prompt, "answers": answers, "turns": 2, "num_responses": 2}))
    assert found.plan.format == "ranked_answers"
    assert found.rows == [{"prompt": talk("q", "z", "and?"), "completions": ["x", "y"], "ranks": [2, 1]}]


def test_ultrafeedback_ranks_by_a_score_that_every_answer_has() -> None:
    answers = [
        {"response": "x", "overall_score": 6.0, "fine-grained_score": 4.5},
        {"response": "y", "overall_score": 7.0, "fine-grained_score": None},
    ]
    assert rows_of({"instruction": "q", "completions": answers})[0]["ranks"] == [2, 1]


def test_ultrafeedback_without_scores_ranks_by_numeric_ratings() -> None:
    def answer(text: str, helpful: str, honest: str) -> Row:
        return {"response": text, "annotations": {"helpfulness": {"Rating": helpful}, "honesty": {"Rating": honest}}}

    answers = [answer("x", "4", "N/A"), answer("y", "5", "1"), answer("z", "4", "5")]
    assert rows_of({"instruction": "q", "completions": answers})[0]["ranks"] == [2, 1, 2]


def test_webgpt_has_ties_and_its_question_may_be_text() -> None:
    record = {"question": "q", "answer_0": "x", "answer_1": "y", "score_0": 0, "score_1": 0}
    won = record | {"score_0": 1, "score_1": -1}
    assert rows_of(record, won) == [
        {"prompt": "q", "a": "x", "b": "y", "label": "tie"},
        {"prompt": "q", "a": "x", "b": "y", "label": "a", "margin": 2},
    ]


def test_thumbs_of_a_table_of_numbers() -> None:
    table = b"prompt,completion,label\nq,x,1.0\nq,y,0.0\n"
    assert read(table, "kto.csv").rows == [{"prompt": "q", "completions": ["x", "y"], "ranks": [1, 2]}]


def test_autotrains_columns_may_hold_conversations() -> None:
    record = {"text": talk("q", "x"), "rejected_text": talk("q", "y")}
    pair = {"prompt": talk("q"), "a": "x", "b": "y", "label": "a"}
    assert rows_of(record, record | {"prompt": " "}, record | {"prompt": "q"}) == [pair] * 3
    answers = {"prompt": "q", "text": talk("", "x")[1:], "rejected_text": talk("", "y")[1:]}
    assert rows_of(answers) == [pair | {"prompt": "q"}]


def test_answers_for_openais_graders_are_kept_with_their_prompts() -> None:
    found = read(jsonl({"messages": talk("q", system="s"), "reference_answer": 5}))
    assert (found.plan.format, found.rows) == ("openai_reinforcement", [{"prompt": talk("q", system="s"), "answer": 5}])
    parts = {"messages": talk("q"), "reference_answer": {"donor": "C"}}
    assert (read(jsonl(parts)).plan.format, rows_of(parts)) == (
        "messages",
        [{"prompt": talk("q"), "answer": '{"donor": "C"}'}],
    )


def test_the_arenas_file_without_winners_waits_to_be_compared() -> None:
    table = 'id,prompt,response_a,response_b\n1,"[""q""]","[""x""]","[""y""]"\n'
    found = read(table.encode(), "test.csv")
    assert found.plan.format == "arena_55k"
    assert found.rows == [{"prompt": talk("q"), "a": "x", "b": "y", "label": None}]
    assert found.found == {"unlabelled": [2]}


def tree(*ranks: int | None) -> Row:
    """A tree with an answer of each rank, the first of which is asked about again."""
    again = {"text": "and?", "role": "prompter", "replies": [{"text": "so", "role": "assistant", "replies": []}]}
    replies = [{"text": f"x{at}", "role": "assistant", "rank": rank, "replies": []} for at, rank in enumerate(ranks)]
    replies[0]["replies"] = [again]
    return {"message_tree_id": "1", "prompt": {"text": "q", "role": "prompter", "replies": replies}}


def test_trees_of_open_assistant_become_rankings() -> None:
    found = read(jsonl(tree(2, 0, 1)))
    assert (found.plan.format, found.plan.kind) == ("message_trees", "preferences")
    assert found.rows == [{"prompt": talk("q"), "completions": ["x0", "x1", "x2"], "ranks": [3, 1, 2]}]


def test_trees_without_ranks_become_demonstrations() -> None:
    found = read(jsonl(tree(None)))
    assert (found.plan.kind, found.rows) == ("sft", [{"messages": talk("q", "x0", "and?", "so")}])


def test_messages_of_open_assistant_are_no_texts() -> None:
    message = {"message_id": "1", "parent_id": None, "text": "q", "role": "prompter", "rank": None}
    for record in (message, message | {"parent_id": "0"}, {"text": "q", "role": "user", "parent_message_id": "0"}):
        with pytest.raises(UnclearFormat, match="Write one record for each conversation"):
            read(jsonl(message, record))


def test_answers_with_a_tag_are_not_all_to_be_imitated() -> None:
    good, bad = ({"instruction": "q", "output": output, "tag": tag} for output, tag in (("x", True), ("y", False)))
    found = read(jsonl(good, bad))
    assert found.plan.format == "llama_factory_kto"
    assert found.rows == [{"prompt": "q", "completions": ["x", "y"], "ranks": [1, 2]}]


def test_alpacaeval_graded_preference_becomes_a_label() -> None:
    def record(preference: float) -> Row:
        return {"instruction": "q", "output_1": "x", "output_2": "y", "annotator": "gpt", "preference": preference}

    found = read(jsonl(*(record(said) for said in (1.0, 1.0002, 1.5, 1.9998, 2.0, 2.5))))
    assert [row["label"] for row in found.rows] == ["a", "a", "tie", "b", "b"]
    assert found.found == {"bad_label": [6]}


def test_verdicts_in_signs_are_understood_under_a_mapping() -> None:
    record = {"question": "q", "response_A": "x", "response_B": "y"}
    fields = {"prompt": "question", "a": "response_A", "b": "response_B", "label": "label"}
    said = [record | {"label": label} for label in ("A>B", "B>>A", "A=B")]
    found = read(jsonl(*said), format="custom", mapping={"fields": fields})
    assert [row["label"] for row in found.rows] == ["a", "b", "tie"]


def test_capybaras_exchanges_are_turns() -> None:
    record = {"source": "capybara", "conversation": [{"input": "q", "output": "x"}, {"input": "and?", "output": "z"}]}
    assert rows_of(record) == [{"messages": talk("q", "x", "and?", "z"), "source": "capybara"}]


def test_conversations_without_answers_are_prompts_if_most_are() -> None:
    asked, answered = {"messages": talk("q")}, {"messages": talk("q", "x")}
    assert read(jsonl(asked, asked)).plan.kind == DatasetKind.PROMPTS
    assert read(jsonl(asked, *[answered] * 9)).plan.kind == DatasetKind.SFT
    with pytest.raises(UnclearFormat):
        read(jsonl(asked, answered))
    assert rows_of(answered, kind="prompts") == [{"prompt": talk("q")}]


@pytest.mark.parametrize(
    ("rows", "kind", "format"),
    [
        ([{"prompt": talk("q"), "answer": 7}, {"prompt": talk("r")}], DatasetKind.PROMPTS, "openai"),
        ([{"prompt": "Human: q", "a": "x", "b": "y", "label": "a"}], DatasetKind.PREFERENCES, "trl"),
        ([{"prompt": "q", "completion": "x"}] * 99 + [{"messages": talk("q", "z")}], DatasetKind.SFT, "rows"),
    ],
)
def test_exported_rows_are_read_back_unchanged(rows: list[Row], kind: DatasetKind, format: str) -> None:
    sent = export(lambda: io.BytesIO(jsonl(*rows).replace(b'": ', b'":')), kind, ExportFormat(format))
    found = read(b"".join(sent.body))
    assert (found.plan.kind, found.rows, found.found) == (kind, rows, {})


CELL = 'prompt,chosen,rejected\nq,"Sure:\n{}\nthat is it",y\n'


@pytest.mark.parametrize("name", ["pairs.csv", "pairs"])
def test_an_object_on_a_line_of_a_cell_makes_no_json_lines(name: str) -> None:
    found = read(CELL.encode(), name)
    assert (found.detection.container, found.rows[0]["a"]) == ("csv", "Sure:\n{}\nthat is it")


def test_a_line_that_ends_where_the_head_does_counts_once() -> None:
    start = json.dumps({"prompt": "q", "chosen": "x", "rejected": ""}).encode()
    first = start.replace(b'"x"', b'"' + b"x" * (64 * 1024 - len(start)) + b'"')
    assert len(first) == 64 * 1024 - 1
    content = first + b"\r\n" + b'{"prompt": "q", "chosen": "x", "rejected": ""}\r\n'
    good = b'{"prompt": "q", "chosen": "x", "rejected": "y"}\r\n'
    assert read(content + good).found == {"empty_text": [1, 2]}


def test_a_label_of_0_beside_two_outputs_is_no_tie() -> None:
    """LLMBar counts from 1. In a file of 0 and 1, 1 may be the second."""
    record = {"input": "q", "output_1": "x", "output_2": "y"}
    found = read(jsonl(record | {"label": 0}, record | {"label": 1}), format="llmbar")
    assert (found.lines, found.found) == ([2], {"bad_label": [1]})


def test_a_printed_file_as_pandalms_names_lines_and_annotators() -> None:
    """Each record takes 12 lines behind the first one's bracket: they begin in lines 2, 14 and 26."""
    record = {
        "idx": 0, "motivation_app": "Grammarly", "cmp_key": "bloom-7b_llama-7b", "instruction": "Shorten it.", "input": "",
        "response1": "One.", "response2": "Two.", "annotator1": 1, "annotator2": 1, "annotator3": 0,
    }  # fmt: skip
    records = [record, record | {"idx": 1, "response1": ""}, record | {"idx": 2, "response2": True}]
    found = read(json.dumps(records, indent=4).encode(), "testset.json")
    assert (found.plan.format, found.detection.sure, found.converted.records) == ("pandalm", True, 3)
    assert [(row["annotator"], row["label"]) for row in found.rows] == [
        ("annotator1", "a"), ("annotator2", "a"), ("annotator3", "tie"),
    ]  # fmt: skip
    assert found.found == {"empty_text": [14], "wrong_type": [26]} and found.converted.left_out == 2
