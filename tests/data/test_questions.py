"""Questions about unused columns: which columns stop an import, and the rows that each choice gives."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.column_meaning import names_metadata, words
from data.errors import UnclearFormat, UnusableFile
from data.names import DESCRIPTIONS, MEDIA, ORDER_COLUMNS, PAIR_ENDS, SYSTEM
from data.verdicts import BAD, GOOD, is_word, polarity
from tests.data.reading import Row, jsonl, read, refusal, rows_of, talk

BLUE, GREEN = "The sky is blue.", "The sky is green."


def asked(*records: Row, **plan: Any) -> list[dict[str, Any]]:
    """The questions about the records; empty if the format is unclear without one."""
    with pytest.raises(UnclearFormat) as unclear:
        read(jsonl(*records), **plan)
    found: list[dict[str, Any]] = unclear.value.extras.get("questions", [])
    return found


def rated(name: str, *values: Any) -> list[Row]:
    """An answer for each value in a column of this name."""
    return [{"prompt": f"q{at}", "response": f"x{at}", name: value} for at, value in enumerate(values)]


@pytest.mark.parametrize(
    ("word", "good"),
    [
        ("very good", True), ("Strongly disagree", False), ("not acceptable", False), ("not bad", True), ("fully acceptable", True),
        ("positivo", True), ("schlecht", False), ("плохо", False), ("不满意", False), ("はい", True), ("não", False), ("😄", True), ("☹️", False),
        ("🦄", None), ("partially correct", None), ("maths", None), ("very", None), ("not", None),
    ],
)  # fmt: skip
def test_polarity_of_words(word: str, good: bool | None) -> None:
    assert polarity(word) is good


@pytest.mark.parametrize("label", ["spam", "happy", "valid", "sports", "A+"])
def test_a_label_that_may_be_a_topic_is_no_thumb(label: str) -> None:
    records = [{"prompt": f"q{at}", "completion": "x", "label": label} for at in range(3)]
    assert read(jsonl(*records), ignore=["label"]).plan.kind == "sft"
    try:
        assert read(jsonl(*records)).plan.kind == "sft"
    except UnclearFormat as unclear:
        assert unclear.extras["questions"][0]["column"] == "label"


@pytest.mark.parametrize("sign", ["🦄", "97 %", "4/5", "★★☆", "A+", "D-", "2 stars"])
def test_signs_and_grades_are_verdicts(sign: str) -> None:
    assert is_word(sign)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("feedback_type", "like", "dislike"), ("status", "accepted", "rejected"), ("rating_level", "very good", "very bad"),
        ("approval_pct", 97, 3), ("mood", "🦄", "🐛"), ("mark", "A+", "D-"), ("keep_or_drop", "keep", "drop"),
        ("judgement", "The answer is right.", "The answer is wrong."), ("zz", "хорошо", "плохо"),
    ],
)  # fmt: skip
def test_verdicts_stop_the_import_whatever_their_words(name: str, good: Any, bad: Any) -> None:
    assert [question["column"] for question in asked(*rated(name, good, bad))] == [name]


def test_verdicts_in_a_list_of_annotations_stop_the_import() -> None:
    records = rated("annotations", [{"value": 1, "id": 7}], [{"value": 0, "id": 8}])
    assert asked(*records)[0]["column"] == "annotations.*.value"


@pytest.mark.parametrize(
    ("name", "values", "label", "thumbs"),
    [
        ("toxicity", ("safe", "toxic"), "separates good answers from bad ones", ["up", "down"]),
        ("is_wrong", ("no", "yes"), "marks an answer as bad", ["up", "down"]),
        ("flagged", (False, True), "marks an answer as bad", ["up", "down"]),
        ("helpful", ("Yes", "No"), "marks an answer as good", ["up", "down"]),
        ("review", (1, -1), "separates good answers from bad ones", ["up", "down"]),
        ("zz", (True, False), "marks an answer as good", ["up", "down"]),
        ("zz", (True, False), "marks an answer as bad", ["down", "up"]),
        ("eval", ([1], [0]), "marks an answer as good", ["up", "down"]),
    ],
)
def test_thumb_that_is_chosen_has_its_direction(name: str, values: Any, label: str, thumbs: list[str]) -> None:
    records = rated(name, *values)
    (question,) = asked(*records)
    (mapping,) = [choice["mapping"] for choice in question["choices"] if choice["label"].endswith(label)]
    assert [row["thumb"] for row in rows_of(*records, mapping=mapping)] == thumbs


@pytest.mark.parametrize(
    ("name", "values"),
    [("stars", (5, 1)), ("rank", (0, 1)), ("rank", ("1", "2")), ("toxicity", (0.1, 0.9)), ("star_rating", ("5 stars", "1 star")), ("mood", ("90%", "9%"))],
)  # fmt: skip
@pytest.mark.parametrize("form", ["response", "messages"])
def test_only_measure_that_is_offered_ranks_the_better_one_first(form: str, name: str, values: Any) -> None:
    records: list[Row] = [
        ({"messages": talk("q", said)} if form == "messages" else {"prompt": "q", "response": said}) | {name: value}
        for said, value in zip("xy", values, strict=True)
    ]
    (question,) = asked(*records)
    (mapping,) = [choice["mapping"] for choice in question["choices"] if "Answers with" in choice["label"]]
    assert rows_of(*records, mapping=mapping)[0]["ranks"] == [1, 2]


def test_grades_in_letters_are_not_usable_until_the_user_says_so() -> None:
    (question,) = asked(*rated("grade", "A", "F"))
    assert question["choices"][0]["mapping"]["labels"] == {"A": None, "F": None}


def test_several_verdicts_in_a_list_have_no_mapping() -> None:
    (question,) = asked(*rated("ratings", [5, 4], [1, 2]))
    assert [choice["mapping"] for choice in question["choices"]] == [None, None]
    assert "write one value for each record" in question["detail"]


METADATA: Row = {
    "category": "closed_qa", "split": "train", "lang": "no", "language": "ja", "country": "no", "turns": 3, "num_tokens": 300, "id": 7, "url": "https://x.y",
    "timestamp": "2024-01-01", "difficulty": "hard", "level": 3, "model": "gpt-4", "temperature": 0.7, "license": "mit", "tags": ["a"],
    "completion_tokens": 30, "response_length": 4, "is_english": True, "keywords": ["a"], "meta": {"a": 1, "b": [1, 2]}, "extra_info": {"index": 3},
    "usage": {"total_tokens": 3}, "reward_model": "m", "judge_model": "gpt-4", "embedding": [0.1], "status": "completed", "duplicate": False,
    "train": True, "priority": 2, "n_shots": 3, "chunk": 1, "title": "A title of it", "explanation": "Because the light scatters.", "genre": "poem",
}  # fmt: skip


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"prompt": "q", "response": "x"}, "sft"), ({"messages": talk("q", "x")}, "sft"), ({"prompt": "q"}, "prompts"),
        ({"text": "A text."}, "pretraining"), ({"prompt": "q", "chosen": "x", "rejected": "y"}, "preferences"),
    ],
)  # fmt: skip
def test_metadata_raises_no_question_and_no_warning(record: Row, kind: str) -> None:
    found = read(jsonl(record | METADATA, record | METADATA | {"category": "open_qa", "level": 4}))
    assert (found.plan.kind, found.found) == (kind, {})


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"prompt": "q", "response": BLUE}, "Response 2"), ({"prompt": "q", "response": BLUE}, "response b"), ({"text": "Hello."}, "Role"),
        ({"prompt": "q", "response": BLUE}, "response_model"), ({"messages": talk("q", BLUE)}, "x2"), ({"prompt": "q"}, "zz"),
    ],
)  # fmt: skip
def test_name_in_another_spelling_hides_no_answer(record: Row, name: str) -> None:
    values = ("user", "assistant") if name == "Role" else (GREEN, GREEN)
    assert [question["column"] for question in asked(*(record | {name: value} for value in values))] == [name]


def test_a_conversation_in_an_unknown_column_is_an_answer() -> None:
    assert asked({"messages": talk("q", BLUE), "zz": talk("q", GREEN)})[0]["meaning"] == "answer"


@pytest.mark.parametrize("names", [("messages", "x2"), ("prompt", "response", "x2")])
def test_further_answer_can_become_the_rejected_side(names: tuple[str, ...]) -> None:
    contents = [talk("q", BLUE), GREEN] if len(names) == 2 else ["q", BLUE, GREEN]
    record = dict(zip(names, contents, strict=True))
    (question,) = asked(record)
    (row,) = rows_of(record, mapping=question["choices"][0]["mapping"])
    assert (row["a"], row["b"], row["label"]) == (BLUE, GREEN, "a")


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("good", "bad"), ("pos", "neg"), ("y_w", "y_l"), ("chosen_answer", "rejected_answer"), ("wrong_answer", "correct_answer"),
        ("output_good", "output_bad"), ("gut", "schlecht"), ("response_w", "response_l"), ("safe_response", "unsafe_response"),
    ],
)  # fmt: skip
def test_two_answers_named_by_their_quality_can_be_mapped(better: str, worse: str) -> None:
    swapped = better == "wrong_answer"
    record = {"prompt": "q", better: GREEN if swapped else BLUE, worse: BLUE if swapped else GREEN}
    with pytest.raises(UnclearFormat) as unclear:
        read(jsonl(record))
    questions = unclear.value.extras.get("questions")
    mapping = questions[0]["choices"][0]["mapping"] if questions else unclear.value.extras["suggested"]
    (row,) = rows_of(record, mapping=mapping)
    assert (row["a"], row["b"], row["label"]) == (BLUE, GREEN, "a")


def test_two_unknown_texts_beside_a_prompt_can_be_a_pair() -> None:
    record = {"prompt": "q", "human": BLUE, "machine": GREEN}
    labels = [choice["label"] for choice in asked(record)[0]["choices"]]
    assert labels == [
        "A pair: `machine` is better than `human`",
        "A pair: `human` is better than `machine`",
        "An answer to imitate: `human`",
        "Ignore `human`",
    ]


@pytest.mark.parametrize("name", ["instructions", "preamble", "developer_message", "prompt_system", "sysprompt"])
@pytest.mark.parametrize("record", [{"messages": talk("q", "x")}, {"prompt": "q", "response": "x"}, {"prompt": "q"}])
def test_system_message_under_another_name_can_be_mapped(record: Row, name: str) -> None:
    record = record | {name: "Be brief, always."}
    (question,) = asked(record)
    (row,) = rows_of(record, mapping=question["choices"][0]["mapping"])
    assert row.get("messages", row.get("prompt"))[0] == {"role": "system", "content": "Be brief, always."}


@pytest.mark.parametrize(
    "beside", [{"meta": {"winner": "rejected"}}, {"swapped": True}, {"is_tie": 1}, {"zz": "rejected"}]
)
def test_what_contradicts_chosen_and_rejected_stops_the_import(beside: Row) -> None:
    record = {"prompt": "q", "chosen": "x", "rejected": "y"}
    assert len(asked(record | beside)) == 1
    sure = {"meta": {"winner": "chosen"}, "zz": "chosen"}
    confirmed = {name: sure.get(name, False) for name in beside}
    assert rows_of(record | confirmed)[0]["label"] == "a"


@pytest.mark.parametrize("beside", [{"chosen_votes": 1, "rejected_votes": 9}, {"quality": "bad"}, {"agreement": False}])
def test_further_verdict_on_a_labelled_pair_is_a_warning(beside: Row) -> None:
    assert read(jsonl({"prompt": "q", "chosen": "x", "rejected": "y"} | beside)).found == {"verdicts_ignored": [1]}


@pytest.mark.parametrize("name", ["rank", "score"])
def test_further_verdict_beside_a_thumb_gets_a_warning(name: str) -> None:
    """Naming the kind does not silence it."""
    record = {"prompt": "q", "response": "x", "feedback": "thumbs_down", name: 2}
    assert read(jsonl(record), kind="thumbs").found == {"verdicts_ignored": [1]}


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"prompt": "q", "response": "x", "reward": 1, "rating": 5}, "rating"),
        ({"prompt": "q", "responses": ["x", "y"], "scores": [1, 2], "rewards": [2, 1]}, "rewards"),
        ({"prompt": "q", "response_a": "x", "response_b": "y", "score_a": 1, "score_b": 2, "rank_a": 2, "rank_b": 1}, "rank_a"),
    ],
)  # fmt: skip
def test_second_verdict_that_the_format_could_read_stops_it(record: Row, name: str) -> None:
    other = record if "response" not in record else record | {"response": "y"}
    found = asked(record, other)
    assert found[0]["column"] == name
    assert "another column is the verdict" in found[0]["detail"]


@pytest.mark.parametrize("name", ["order", "preference_order", "sorted", "elo"])
def test_list_of_places_beside_answers_can_be_mapped(name: str) -> None:
    record = {"prompt": "q", "completions": ["x", "y", "z"], name: [2, 0, 1]}
    mappings = [choice["mapping"] for choice in asked(record)[0]["choices"][:3]]
    assert [rows_of(record, mapping=mapping)[0]["ranks"] for mapping in mappings] == [[1, 3, 2], [3, 1, 2], [2, 3, 1]]


@pytest.mark.parametrize("beside", [{"ranked": "1st"}, {"scores": [1, 2]}, {"annotations": [{"value": 1}]}])
def test_a_verdict_that_no_suggestion_uses_prevents_it(beside: Row) -> None:
    with pytest.raises(UnclearFormat) as unclear:
        read(jsonl({"question": "q", "task": "t", "text_1": BLUE, "text_2": GREEN, "note": "n" * 80} | beside))
    suggested = unclear.value.extras["suggested"]
    assert suggested is None or next(iter(beside)) in str(suggested["fields"])


@pytest.mark.parametrize(("measure", "label"), [("my_rank", "b"), ("sum", "a")])
def test_numbers_named_like_the_answers_are_suggested(measure: str, label: str) -> None:
    record = {"question": "q", "text_1": BLUE, "text_2": GREEN, f"{measure}_1": 2, f"{measure}_2": 1, "task": "t" * 80}
    with pytest.raises(UnclearFormat) as unclear:
        read(jsonl(record))
    assert rows_of(record, mapping=unclear.value.extras["suggested"])[0]["label"] == label


def test_number_of_the_best_answer_stops_the_import() -> None:
    assert asked({"prompt": "q", "completions": ["x", "y"], "best_index": 1})[0]["column"] == "best_index"


@pytest.mark.parametrize("measure", ["rating", "votes", "place"])
def test_answers_with_their_own_measure_are_ranked(measure: str) -> None:
    better, worse = (1, 2) if measure == "place" else (5, 1)
    answers = [{"text": "x", measure: worse}, {"text": "y", measure: better}]
    assert rows_of({"prompt": "q", "answers": answers})[0]["ranks"] == [2, 1]


@pytest.mark.parametrize(
    ("record", "cure"),
    [
        ({"prompt": "q", "answers": [{"text": "x", "mark": "good"}]}, "give each one its text and a `rank`"),
        ({"id": 1, "data": {"prompt": "q"}, "annotations": [{"result": []}]}, "Export it as CSV or JSON-MIN"),
    ],
)
def test_layout_that_no_mapping_reads_has_a_cure(record: Row, cure: str) -> None:
    with pytest.raises(UnclearFormat, match=cure) as unclear:
        read(jsonl(record))
    assert unclear.value.extras["suggested"] is None


@pytest.mark.parametrize("turn", [{"speaker": "user", "text": "q"}, {"author": "user", "content": "q"}, "q", ["q"]])
def test_messages_of_another_form_are_refused_with_their_line(turn: Any) -> None:
    assert "Line 1: " in str(refusal(jsonl({"messages": [turn, turn]}), kind="sft"))


WORDS = [word for word in sorted(GOOD | BAD) if not word.lstrip("+-").isdecimal()]


@settings(max_examples=60)
@given(
    st.sampled_from(["zz", "feedback_kind", "status", "toxicity", "mark"]),
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=5),
)
def test_property_words_are_mapped_by_their_polarity(name: str, said: list[str]) -> None:
    records = rated(name, *said)
    try:
        read(jsonl(*records))
    except UnclearFormat as unclear:
        choices = unclear.extras["questions"][0]["choices"]
    else:
        return  # codes of two letters in a column of metadata
    mapping = choices[0]["mapping"]
    if {"no", "non", "f", "n"} & set(said) or "answer as" in choices[0]["label"]:
        return  # yes and no, whose direction the name decides
    try:
        thumbs = [row["thumb"] for row in rows_of(*records, mapping=mapping)]
    except UnusableFile:
        return
    assert thumbs == [
        "up" if word in GOOD else "down" for word in said if mapping.get("labels", {}).get(word, "") is not None
    ]


NAMES = st.text(st.sampled_from("abcdeklmnorstuvxyz_"), min_size=2, max_size=12).filter(
    lambda name: (
        not names_metadata(name)
        and DESCRIPTIONS.isdisjoint(words(name))
        and name not in {"source", "system", "text", "context", "tools", "chat"} | MEDIA | SYSTEM
    )
)


@settings(max_examples=60)
@given(
    NAMES,
    st.sampled_from(
        [{"prompt": "q", "response": BLUE}, {"messages": talk("q", BLUE)}, {"instruction": "q", "output": BLUE}]
    ),
)
def test_property_a_second_text_is_never_lost_with_an_info(name: str, record: Row) -> None:
    try:
        found = read(jsonl(record | {name: GREEN}))
    except (UnclearFormat, UnusableFile):
        return
    assert GREEN in str(found.rows) or "verdicts_ignored" in found.found


MEASURES = st.sampled_from(["score", "rating", "reward", "quality", "votes", "elo", "rank", "ranking", "place"])


@settings(max_examples=60)
@given(
    MEASURES,
    st.sampled_from(sorted(PAIR_ENDS)),
    st.sampled_from(["response", "answer", "option", "candidate", "text"]),
    st.permutations([1, 2]),
)
def test_property_a_measure_of_two_answers_is_never_dropped(
    measure: str, ends: tuple[str, str], stem: str, values: list[int]
) -> None:
    record: Row = {"prompt": "q"}
    for end, said, value in zip(ends, (BLUE, GREEN), values, strict=True):
        record |= {f"{stem}_{end}": said, f"{measure}_{end}": value}
    ranks = measure in ("rank", "ranking", "place")
    label = "a" if (values[0] > values[1]) is not ranks else "b"
    try:
        rows = read(jsonl(record)).rows
    except UnclearFormat as unclear:
        questions = unclear.extras.get("questions")
        mapping = questions[0]["choices"][0]["mapping"] if questions else unclear.extras["suggested"]
        if mapping is None:
            return
        rows = rows_of(record, mapping=mapping)
    assert rows[0]["label"] == label


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(ORDER_COLUMNS)),
    st.sampled_from(["rejected", "chosen", "a", "b", 0, 1, 2, -1, True, False, "good", "bad", "tie", "no", "1", "0"]),
)
def test_property_a_verdict_beside_chosen_is_obeyed_or_stops(name: str, value: Any) -> None:
    record = {"prompt": "q", "chosen": "x", "rejected": "y"}
    try:
        rows = read(jsonl(record | {name: value}, record | {"prompt": "r"})).rows
    except UnclearFormat:
        return
    stated = {"rejected": "b", "tie": "tie"}.get(str(value), "a")
    assert (rows[0]["label"], value in ("rejected", "chosen", "tie", True, 1, "1")) == (stated, True)


MAPPED = {"fields": {"prompt": "q", "completion": "x", "system": "s", "source": "meta.from"}}


def test_mapped_columns_that_a_changed_file_lacks_are_reported() -> None:
    record = {"q": "p", "x": BLUE, "s": "Be brief.", "meta": {"from": "web"}}
    assert read(jsonl(record), mapping=MAPPED).found == {}
    assert read(jsonl(record | {"s": None}, record), mapping=MAPPED).found == {}
    found = read(jsonl({"q": "p", "x": BLUE, "S2": "Be brief."}), mapping=MAPPED)
    assert found.finding("mapped_missing")["detail"] == "No record has the column s, meta.from."
    assert (
        read(
            b"Q,X,S\np,x,Be brief.\n", "x.csv", mapping={"fields": {"prompt": "q", "completion": "x", "system": "s"}}
        ).found
        == {}
    )


def test_missing_prompt_of_a_mapping_is_named_as_missing() -> None:
    refused = refusal(jsonl({"question": "p", "x": BLUE}), mapping={"fields": {"prompt": "q", "completion": "x"}})
    assert str(refused).startswith("Line 1: is missing or empty; found 'question', 'x'")
    pair = {"fields": {"prompt": "q", "chosen": "x", "rejected": "y"}}
    whole = {"q": None, "x": talk("p", BLUE), "y": talk("p", GREEN)}
    assert rows_of(whole, mapping=pair)[0]["prompt"] == talk("p")


def test_late_verdict_under_a_name_of_metadata_stops_the_import() -> None:
    early = [{"prompt": f"q{at}", "response": "x"} for at in range(201)]
    with pytest.raises(UnclearFormat, match="Line 202: `feedback_type` looks like a verdict"):
        read(jsonl(*early, early[0] | {"feedback_type": "dislike"}))
