"""NVIDIA's HelpSteer: rated answers (1 and 2), and pairs with a signed preference of up to three people (2 and 3)."""

import re
from typing import Any

from data.errors import RowError
from data.formats import chat
from data.formats.base import PREFERENCES, Format, Rated, Reading, Row, Rows, Source, has
from data.formats.values import field, notes, number, text
from data.names import NOTED

_TURN = re.compile(r"\n?<extra_id_1>(Assistant|User)\n")


def prompt_of(prompt: str) -> str | list[chat.Message]:
    """The prompt as text, or as messages if it has earlier turns. HelpSteer 2 marks them with `<extra_id_1>Assistant` and `<extra_id_1>User`."""
    first, *rest = _TURN.split(prompt)
    if not rest:
        return prompt
    roles = ["user", *("assistant" if name == "Assistant" else "user" for name in rest[::2])]
    return [{"role": role, "content": content} for role, content in zip(roles, [first, *rest[1::2]], strict=True)]


def _rated(record: Source, reading: Reading) -> Rows:
    score = field(record, "helpfulness")
    if isinstance(score, list) and score:  # the ratings before they were merged
        score = sum(number(one, "helpfulness") for one in score) / len(score)
    prompt = prompt_of(text(record, "prompt"))
    yield Rated(prompt, text(record, "response"), number(score, "helpfulness", reading), notes(record))


def _second(record: Source, reading: Reading) -> Rows:
    votes = record.get("three_most_similar_preferences") or record.get("all_preferences_unprocessed")
    sides = text(record, "response_1"), text(record, "response_2")
    yield from _voted(
        record, votes, "strength", "preference_strength", prompt_of(text(record, "prompt")), sides, reading
    )


def _third(record: Source, reading: Reading) -> Rows:
    prompt = chat.prompt(record, "context")
    sides = text(record, "response1"), text(record, "response2")
    yield from _voted(
        record, record.get("individual_preference"), "score", "overall_preference", prompt, sides, reading
    )


def _voted(
    record: Source, people: Any, one: str, overall: str, prompt: Any, sides: tuple[str, str], reading: Reading
) -> Rows:
    """A row for each annotator who compared the pair, or one row with the overall preference if they are not listed."""
    row = {"prompt": prompt, "a": sides[0], "b": sides[1]}
    voices = people if isinstance(people, list) else []
    scores = [score for voice in voices if isinstance(voice, dict) and type(score := voice.get(one)) is int]
    if scores and len(scores) == len(voices):
        for index, score in enumerate(scores, 1):
            yield row | _preference(score) | notes(record, annotator=f"annotator{index}")
    else:
        yield row | _preference(number(field(record, overall), overall, reading)) | notes(record)


def _preference(score: float) -> Row:
    """Label and margin of a preference from -3 (the first is much better) to 3 (the second is). Raises RowError."""
    if abs(score) > 3:
        raise RowError(f"must be from -3 to 3; found {score:g}", pointer="/preference", code="bad_label")
    return {"label": "a" if score < 0 else "b" if score > 0 else "tie", "margin": abs(score)}


RATED = Format(
    id="helpsteer",
    title="HelpSteer 1 and 2, ratings",
    about="One answer a record; records with one prompt that follow each other become a ranking by helpfulness.",
    source="https://huggingface.co/datasets/nvidia/HelpSteer2",
    kinds=(PREFERENCES,),
    example=(
        {
            "prompt": "Which colour is the sky?",
            "response": "Blue, by day.",
            "helpfulness": 4,
            "correctness": 4,
            "coherence": 4,
            "complexity": 1,
            "verbosity": 1,
        },
        {
            "prompt": "Which colour is the sky?",
            "response": "Green.",
            "helpfulness": 0,
            "correctness": 0,
            "coherence": 4,
            "complexity": 0,
            "verbosity": 0,
        },
    ),
    fields=NOTED | {"prompt", "response", "helpfulness"},
    fits=lambda record: has(record, "prompt", "response", "helpfulness"),
    rows=_rated,
    names={"completion": "response"},
    grouped="consecutive",
    specific=80,
)
SECOND = Format(
    id="helpsteer2_preference",
    title="HelpSteer 2, preferences",
    about="Two answers and a preference from -3 to 3; each of the people who gave one becomes a row, its strength the margin.",
    source="https://huggingface.co/datasets/nvidia/HelpSteer2",
    kinds=(PREFERENCES,),
    example=(
        {
            "prompt": "Which colour is the sky?",
            "response_1": "Blue, by day.",
            "response_2": "Green.",
            "preference_strength": -2,
        },
    ),
    fields=NOTED
    | {
        "prompt",
        "response_1",
        "response_2",
        "preference_strength",
        "three_most_similar_preferences",
        "all_preferences_unprocessed",
    },
    fits=lambda record: has(record, "prompt", "response_1", "response_2", "preference_strength"),
    rows=_second,
    names={"a": "response_1", "b": "response_2"},
    specific=80,
    labelled=True,
)
THIRD = Format(
    id="helpsteer3",
    title="HelpSteer 3, preferences",
    about="A conversation, two answers and a preference from -3 to 3; each of the people who gave one becomes a row, its strength the margin.",
    source="https://huggingface.co/datasets/nvidia/HelpSteer3",
    kinds=(PREFERENCES,),
    example=(
        {
            "domain": "general",
            "context": [{"role": "user", "content": "Which colour is the sky?"}],
            "response1": "Green.",
            "response2": "Blue, by day.",
            "overall_preference": 3,
            "individual_preference": [
                {"score": 3, "reasoning": "The second is right."},
                {"score": 2, "reasoning": "So it is."},
            ],
        },
    ),
    fields=NOTED | {"context", "response1", "response2", "overall_preference", "individual_preference"},
    fits=lambda record: has(record, "context", "response1", "response2", "overall_preference"),
    rows=_third,
    names={"a": "response1", "b": "response2", "prompt": "context"},
    specific=80,
    labelled=True,
)
