"""Annotators, times, margins, tools and defects of particular datasets."""

import json

import pytest

from data.errors import UnclearFormat
from tests.data.reading import Row, jsonl, read, rows_of, talk

SAID = {"response1": "x", "response2": "y"}


def battle(winner: str, **more: object) -> Row:
    sides = {"conversation_a": talk("q", "x"), "conversation_b": talk("q", "y")}
    return sides | {"winner": winner} | more


@pytest.mark.parametrize(
    ("winner", "label"),
    [
        ("model_a", "a"),
        ("model_b", "b"),
        ("tie", "tie"),
        ("tie (bothbad)", "tie"),
        ("both_bad", "tie"),
        ("tie (inconsistent)", "tie"),
    ],
)
def test_every_outcome_of_a_battle(winner: str, label: str) -> None:
    rows = rows_of(battle(winner), battle("model_a"))
    assert rows[0] == {"prompt": talk("q"), "a": "x", "b": "y", "label": label}


def test_lmarena_battle_must_differ_at_the_last_or_judged_turn() -> None:
    """Two conversations that differ at an earlier turn have no shared prompt."""
    first, second = talk("q", "x", "and?", "u"), talk("q", "y", "and?", "v")
    judged = battle("model_a", conversation_a=first, conversation_b=second, turn=1, judge="expert_1")
    found = read(jsonl(battle("model_a"), battle("model_a", conversation_a=first, conversation_b=second), judged))
    assert found.found == {"prompt_differs": [2]}
    assert found.rows[1] == {"prompt": talk("q"), "a": "x", "b": "y", "label": "a", "annotator": "expert_1"}


def test_lmarena_battle_after_a_vote_reports_missing_context() -> None:
    session = {"evaluation_order": 2, "full_conversation": [{"user": {}}] * 2}
    whole = talk("p", "z", "q", "x"), talk("p", "z", "q", "y")
    found = read(
        jsonl(
            battle("model_a", **session),
            battle("model_a", **session | {"evaluation_order": 1}),
            battle("model_a", evaluation_order=2),
            battle("model_a", conversation_a=whole[0], conversation_b=whole[1], **session),
        )
    )
    assert (found.lines, found.found) == ([1, 2, 3, 4], {"context_missing": [1, 3]})
    assert found.finding("context_missing")["severity"] == "warning"


def test_contents_in_parts_are_text_and_images_are_not() -> None:
    parts = [{"type": "text", "text": "q", "image": None, "mimeType": None}]
    sides = {
        side: [{"role": "user", "content": parts}, {"role": "assistant", "content": said}]
        for side, said in (("conversation_a", "x"), ("conversation_b", "y"))
    }
    picture = [{"role": "user", "content": [{"type": "image", "image": "…"}]}, {"role": "assistant", "content": "x"}]
    found = read(jsonl(battle("model_a", **sides), battle("tie", conversation_a=picture)))
    assert (found.rows[0]["prompt"], found.found) == (talk("q"), {"not_text": [2]})


def test_lmarena_55k_defects_are_reported_with_lines() -> None:
    header = "id,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"

    def line(prompt: object, a: object, b: object, votes: str = "1,0,0") -> str:
        cells = ['"' + json.dumps(cell).replace('"', '""') + '"' for cell in (prompt, a, b)]
        return ",".join(["1", *cells, votes]) + "\n"

    half = '1,"[""q""]","[""\\ud83d""]","[""y""]",1,0,0\n'
    table = (
        header
        + line(["q"], ["x"], ["y"])
        + line(["q"], [None], ["y"])
        + half
        + line(["q", "r"], ["x", "u"], ["y", "v"])
    )
    table += line(["q"], ["x"], ["y"], "1,1,0") + line(["q\nr"], ["x"], ["y"], "0,0,1") + line(["q"], ["x"], ["x", "y"])
    found = read(table.encode(), "train.csv")
    assert found.plan.format == "arena_55k"
    assert [(line, row["label"]) for line, row in zip(found.lines, found.rows, strict=True)] == [(2, "a"), (7, "tie")]
    assert found.found == {
        "empty_text": [3],
        "bad_characters": [4],
        "prompt_differs": [5],
        "bad_label": [6],
        "bad_conversation": [8],
    }


def test_three_annotators_who_disagree_are_three_rows() -> None:
    record = {
        "instruction": "i",
        "input": "",
        "cmp_key": "one_two",
        "annotator1": 1,
        "annotator2": "2",
        "annotator3": 0,
    } | SAID
    assert [(row["label"], row["annotator"], row["source"]) for row in rows_of(record)] == [
        ("a", "annotator1", "one_two"),
        ("b", "annotator2", "one_two"),
        ("tie", "annotator3", "one_two"),
    ]


def test_a_record_gives_all_of_its_rows_or_none() -> None:
    record = {"instruction": "i", "annotator1": 1, "annotator2": 2, "annotator3": 7} | SAID
    good = record | {"annotator3": 1}
    found = read(jsonl(good, record, good | {"response2": ""}, good | {"response1": True}))
    assert found.lines == [1, 1, 1]
    assert found.found == {"bad_label": [2], "empty_text": [3], "wrong_type": [4]}
    assert found.finding("wrong_type")["samples"] == [{"line": 4, "row": None, "text": '{"response1": true}'}]


def test_helpsteer3_without_individuals_uses_overall_preference() -> None:
    record = {"context": talk("q"), "overall_preference": -1, "domain": "code"} | SAID
    assert rows_of(record | {"individual_preference": []}) == [
        {"prompt": talk("q"), "a": "x", "b": "y", "label": "a", "margin": 1, "source": "code"}
    ]
    assert rows_of(record | {"overall_preference": 0}, record)[0]["label"] == "tie"
    assert read(jsonl(record, record | {"overall_preference": 7})).found == {"bad_label": [2]}


def test_openais_tools_and_roles() -> None:
    def record(**more: object) -> Row:
        said = {"messages": [{"role": "developer", "content": "Be brief."}, *talk("q")]}
        sides = {"preferred_output": talk("", "x")[1:], "non_preferred_output": talk("", "y")[1:]}
        return {"input": said} | sides | more

    call = [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]
    tools = {"messages": talk("q"), "tools": [{"type": "function"}]}
    two = [*talk("", "x")[1:], *talk("", "z")[1:]]
    found = read(jsonl(record(), record(preferred_output=call), record(input=tools), record(preferred_output=two)))
    assert found.rows[0] == {"prompt": talk("q", system="Be brief."), "a": "x", "b": "y", "label": "a"}
    assert found.found == {"tools": [2], "tools_dropped": [3], "several_turns": [4]}
    assert found.lines == [1, 3]


def test_argillas_answers_in_their_spellings() -> None:
    record = {"instruction": "i", "response-1": "x", "response-2": "y"}
    ranked = [{"rank": 2, "value": "response-1"}, {"rank": 1, "value": "response-2"}]
    said = [
        {"user_id": None, "value": ranked, "status": "submitted"},
        {"user_id": "a", "value": "response-1", "status": "draft"},
    ]
    flat = {
        "choice.responses": ["response-1", "tie"],
        "choice.responses.users": ["kim", "lee"],
        "choice.responses.status": ["submitted"] * 2,
    }
    found = read(
        jsonl(
            record | {"ranking": said},
            record | flat,
            record | {"ranking": []} | {"x.responses": None},
            record | {"ranking": [said[0] | {"value": "neither"}]},
        )
    )
    assert [(row["label"], row.get("annotator")) for row in found.rows] == [
        ("b", None),
        ("a", "kim"),
        ("tie", "lee"),
        (None, None),
    ]
    assert found.found == {"bad_label": [4], "unlabelled": [3]}


def test_ultrafeedback_is_ranked_by_the_mean_of_its_ratings() -> None:
    def answer(text: str, mean: float, overall: float) -> Row:
        return {"response": text, "fine-grained_score": mean, "overall_score": overall}

    one = {"instruction": "i", "completions": [answer("x", 2.5, 10), answer("y", 4, 8), answer("z", 2.5, 3)]}
    found = read(
        jsonl(
            one,
            {"instruction": "i", "completions": [answer("x", 1, 1)]},
            one | {"completions": [answer("x", 1, 1), answer("x", 2, 1)]},
        )
    )
    assert found.rows == [{"prompt": "i", "completions": ["x", "y", "z"], "ranks": [2, 1, 2]}]
    assert found.found == {"single_answer": [2], "contradictory_ratings": [3]}


def test_a_wrong_step_makes_a_solution_nothing_to_imitate() -> None:
    steps = {"prompt": "p", "completions": ["one", "two"]}
    records = (steps | {"labels": labels} for labels in ([True, True], [True, False], [True]))
    found = read(jsonl(*records), kind="sft")
    assert (found.lines, found.found) == ([1], {"not_usable": [2], "bad_label": [3]})


def test_histories_and_systems_of_alpaca_are_turns() -> None:
    record = {"instruction": "i", "input": "n", "output": "o", "system": "s", "history": [["q", "a"]]}
    (row,) = rows_of(record)
    assert row == {"prompt": [*talk("q", "a", system="s"), {"role": "user", "content": "i\nn"}], "completion": "o"}


@pytest.mark.parametrize(("said", "kept"), [(1682351591.5, "2023-04-24T15:53:11.500000Z"), (1682351591500, "2023-04-24T15:53:11.500000Z"), ("2023-04-24T15:53:11", "2023-04-24T15:53:11Z"), ("2023-04-24T15:53:11+02:00", "2023-04-24T15:53:11+02:00"), ("yesterday", None), (1e30, None)])  # fmt: skip
def test_times_are_kept_with_a_zone(said: object, kept: str | None) -> None:
    assert rows_of(battle("model_a", tstamp=said))[0].get("time") == kept


def test_empty_system_messages_are_dropped() -> None:
    silent = [{"role": "system", "content": " "}, *talk("q", "z")]
    assert rows_of({"messages": silent}) == [{"messages": talk("q", "z")}]


def test_sharegpt_conversations_have_their_own_names() -> None:
    said = [{"from": "human", "value": "q"}, {"from": "gpt", "value": "z"}]
    assert rows_of({"conversations": said, "system": "s"}) == [{"messages": talk("q", "z", system="s")}]
    assert read(jsonl({"conversations": said}, {"conversations": [{"from": "alien", "value": "q"}]})).found == {
        "bad_conversation": [2]
    }


def test_output_pairs_without_label_are_unlabelled() -> None:
    record = {"instruction": "i", "input": "n", "output_1": "x", "output_2": "y"}
    found = read(jsonl(record))
    assert (found.plan.format, found.rows) == ("unlabelled", [{"prompt": "i\nn", "a": "x", "b": "y", "label": None}])
    assert found.finding("unlabelled")["severity"] == "info"


def test_llama_factory_older_file_has_both_answers_in_one_list() -> None:
    record = {"instruction": "i", "input": "", "output": ["good", "bad"]}
    pair = {"prompt": "i", "completions": ["good", "bad"], "ranks": None}
    assert rows_of(record, format="unlabelled") == [pair]
    assert rows_of(record, format="llama_factory_best_first") == [
        {"prompt": "i", "a": "good", "b": "bad", "label": "a"}
    ]


def test_columns_that_differ_in_case_report_the_unused_one() -> None:
    records = [{"prompt": "q", "completion": "x", "Completion": other} for other in (None, "y")]
    found = read(jsonl(*records), kind="sft")
    assert [row["completion"] for row in found.rows] == ["x", "x"]
    ignored = found.finding("verdicts_ignored")
    assert "Completion" in ignored["detail"] and ignored["lines"] == [2]
    alone = read(jsonl({"prompt": "q", "Completion": "y", "completion": None}), kind="sft")
    assert alone.found == {} and alone.rows == [{"prompt": "q", "completion": "y"}]


@pytest.mark.parametrize("beside", [{"score": 3.5}, {"label": "good"}, {"rating": [5, 1]}])
@pytest.mark.parametrize("kind", [None, "preferences"])
def test_answer_list_beside_a_verdict_is_not_read_as_best_first(beside: Row, kind: str | None) -> None:
    record = {"instruction": "Translate.", "output": ["Bonjour.", "Salut."]} | beside
    with pytest.raises(UnclearFormat):
        read(jsonl(record), kind=kind)


@pytest.mark.parametrize("kind", [None, "preferences"])
@pytest.mark.parametrize("output", [["good", "bad"], ["good", "so so", "bad"]])
def test_answer_list_without_stated_order_is_unclear(output: list[str], kind: str | None) -> None:
    with pytest.raises(UnclearFormat) as unclear:
        read(jsonl({"instruction": "i", "input": "", "output": output}), kind=kind)
    formats = [candidate["format"] for candidate in unclear.value.extras["candidates"][:2]]
    assert formats == ["llama_factory_best_first", "unlabelled"]
    assert unclear.value.detail == (
        "The records could be llama_factory_best_first (as preferences) or unlabelled (as preferences): say which."
    )


def test_llama_factorys_lists_of_more_answers_are_rankings() -> None:
    record = {"instruction": "i", "output": ["good", "so so", "bad"], "history": [["q", "z"]]}
    found = read(jsonl(record), format="llama_factory_best_first")
    assert found.rows == [{"prompt": talk("q", "z", "i"), "completions": ["good", "so so", "bad"], "ranks": [1, 2, 3]}]


def test_empty_tool_list_is_ignored_and_a_call_is_reported() -> None:
    said = [{"from": "human", "value": "q"}, {"from": "gpt", "value": "z"}]
    called = [said[0], {"from": "function_call", "value": "{}"}, {"from": "observation", "value": "1"}, said[1]]
    tools = [
        {"conversations": said, "tools": "[]"},
        {"conversations": called, "tools": "[]"},
        {"conversations": said, "tools": '[{"name": "f"}]'},
    ]
    found = read(jsonl(*tools))
    assert (found.lines, found.found) == ([1, 3], {"tools": [2], "tools_dropped": [3]})


def test_thumbs_down_are_nothing_to_imitate() -> None:
    thumbs = [{"prompt": "p", "completion": c, "label": good} for c, good in (("x", True), ("y", False), ("z", True))]
    found = read(jsonl(*thumbs), kind="sft")
    assert [row["completion"] for row in found.rows] == ["x", "z"]
    assert found.found == {"not_imitated": [2]}
