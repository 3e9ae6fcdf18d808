"""Rankings out of scores and ranks."""

from collections.abc import Sequence
from typing import Any

from data.errors import RowError
from data.formats.base import Reading, Row

TWICE = "An answer was given to this prompt before, with the same rating: it counts once"


def ranked(prompt: Any, answers: Sequence[tuple[Any, float]], reading: Reading) -> Row:
    """A ranking row by scores, of which more is better: equal scores are ties, the best has rank 1.

    One answer given twice with one score is one answer, which is noted. RowError if its scores differ, or if fewer than two are left.
    """
    best: dict[str, float] = {}
    for index, (answer, score) in enumerate(answers):
        if not isinstance(answer, str):
            code = "empty_text" if answer is None else "wrong_type"
            raise RowError("must be text", pointer=f"/completions/{index}", code=code)
        if best.setdefault(answer, score) != score:
            detail = f"one answer has the scores {best[answer]:g} and {score:g}"
            raise RowError(detail, code="contradictory_ratings")
    if len(best) < 2:
        raise RowError("there is only one answer to the prompt", code="single_answer")
    if len(best) < len(answers):
        reading.note("rated_twice", TWICE)
    return {"prompt": prompt, "completions": list(best), "ranks": ranks(list(best.values()))}


def ranks(scores: Sequence[float]) -> list[int]:
    """1 for the highest score, 2 for the next lower one, and so on."""
    order = sorted(set(scores), reverse=True)
    return [order.index(score) + 1 for score in scores]
