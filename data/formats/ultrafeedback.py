"""UltraFeedback as it was published, with every completion and its ratings."""

from typing import Any

from data.errors import RowError
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from data.formats.values import listed, notes, number, ranked, text
from data.names import NOTED, ULTRAFEEDBACK_SCORES


def _original(record: Source, reading: Reading) -> Rows:
    completions = listed(record, "completions")
    for index, completion in enumerate(completions):
        if not isinstance(completion, dict) or "response" not in completion:
            raise RowError("has no response", pointer=f"/completions/{index}", code="missing_field")
    answers = [completion["response"] for completion in completions]
    scores = _scores(completions, reading)
    yield ranked(text(record, "instruction"), list(zip(answers, scores, strict=True)), reading) | notes(record)


def _scores(completions: list[dict[str, Any]], reading: Reading) -> list[float]:
    """Scores by one measure that all completions have, because different measures have different scales. Raises RowError."""
    for name in ULTRAFEEDBACK_SCORES:
        if all(completion.get(name) is not None for completion in completions):
            values = enumerate(completion[name] for completion in completions)
            return [number(value, f"completions/{index}/{name}", reading) for index, value in values]
    ratings = [_ratings(completion) for completion in completions]
    shared = [aspect for aspect in ratings[0] if all(aspect in one for one in ratings)] if ratings else []
    if not shared:
        detail = f"have no score that each has ({' or '.join(ULTRAFEEDBACK_SCORES)}, or a rating)"
        raise RowError(detail, pointer="/completions", code="missing_field")
    return [sum(one[aspect] for aspect in shared) / len(shared) for one in ratings]


def _ratings(completion: dict[str, Any]) -> dict[str, float]:
    """The ratings of helpfulness, honesty and other aspects. Ratings are numbers as text; N/A is left out."""
    annotations = completion.get("annotations")
    aspects = annotations.items() if isinstance(annotations, dict) else ()
    ratings = {aspect: one.get("Rating") for aspect, one in aspects if isinstance(one, dict)}
    return {aspect: float(rated) for aspect, rating in ratings.items() if (rated := str(rating)).isdecimal()}


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
            "instruction": "Which colour is the sky?",
            "completions": [
                {"model": "one", "response": "Blue, by day.", "overall_score": 8.0, "fine-grained_score": 4.75},
                {"model": "two", "response": "Green.", "overall_score": 2.0, "fine-grained_score": 1.5},
            ],
        },
    ),
    fields=NOTED | {"instruction", "completions"},
    fits=_is_original,
    rows=_original,
    names={"prompt": "instruction"},
    specific=80,
)
