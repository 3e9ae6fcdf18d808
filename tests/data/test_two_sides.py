"""Formats of two whole texts or conversations: the end of the prompt, and pairs without a common prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import RowError
from data.formats.pairs import common_prompt
from tests.data.reading import Row, jsonl, read, rows_of, talk


@pytest.mark.parametrize(
    ("chosen", "rejected", "prompt", "a", "b"),
    [
        ("The sky is blue.", "The sky is green.", "The sky is", " blue.", " green."),
        ("The sky is black.", "The sky is blue.", "The sky is", " black.", " blue."),
        ("Is it so? Yes.", "Is it so? Yes, it is.", "Is it so?", " Yes.", " Yes, it is."),
        ("Is it so?\nYes.", "Is it so?\nNo.", "Is it so?\n", "Yes.", "No."),
        ("Q: why?\n\nAssistant: I think so", "Q: why?\n\nAssistant: I think not", "Q: why?\n\nAssistant:", " I think so", " I think not"),
        ("### Response:\nSure, a", "### Response:\nSure, b", "### Response:\n", "Sure, a", "Sure, b"),
        ("天空是什么颜色？蓝色", "天空是什么颜色？绿色", "天空是什么颜色？", "蓝色", "绿色"),
        ("one two three four", "one two three", "one two", " three four", " three"),
    ],
)  # fmt: skip
def test_shared_beginning_of_both_sides_is_the_prompt(chosen: str, rejected: str, prompt: str, a: str, b: str) -> None:
    assert common_prompt(chosen, rejected) == (prompt, a, b)


@pytest.mark.parametrize(
    ("chosen", "rejected", "code"),
    [
        ("Blue.", "Green.", "prompt_differs"),
        ("The cat sat.", "The weather is fine.", "prompt_differs"),
        ("same words here", "same words here", "identical_answers"),
        ("", "x", "prompt_differs"),
    ],
)
def test_without_a_common_beginning_there_is_no_prompt(chosen: str, rejected: str, code: str) -> None:
    with pytest.raises(RowError) as bad:
        common_prompt(chosen, rejected)
    assert bad.value.code == code


WORDS = st.text(st.sampled_from("ab .\nÄ天:"), max_size=30)


@given(WORDS, WORDS, WORDS)
def test_prompt_and_answers_are_the_texts_again(start: str, a: str, b: str) -> None:
    try:
        prompt, first, second = common_prompt(start + a, start + b)
    except RowError:
        return
    assert (prompt + first, prompt + second) == (start + a, start + b)
    assert prompt.strip()


def hh(*turns: str) -> str:
    return "".join(f"\n\n{('Human', 'Assistant')[at % 2]}: {said}" for at, said in enumerate(turns))


def test_hh_rlhf_dialogue_becomes_messages_and_last_answer() -> None:
    record = {"chosen": hh("hi", "hello", "why?", "Because."), "rejected": hh("hi", "hello", "why?", "So.")}
    assert rows_of(record) == [{"prompt": talk("hi", "hello", "why?"), "a": "Because.", "b": "So.", "label": "a"}]


def test_hh_rlhf_text_with_human_inside_is_no_turn() -> None:
    asked = 'What does "Human: hi" mean?\nHuman: is a word.\n\nHumanity too.'
    record = {"chosen": hh(asked, "It begins a turn: Assistant: hello"), "rejected": hh(asked, "Nothing.")}
    assert rows_of(record) == [
        {"prompt": talk(asked), "a": "It begins a turn: Assistant: hello", "b": "Nothing.", "label": "a"}
    ]


def test_hh_rlhf_marked_paragraphs_of_one_speaker_are_one_turn() -> None:
    record = {
        "chosen": hh("hi") + "\n\nHuman: there" + "\n\nAssistant: a",
        "rejected": hh("hi") + "\n\nHuman: there\n\nAssistant: b",
    }
    assert rows_of(record)[0]["prompt"] == talk("hi\n\nthere")


def test_full_hh_rlhf_answers_have_a_separate_prompt() -> None:
    record = {"prompt": hh("hi", "hello", "why?") + "\n\nAssistant:", "chosen": " Because.", "rejected": " So."}
    found = read(jsonl(record))
    assert (found.plan.format, found.rows) == (
        "hh_rlhf",
        [{"prompt": talk("hi", "hello", "why?"), "a": "Because.", "b": "So.", "label": "a"}],
    )


def test_hh_rlhf_real_defects_are_reported_with_lines() -> None:
    good = {"chosen": hh("q", "a"), "rejected": hh("q", "b")}
    found = read(
        jsonl(
            *[good] * 40,
            {"chosen": hh("q", "a"), "rejected": hh("other", "b")},
            {"chosen": hh("q", "a", "so", "b"), "rejected": hh("q", "c")},
            {"chosen": hh("q", ""), "rejected": hh("q", "b")},
            {"chosen": hh("q", "a", "then"), "rejected": hh("q", "b", "then")},
            {"chosen": hh("q", "same"), "rejected": hh("q", "same")},
            {"chosen": "What?" + hh("q", "a"), "rejected": hh("q", "b")},
            good,
        )
    )
    assert found.plan.format == "hh_rlhf" and found.lines == [*range(1, 41), 47]
    assert found.found == {
        "prompt_differs": [41, 42],
        "empty_text": [43],
        "several_turns": [44],
        "identical_answers": [45],
        "bad_conversation": [46],
    }
    assert "differ from their message 1 on" in found.finding("prompt_differs")["detail"]


def conversation(prompt: Row | None = None, **sides: str) -> Row:
    return {side: [*talk("q"), {"role": "assistant", "content": said}] for side, said in sides.items()} | (prompt or {})


@pytest.mark.parametrize("prompt", [{}, {"prompt": "q"}, {"prompt": talk("q")}])
def test_whole_conversations_may_have_their_prompt_beside_them(prompt: Row) -> None:
    scores = {"score_chosen": 8.0, "score_rejected": 7.5}
    (row,) = rows_of(conversation(prompt, chosen="a", rejected="b") | scores)
    assert row == {"prompt": talk("q"), "a": "a", "b": "b", "label": "a", "margin": 0.5}


def test_sides_that_continue_the_prompt_are_joined_to_it() -> None:
    record = {"prompt": talk("q", "a"), "chosen": talk("why?", "x"), "rejected": talk("why?", "y")}
    assert rows_of(record) == [{"prompt": talk("q", "a", "why?"), "a": "x", "b": "y", "label": "a"}]


def test_chosen_with_lower_score_is_kept_without_margin() -> None:
    found = read(jsonl(conversation(chosen="a", rejected="b") | {"score_chosen": 3, "score_rejected": 9}))
    assert found.rows == [{"prompt": talk("q"), "a": "a", "b": "b", "label": "a"}]
    assert found.found == {"scores_disagree": [1]}
    assert found.finding("scores_disagree")["severity"] == "warning"


def test_conversations_that_differ_before_the_end_are_refused() -> None:
    found = read(
        jsonl(
            conversation(chosen="a", rejected="b"),
            {"chosen": talk("q", "a", "and?", "x"), "rejected": talk("q", "b", "and?", "y")},
            {"chosen": talk("q", "a", "and?", "x"), "rejected": talk("q", "a")},
        )
    )
    assert found.found == {"prompt_differs": [2, 3]}
    assert "differ from their message 2 on" in found.finding("prompt_differs")["detail"]


def test_both_answers_that_repeat_the_prompt_are_named() -> None:
    prompt = "Tell me what the sky looks like."
    found = read(jsonl({"prompt": prompt, "chosen": f"{prompt} Blue.", "rejected": f"{prompt} Green."}))
    assert found.found == {"prompt_repeated": [1]}
    assert found.rows[0]["a"] == f"{prompt} Blue."


SCORES = {"score_chosen": 8, "score_rejected": 6}


def test_a_prompt_that_neither_conversation_holds_is_named() -> None:
    found = read(jsonl(conversation({"prompt": "Give me a recipe for a cake."}, chosen="a", rejected="b") | SCORES))
    assert found.rows == [{"prompt": talk("q"), "a": "a", "b": "b", "label": "a", "margin": 2}]
    assert found.found == {"prompt_unlike": [1]}
    assert found.finding("prompt_unlike")["severity"] == "warning"


@pytest.mark.parametrize("prompt", ["first", "last", " last\n", "User: first\nAssistant: a\nUser: last\nAssistant:"])
def test_a_prompt_that_is_a_part_of_the_conversations_is_theirs(prompt: str) -> None:
    sides = {"chosen": talk("first", "a", "last", "x"), "rejected": talk("first", "a", "last", "y")}
    found = read(jsonl({"prompt": prompt} | sides | SCORES))
    assert (found.rows[0]["prompt"], found.found) == (talk("first", "a", "last"), {})


def test_another_prompt_is_not_put_before_the_conversations() -> None:
    good = conversation({"prompt": talk("q")}, chosen="a", rejected="b")
    found = read(jsonl(good, conversation({"prompt": talk("Give me a recipe.")}, chosen="a", rejected="b")))
    assert (found.lines, found.found) == ([1], {"prompt_differs": [2]})


def test_prompt_of_system_and_last_turn_joins_the_conversation() -> None:
    sides = {"chosen": talk("first", "a", "last", "x"), "rejected": talk("first", "a", "last", "y")}
    (row,) = rows_of({"prompt": talk("last", system="Be brief.")} | sides)
    assert row["prompt"] == talk("first", "a", "last", system="Be brief.")


def test_empty_system_messages_before_the_answers_are_no_prompt() -> None:
    sides = {name: [{"role": "system", "content": " "}, *talk("", name)[1:]] for name in ("chosen", "rejected")}
    assert rows_of({"prompt": "q"} | sides) == [{"prompt": "q", "a": "chosen", "b": "rejected", "label": "a"}]


def said(*turns: str) -> str:
    """A dialogue of paragraphs that begin with H or A."""
    return "".join(f"\n\n{'Human' if turn[0] == 'H' else 'Assistant'}: {turn[1:]}" for turn in turns)


@pytest.mark.parametrize(
    ("chosen", "rejected"),
    [
        (said("Hq", "Ax", "Ay"), said("Hq", "Az", "Ay")),
        (said("Hq", "Ax", "Ay"), said("Hq", "Aw", "Az")),
        (said("Hq", "Ax", "Ay"), said("Hq", "Az")),
        (said("Hq", "Ax", "Hr", "Ay", "Az"), said("Hq", "Ax", "Hr", "Av", "Aw")),
    ],
)
def test_hh_rlhf_differing_assistant_paragraphs_are_refused(chosen: str, rejected: str) -> None:
    good = {"chosen": said("Hq", "Ax"), "rejected": said("Hq", "Ay")}
    found = read(jsonl(good, {"chosen": chosen, "rejected": rejected}))
    assert (found.plan.format, found.lines, found.found) == ("hh_rlhf", [1], {"prompt_differs": [2]})


@pytest.mark.parametrize(
    ("chosen", "rejected", "prompt", "a", "b"),
    [
        (said("Hq", "Ax", "Ay"), said("Hq", "Ax", "Az"), talk("q"), "x\n\ny", "x\n\nz"),
        (said("Hq", "Hr", "Ay"), said("Hq", "Hr", "Az"), talk("q\n\nr"), "y", "z"),
        (said("Hq", "A", "Ay"), said("Hq", "Az"), talk("q"), "y", "z"),
    ],
)
def test_paragraphs_that_both_share_are_joined(chosen: str, rejected: str, prompt: list[Row], a: str, b: str) -> None:
    (row,) = read(jsonl({"chosen": chosen, "rejected": rejected})).rows
    assert row == {"prompt": prompt, "a": a, "b": b, "label": "a"}


@pytest.mark.parametrize("sign", ["### Response:\n", "<|im_start|>assistant\n", "[/INST]"])
def test_texts_that_part_before_their_last_turn_share_no_prompt(sign: str) -> None:
    asked = f"Ask me.\n{sign}"
    good = {"chosen": f"{asked}blue", "rejected": f"{asked}green"}
    early = {"chosen": f"{asked}blue\nWhy?\n{sign}So.", "rejected": f"{asked}green\nWhy?\n{sign}So."}
    found = read(jsonl(good, early))
    assert (found.plan.format, found.lines, found.found) == ("trl_implicit", [1], {"prompt_differs": [2]})
