"""UltraFeedback as it was published, with every completion and its ratings; and Argilla's pairs of it."""

from typing import Any

from core.datasets.formats import chat
from core.datasets.formats.base import PREFERENCES, Format, Reading, Row, Rows, Source, has
from core.datasets.formats.pairs import margin
from core.datasets.formats.ranking import ranked
from core.datasets.formats.values import field, listed, notes, number, text
from core.datasets.line_json import BadLine

_SCORES = ("fine-grained_score", "overall_score")
"""The mean of the four ratings first: some overall scores are off by a factor of ten, as Argilla found."""


def _original(record: Source, reading: Reading) -> Rows:
    completions = listed(record, "completions")
    answers: list[tuple[str, float]] = []
    for index, completion in enumerate(completions):
        pointer = f"/completions/{index}"
        if not isinstance(completion, dict) or "response" not in completion:
            raise BadLine("has no response", pointer=pointer, code="missing_field")
        answers.append((completion["response"], _score(completion, pointer, reading)))
    yield ranked(text(record, "instruction"), answers) | notes(record)


def _score(completion: dict[str, Any], pointer: str, reading: Reading) -> float:
    for name in _SCORES:
        if completion.get(name) is not None:
            return number(completion[name], f"{pointer[1:]}/{name}", reading)
    raise BadLine(f"has no score ({' or '.join(_SCORES)})", pointer=pointer, code="missing_field")


def _argilla(record: Source, reading: Reading) -> Rows:
    prompt = chat.told(record.get("system"), text(record, "instruction"))
    row: Row = {"prompt": prompt, "a": chat.answer(field(record, "chosen_response"), "/chosen_response")}
    row |= {"b": chat.answer(field(record, "rejected_response"), "/rejected_response"), "label": "a"}
    yield row | notes(record) | margin(record, reading, "chosen_avg_rating", "rejected_avg_rating")


def _is_original(record: Source) -> bool:
    first = record.get("completions")
    return has(record, "instruction", "completions") and (
        not isinstance(first, list) or not first or (isinstance(first[0], dict) and "response" in first[0])
    )


ORIGINAL = Format(
    id="ultrafeedback",
    title="UltraFeedback, original",
    about="An instruction with several completions and their ratings: a ranking by the mean rating.",
    source="https://huggingface.co/datasets/openbmb/UltraFeedback",
    kinds=(PREFERENCES,),
    example=(
        {
            "source": "evol_instruct",
            "instruction": "What colour is the sky?",
            "completions": [
                {"model": "one", "response": "Blue, by day.", "overall_score": 8.0, "fine-grained_score": 4.75},
                {"model": "two", "response": "Green.", "overall_score": 2.0, "fine-grained_score": 1.5},
            ],
        },
    ),
    fields=frozenset({"instruction", "completions", "source"}),
    fits=_is_original,
    rows=_original,
    names={"prompt": "instruction"},
    specific=80,
)
ARGILLA = Format(
    id="argilla_pairs",
    title="Argilla pairs",
    about="`instruction`, `chosen_response`, `rejected_response`, with average ratings whose difference is the margin.",
    source="https://huggingface.co/datasets/argilla/ultrafeedback-binarized-preferences",
    kinds=(PREFERENCES,),
    example=(
        {
            "source": "evol_instruct",
            "instruction": "What colour is the sky?",
            "chosen_response": "Blue, by day.",
            "rejected_response": "Green.",
            "chosen_avg_rating": 4.75,
            "rejected_avg_rating": 1.5,
        },
    ),
    fields=frozenset(
        {
            "system",
            "instruction",
            "chosen_response",
            "rejected_response",
            "chosen_avg_rating",
            "rejected_avg_rating",
            "source",
        }
    ),
    fits=lambda record: has(record, "instruction", "chosen_response", "rejected_response"),
    rows=_argilla,
    names={"prompt": "instruction", "a": "chosen_response", "b": "rejected_response"},
    specific=80,
)
