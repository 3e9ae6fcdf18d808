"""Columns that look meaningful and that no format uses: they stop the import with a question, or are read."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.column_meaning import names_metadata
from data.errors import UnclearFormat, UnusableFile
from data.names import MEDIA, SYSTEM, THUMB_TAGS
from data.schema import DatasetKind
from tests.data.reading import Row, jsonl, read, rows_of, talk

GOOD, BAD = "The sky is blue by day.", "The sky is green, everybody knows."
VERDICTS: dict[str, tuple[Any, Any]] = {
    "liked": (True, False), "vote": ("up", "down"), "feedback": ("thumbs_up", "thumbs_down"), "quality": (5, 1), "accepted": (True, False),
    "correct": (1, 0), "verdict": ("pass", "fail"), "grade": ("A", "F"), "reaction": ("👍", "👎"), "user_feedback": ("good", "bad"),
    "thumbs_up": (1, 0), "helpful": (True, False), "toxic": (False, True), "safe": (True, False), "human_score": (0.9, 0.1),
    "upvotes": (153, -4), "rank": (1, 2), "passed": ("yes", "no"), "preferred": (True, False), "winner": ("yes", "no"),
    "thumb": ("👍", "👎"), "is_good": (True, False), "negative": (BAD, BAD), "dispreferred": (BAD, BAD), "alternative": (BAD, BAD),
    "rejected_answer": (BAD, BAD),
    # further ones
    "userFeedback": ("Like", "Dislike"), "thumbsUp": (True, False), "rlhf_reward": (1.7, -0.3), "stars": ("★★★★★", "★"),
    "rating": ("5/5", "1/5"), "human-judgement": ("acceptable", "unacceptable"), "is_hallucination": (False, True), "csat": (5, 1),
    "feedback.type": ("thumbs_up", "thumbs_down"), "review.value": (1, -1), "annotation.verdict": ("correct", "incorrect"), "eval.score": (0.93, 0.11), "num_likes": (40, 0), "downvotes": (0, 12),
    "flagged_bad": (False, True), "review": ("approved", "rejected"), "outcome": ("win", "loss"), "sentiment": ("positive", "negative"),
    "vote_count": (12, -3), "label": ("good", "bad"), "score": (1, 0), "ok": ("✓", "✗"), "x1": (1, -1), "zz": (True, False),
    "gpt4_output": (GOOD + " Mostly.", BAD), "second_response": (BAD, BAD), "baseline": (BAD, BAD), "edited": (BAD, BAD),
    "response_b": (BAD, BAD), "worse": (BAD, BAD), "losing_answer": (BAD, BAD),
}  # fmt: skip
"""Columns beside a prompt and an answer, with their values for a good and for a bad answer."""


def nested(name: str, value: Any) -> Row:
    first, dot, rest = name.partition(".")
    return {first: {rest: value}} if dot else {name: value}


@pytest.mark.parametrize("names", [("prompt", "response"), ("instruction", "output"), ("messages", "")])
@pytest.mark.parametrize("column", VERDICTS)
def test_answer_beside_a_verdict_is_never_imitated(column: str, names: tuple[str, str]) -> None:
    records = []
    for at, value in enumerate(VERDICTS[column]):
        talked = {"messages": talk(f"q{at}", f"answer {at}")}
        asked = {names[0]: f"q{at}", names[1]: f"answer {at}"}
        records.append((asked if names[1] else talked) | nested(column, value))
    try:
        found = read(jsonl(*records))
    except UnclearFormat as unclear:
        questions = unclear.extras.get("questions", [])
        assert [question["column"] for question in questions] == [column] or not questions
        assert all(question["choices"][-1]["ignore"] == [column] for question in questions)
    except UnusableFile:
        assert column in ("rating", "score")  # read as scores, which need numbers and two answers to a prompt
    else:
        assert found.plan.kind in (DatasetKind.THUMBS, DatasetKind.PREFERENCES)
        if found.plan.kind is DatasetKind.THUMBS:
            assert [row["thumb"] for row in found.rows] == ["up", "down"]


@pytest.mark.parametrize("column", ["toxic", "helpful", "quality", "alternative", "grade", "eval.score"])
def test_kind_or_ignored_column_answers_the_question(column: str) -> None:
    records = [
        {"prompt": f"q{at}", "response": "x"} | nested(column, value) for at, value in enumerate(VERDICTS[column])
    ]
    found = read(jsonl(*records), kind="sft")
    assert (len(found.rows), found.finding("verdicts_ignored")["severity"]) == (2, "warning")
    found = read(jsonl(*records), ignore=[column])
    assert (found.plan.kind, len(found.rows), found.found) == ("sft", 2, {})


MARKS = st.one_of(
    st.booleans(), st.sampled_from([0, 1]), st.sampled_from([-1, 1]), st.integers(-10, 10),
    st.sampled_from(["up", "down", "good", "bad", "yes", "no", "like", "dislike", "pass", "fail", "correct", "incorrect", "thumbs_up", "thumbs_down", "👍", "👎", "UP", "Good"]),
)  # fmt: skip
NAMES = st.text(st.sampled_from("abcdeklmnorstuv_"), min_size=1, max_size=12).filter(
    lambda name: (
        not names_metadata(name)
        and name not in {"source", "system", "text", "context", "tools", "chat"} | MEDIA | SYSTEM
    )
)


@settings(max_examples=60)
@given(
    NAMES, st.lists(MARKS, min_size=1, max_size=6), st.sampled_from([("prompt", "response"), ("instruction", "output")])
)
def test_property_marks_beside_an_answer_are_never_sft(name: str, marks: list[Any], names: tuple[str, str]) -> None:
    records = [{names[0]: f"q{at}", names[1]: f"answer {at}", name: mark} for at, mark in enumerate(marks)]
    try:
        kind = read(jsonl(*records)).plan.kind
    except UnclearFormat:
        return
    assert kind != DatasetKind.SFT


SYSTEMS = st.one_of(
    st.just("Be brief."), st.lists(st.sampled_from(["Be brief.", "Be kind."]), min_size=1, max_size=2),
    st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.just("Be brief.")}), min_size=1, max_size=2),
    st.just({"content": "Be brief."}), st.just({"role": "system", "content": "Be brief."}), st.just({"text": "Be brief."}),
)  # fmt: skip
SYSTEM_NAMES = st.one_of(
    st.sampled_from(
        [
            "system",
            "system_prompt",
            "system_message",
            "system_instruction",
            "systemPrompt",
            "System Message",
            "system-prompt",
        ]
    ),
    st.text(st.sampled_from("abcxyz_"), max_size=6).map(lambda end: f"system{end}"),
)
RECORDS: list[Row] = [
    {"prompt": "q", "completion": "x"}, {"messages": talk("q", "x")}, {"prompt": "q", "chosen": "x", "rejected": "y"}, {"prompt": "q"},
    {"text": "a text"}, {"messages": talk("q", "x", system="Be bold.")}, {"prompt": "q", "responses": ["x", "y"], "scores": [1, 2]},
    {"prompt": "q", "response_a": "x", "response_b": "y", "score_a": 1, "score_b": 2}, {"prompt": "q", "response": "x", "feedback": "good"},
]  # fmt: skip


@settings(max_examples=80)
@given(SYSTEM_NAMES, SYSTEMS, st.sampled_from(RECORDS))
def test_property_system_message_is_never_lost_in_silence(name: str, system: Any, record: Row) -> None:
    try:
        found = read(jsonl(record | {name: system}))
    except UnclearFormat:
        return
    told = [finding for finding in found.converted.findings if finding["severity"] != "info"]
    assert (
        "'Be brief.'" in str(found.rows) or "Be kind." in str(found.rows) or "Be brief.\\n" in str(found.rows) or told
    )


@pytest.mark.parametrize(
    ("system", "text"),
    [
        (["Be brief.", "Be kind."], "Be brief.\n\nBe kind."),
        ([{"text": "Be brief."}], "Be brief."),
        ({"content": "Be brief."}, "Be brief."),
        ([{"role": "system", "content": "Be brief."}], "Be brief."),
    ],
)
@pytest.mark.parametrize("name", ["system", "system_message", "systemPrompt"])
def test_system_of_any_form_is_the_first_message(name: str, system: Any, text: str) -> None:
    assert rows_of({"messages": talk("q", "x"), name: system}) == [{"messages": talk("q", "x", system=text)}]


def test_system_of_another_type_is_an_error() -> None:
    good = {"messages": talk("q", "x")}
    assert read(jsonl(good, good | {"system": 7}), kind="sft").found == {"wrong_type": [2]}


def test_system_beside_another_one_is_a_warning() -> None:
    found = read(jsonl({"messages": talk("q", "x", system="Be bold."), "system": "Be brief."}))
    assert found.found == {"system_ignored": [1]}


@pytest.mark.parametrize(
    ("winner", "label"),
    [("rejected", "b"), ("chosen", "a"), ("tie", "tie"), (True, "a"), (1, "a"), (None, "a"), ("", "a")],
)
def test_winner_beside_chosen_and_rejected_is_obeyed(winner: Any, label: str) -> None:
    record = {"prompt": "q", "chosen": "x", "rejected": "y", "winner": winner}
    sure = {"prompt": "r", "chosen": "x", "rejected": "y", "winner": "chosen"}
    assert rows_of(record, sure)[0] == {"prompt": "q", "a": "x", "b": "y", "label": label}


@pytest.mark.parametrize("name", ["winner", "label", "preference", "better"])
@pytest.mark.parametrize("value", [0, "b", "model_b", 2, False])
def test_unclear_winner_beside_chosen_stops_the_import(name: str, value: Any) -> None:
    record = jsonl({"prompt": "q", "chosen": "x", "rejected": "y", name: value})
    with pytest.raises(UnclearFormat, match=f"`{name}` looks like a verdict"):
        read(record)
    with pytest.raises(UnclearFormat):
        read(record, kind="preferences")
    assert read(record, ignore=[name]).rows == [{"prompt": "q", "a": "x", "b": "y", "label": "a"}]
    assert read(record, format="trl_explicit").found == {"verdicts_ignored": [1]}


def test_unclear_winner_late_in_the_file_is_refused() -> None:
    records: list[Row] = [{"prompt": f"q{at}", "chosen": "x", "rejected": "y", "label": 1} for at in range(201)]
    found = read(jsonl(*records, records[0] | {"label": 0}))
    assert (len(found.rows), found.found) == (201, {"bad_label": [202]})


@pytest.mark.parametrize(("value", "label"), [("a", "a"), ("response_b", "b"), ("A>B", "a")])
def test_unknown_column_beside_two_answers_is_asked_about(value: str, label: str) -> None:
    record = {"prompt": "q", "response_a": "x", "response_b": "y", "zz": value}
    with pytest.raises(UnclearFormat) as unclear:
        read(jsonl(record))
    (question,) = unclear.value.extras["questions"]
    assert rows_of(record, mapping=question["choices"][0]["mapping"])[0]["label"] == label


def test_context_goes_below_the_prompt_in_every_format() -> None:
    context = {"context": "The sky scatters light."}
    prompt = "q\nThe sky scatters light."
    for answers in (
        {"chosen": "x", "rejected": "y"}, {"completion": "x"}, {"response_a": "x", "response_b": "y"}, {"completion": "x", "label": True},
        {"responses": ["x", "y"], "ranks": [1, 2]}, {"response_1": "x", "response_2": "y", "score_1": 1, "score_2": 0},
        {"preferred": "x", "non_preferred": "y"},
    ):  # fmt: skip
        assert rows_of({"prompt": "q"} | context | answers)[0]["prompt"] == prompt, answers


@pytest.mark.parametrize(
    "record",
    [
        {"messages": talk("q"), "preferred": "x", "non_preferred": "y"},
        {"messages": talk("q"), "preferred": talk("", "x")[1:], "non_preferred": talk("", "y")[1:]},
        {"messages": talk("q"), "preferred_output": talk("", "x")[1:], "dispreferred_output": talk("", "y")[1:]},
    ],
)
def test_preferred_and_non_preferred_are_a_pair(record: Row) -> None:
    assert rows_of(record) == [{"prompt": talk("q"), "a": "x", "b": "y", "label": "a"}]


@pytest.mark.parametrize(
    ("measures", "label"),
    [
        ({"rank_1": 1, "rank_2": 2}, "a"), ({"score_a": 1, "score_b": 2}, "b"), ({"score_A": 3, "score_B": 3}, "tie"),
        ({"Score 1": "0.5", "Score 2": "0.25"}, "a"), ({"response_1_rating": 2, "response_2_rating": 4}, "b"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "sides", [("response_1", "response_2"), ("response 1", "response 2"), ("Response-1", "Response-2")]
)
def test_score_or_rank_of_each_answer_is_the_label(sides: tuple[str, str], measures: Row, label: str) -> None:
    record = {"prompt": "q", sides[0]: "x", sides[1]: "y"} | measures
    found = read(jsonl(record, record | dict.fromkeys(list(measures)[:1], 9)))
    assert (found.plan.format, found.rows[0]["label"]) == ("scored_pair", label)


@pytest.mark.parametrize(
    "beside", [{"rank_1": 2, "rank_2": 1}, {"ranking": [2, 1]}, {"scores": [0.1, 0.9]}, {"ranking": "B>A"}]
)
def test_suggested_mapping_keeps_the_ranking(beside: Row) -> None:
    record = {"task": "q", "question": "q", "text_a": "x", "text_b": "y"} | {
        name.replace("_1", "_a").replace("_2", "_b"): value for name, value in beside.items()
    }
    with pytest.raises(UnclearFormat) as unclear:
        read(jsonl(record))
    assert rows_of(record, mapping=unclear.value.extras["suggested"])[0]["label"] == "b"


def test_ranking_from_zero_asks_which_it_is() -> None:
    record = {"prompt": "q", "responses": ["x", "y", "z"], "ranking": [1, 2, 0]}
    with pytest.raises(UnclearFormat, match="`ranking` counts from 0") as unclear:
        read(jsonl(record))
    ranks, order = (choice["mapping"] for choice in unclear.value.extras["questions"][0]["choices"])
    assert rows_of(record, mapping=ranks)[0]["ranks"] == [2, 3, 1]
    assert rows_of(record, mapping=order)[0]["ranks"] == [3, 1, 2]


@pytest.mark.parametrize("ranking", [[0, 1], [1, 0], [0, 0, 1], [2, 3, 1], [0, 2, 1]])
def test_ranking_that_can_mean_one_thing_is_read(ranking: list[int]) -> None:
    record = {"prompt": "q", "responses": ["x", "y", "z"][: len(ranking)], "ranking": ranking}
    best = min(ranking)
    assert [rank == 1 for rank in rows_of(record)[0]["ranks"]] == [place == best for place in ranking]


@pytest.mark.parametrize("column", ["image_path", "audio_path", "image_url", "video_file", "img"])
def test_path_of_an_image_is_refused_as_an_image_is(column: str) -> None:
    good = {"prompt": "q", "completion": "x"}
    assert read(jsonl(good, good | {"prompt": "<image> q", column: "1.png"}), kind="sft").found == {"not_text": [2]}


def test_unknown_column_of_image_names_is_asked_about() -> None:
    with pytest.raises(UnclearFormat, match="`figure` names an image"):
        read(jsonl({"prompt": "<image>Who is it?", "completion": "x", "figure": "1.png"}))
    assert len(rows_of({"prompt": "Who is it?", "completion": "x", "figure": "1.png"})) == 1


def test_turns_of_a_conversation_in_records_are_asked_about() -> None:
    turns = [{"conversation_id": 1, "turn": at, "prompt": f"q{at}", "response": "x"} for at in range(3)]
    with pytest.raises(UnclearFormat, match="`turn` numbers the turns"):
        read(jsonl(*turns))


def test_verdict_inside_messages_is_asked_about() -> None:
    rated = [talk("q", "x")[0], {"role": "assistant", "content": "x", "feedback": "thumbs_down"}]
    with pytest.raises(UnclearFormat, match=r"`messages\.\*\.feedback` looks like a verdict"):
        read(jsonl({"messages": rated}))


@pytest.mark.parametrize("tag", THUMB_TAGS)
@pytest.mark.parametrize(
    ("good", "bad"), [("👍🏽", "👎🏽"), ("Like", "Dislike"), ("thumbs up", "thumbs-down"), (True, False)]
)
def test_tag_of_a_thumb_is_read_in_words(tag: str, good: Any, bad: Any) -> None:
    found = read(jsonl({"prompt": "q", "response": "x", tag: good}, {"prompt": "r", "response": "y", tag: bad}))
    assert [row["thumb"] for row in found.rows] == ["up", "down"]


def test_reference_answer_beside_an_answer_is_a_warning() -> None:
    found = read(jsonl({"prompt": "q", "response": GOOD, "ground_truth": "blue"}))
    assert (found.plan.kind, found.finding("verdicts_ignored")["severity"]) == ("sft", "warning")


def test_ignored_column_that_no_record_has_is_a_warning() -> None:
    assert read(jsonl({"prompt": "q", "completion": "x"}), ignore=["scroe"]).found == {"ignored_missing": [1]}


def test_verdict_late_in_a_table_stops_the_import() -> None:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"prompt": f"q{at}", "response": "x", "judged": None if at < 300 else "bad", "id": at} for at in range(305)]
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), content)
    table = "prompt,response,judged\n" + "".join(f"{r['prompt']},x,{r['judged'] or ''}\n" for r in rows)
    for data, name in ((content.getvalue(), "x.parquet"), (table.encode(), "x.csv")):
        with pytest.raises(UnclearFormat, match="`judged` looks like a verdict"):
            read(data, name)
