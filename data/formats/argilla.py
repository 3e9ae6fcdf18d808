"""Records as Argilla exports them: fields, and a question that several people answered."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from data.errors import RowError
from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Row, Rows, Source, says_which
from data.formats.values import notes, text
from data.formats.values import ranks as ranks_of
from data.names import NOTED

_ANSWER = re.compile(r"(?:response|completion|generations?|answer|output)(?:[-_ ]?(\d+)|[-_ ]([a-hA-H]))")
_PROMPTS = (
    "prompt", "instruction", "question", "input", "context", "chat", "messages", "conversation", "conversations",
)  # fmt: skip
_RATING = re.compile(r"(?:rating|score|quality)(\d+|[a-h])$")
"""Names of questions that refer to an answer by its number alone."""
_TIES = ("tie", "both", "none", "equal")
_UNSAID = "submitted"
"""The default state. Drafts and discarded answers do not count."""
Voice = tuple[str | None, Any]
"""The annotator, and the value of the answer."""
Verdict = tuple[str | None, list[int]]
"""The annotator, and the rank of each answer."""


def _rows(record: Source, reading: Reading) -> Rows:
    record = _flat(record)
    names, questions = _names(record), _questions(record)
    asked = next((name for name in _PROMPTS if record.get(name) is not None), _PROMPTS[0])
    prompt = chat.prompt(record, asked)
    verdicts = _verdicts(questions, names)
    if not verdicts:
        reading.note("unlabelled", "no answer is marked as better: the row waits for annotation")
    elif len(questions) > 1:
        _note_contradictions(_telling(_comparing(questions, names)), reading)
    unnamed: Iterable[tuple[None, None]] = [(None, None)]
    for user, ranks in verdicts or unnamed:
        yield {"prompt": prompt} | _compared(record, names, ranks) | notes(record, annotator=user)


def _names(record: Source) -> list[str]:
    return [name for name in record if _ANSWER.fullmatch(name) and record[name] is not None]


def _note_contradictions(telling: dict[str, list[Verdict]], reading: Reading) -> None:
    """Note that another question prefers a different answer than the first question, which is used."""
    used, *others = telling or [""]
    for question in others:
        if any(who == user and ranks != first for user, first in telling[used] for who, ranks in telling[question]):
            reading.note("questions_disagree", f"`{question}` prefers another answer than `{used}`, which was used")


def _compared(record: Source, names: list[str], ranks: list[int] | None) -> Row:
    """A pair for two answers, otherwise a ranking. Without ranks, the row waits for annotation."""
    texts = [text(record, name) for name in names]
    if len(texts) != 2:
        return {"completions": texts, "ranks": ranks}
    first, second = ranks or (0, 0)
    label = None if ranks is None else "a" if first < second else "b" if second < first else "tie"
    return {"a": texts[0], "b": texts[1], "label": label}


def _verdicts(questions: dict[str, list[Voice]], names: list[str]) -> list[Verdict]:
    """Each annotator's ranks, from the first question that compares the answers, or from their ratings of each answer.

    Empty if a question has no answer yet. Raises RowError if all questions are answered and none compares.
    """
    compared = _comparing(questions, names)
    telling = _telling(compared)
    found = next(iter(telling.values()), None) or _by_ratings(questions, names) or next(iter(compared.values()), [])
    if found or not questions or not all(questions.values()):
        return found
    value = next(iter(questions.values()))[0][1]
    detail = f"no answer to a question, such as {str(value)[:40]!r}, states which of {', '.join(names)} is better"
    raise RowError(detail, code="bad_label")


def _comparing(questions: dict[str, list[Voice]], names: list[str]) -> dict[str, list[Verdict]]:
    """Each annotator's ranks, for the questions whose answers all compare."""
    ranked = {
        name: [(user, _ranks(value, names, name)) for user, value in voices] for name, voices in questions.items()
    }
    found = {name: [(user, ranks) for user, ranks in answers if ranks] for name, answers in ranked.items()}
    return {name: answers for name, answers in found.items() if answers and len(answers) == len(ranked[name])}


def _telling(compared: dict[str, list[Verdict]]) -> dict[str, list[Verdict]]:
    """Questions in which some annotator prefers one side. "none" or "both" may also be a comment."""
    return {name: answers for name, answers in compared.items() if any(len(set(ranks)) > 1 for _, ranks in answers)}


def _ranks(value: Any, names: list[str], question: str) -> list[int] | None:
    """The rank of each answer, from a ranking in any of its forms or from a choice. None for a value about something else.

    A number is a rating, never the number of an answer. A list of names is a ranking only in a question with "rank"
    in its name; elsewhere it may be a choice of several.
    """
    if isinstance(value, dict) and isinstance(value.get("value"), list):
        value = [
            {"value": one, "rank": rank} for one, rank in zip(value["value"], value.get("rank") or [], strict=False)
        ]
    if isinstance(value, str):
        return _choice(value, names)
    if not isinstance(value, list):
        return None
    if all(isinstance(one, dict) for one in value):
        places = {_plain(one.get("value")): one.get("rank") for one in value}
    elif "rank" in question.lower():
        places = {_plain(one): rank for rank, one in enumerate(value, 1)}
    else:
        return None
    ranks = [rank for name in names if type(rank := places.get(_plain(name))) is int]
    return ranks if len(ranks) == len(names) else None


def _choice(value: str, names: list[str]) -> list[int] | None:
    plain = _plain(value)
    if plain in _TIES:
        return [1] * len(names)
    letters = dict(zip(sorted(names, key=lambda name: (len(name), name)), "abcdefgh", strict=False))
    chosen = [at for at, name in enumerate(names) if plain in (_plain(name), _mark(name), letters.get(name))]
    return [1 if index == chosen[0] else 2 for index in range(len(names))] if len(chosen) == 1 else None


def _mark(name: str) -> str:
    """The number or the letter of an answer."""
    match = _ANSWER.fullmatch(name)
    return (match[1] or match[2]).lower() if match else ""


def _by_ratings(questions: dict[str, list[Voice]], names: list[str]) -> list[Verdict]:
    """Ranks from annotators who rated each answer in a question of its own, such as `response1_rating`."""
    ratings = [_ratings_of(name, questions) for name in names]
    people = [user for user in ratings[0] if all(user in rated for rated in ratings)] if ratings else []
    return [(user, ranks_of([rated[user] for rated in ratings])) for user in people]


def _ratings_of(name: str, questions: dict[str, list[Voice]]) -> dict[str | None, float]:
    about = re.compile(rf"{re.escape(_plain(name))}(?!\d)")
    for question, voices in questions.items():
        numbered = _RATING.search(_plain(question))
        named = about.search(_plain(question)) or (numbered and numbered[1] == _mark(name))
        if named and voices and all(type(rating) in (int, float) for _, rating in voices):
            return dict(voices)
    return {}


def _plain(value: Any) -> str:
    return re.sub(r"[-_ ]", "", str(value)).lower()


def _flat(record: Source) -> Source:
    """The record with fields and questions on one level. `records.to_json` and the server nest them."""
    fields, responses = record.get("fields"), record.get("responses")
    if not isinstance(fields, dict):
        return record
    if isinstance(responses, list):  # by person, each with their answer to every question
        return fields | _by_question([voice for voice in responses if isinstance(voice, dict)])
    return fields | {
        name: voices
        for name, voices in (responses if isinstance(responses, dict) else {}).items()
        if name not in fields
    }


def _by_question(people: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    fields: dict[str, list[dict[str, Any]]] = {}
    for person in people:
        values = person.get("values")
        for name, answer in values.items() if isinstance(values, dict) else ():
            value = answer.get("value") if isinstance(answer, dict) else answer
            voice = {"user_id": person.get("user_id"), "value": value, "status": person.get("status", _UNSAID)}
            fields.setdefault(name, []).append(voice)
    return fields


def _questions(record: Source) -> dict[str, list[Voice]]:
    """Submitted answers by question; empty for questions without an answer."""
    questions: dict[str, list[Voice]] = {}
    for name, value in record.items():
        if (voices := _voices(record, name, value)) is not None:
            questions[name.removesuffix(".responses")] = [
                (None if user is None else str(user), answer)
                for user, answer, state in voices
                if state == _UNSAID and answer is not None
            ]
    return questions


def _voices(record: Source, name: str, value: Any) -> list[tuple[Any, Any, str]] | None:
    """Annotator, value and state of each answer. None if the column is not a question."""
    if name.endswith(".responses"):
        return list(_columns(value or [], record.get(f"{name}.users"), record.get(f"{name}.status")))
    if isinstance(value, dict) and value.keys() >= {"user_id", "value"}:  # as Parquet has it
        return list(_columns(value["value"], value["user_id"], value.get("status")))
    if not isinstance(value, list) or not all(
        isinstance(one, dict) and one.keys() >= {"user_id", "value"} for one in value
    ):
        return None
    return [(one["user_id"], one["value"], one.get("status", _UNSAID)) for one in value]


def _columns(answers: Any, users: Any, states: Any) -> Iterator[tuple[Any, Any, str]]:
    """The items of parallel lists. Only the list of values is required."""
    for index, value in enumerate(answers if isinstance(answers, list) else []):
        user, state = (
            column[index] if isinstance(column, list) and index < len(column) else None for column in (users, states)
        )
        yield user, value, state or _UNSAID


def _fits(record: Source) -> float:
    """0.5 where the answers to the questions do not compare the texts."""
    flat = _flat(record)
    names, questions = _names(flat), _questions(flat)
    if len(names) < 2 or all(flat.get(name) is None for name in _PROMPTS):
        return 0
    if not any(questions.values()):
        return _waits(record, flat, questions)
    try:
        _verdicts(questions, names)
    except RowError:
        return 0.5
    return 1


def _waits(record: Source, flat: Source, questions: dict[str, list[Voice]]) -> float:
    """1 for a record with a question that has no answer yet, and 0.5 if another field is named like a label.

    Any list may be empty. It is a question if its name or a suggestion indicates one.
    """
    asked = flat is not record or any(
        flat.get(name) != [] or f"{name}-suggestion" in flat or says_which({name: None}, ()) for name in questions
    )
    own = tuple(f"{name}{end}" for name in questions for end in ("-suggestion", ".suggestion", ".responses"))
    known = [name for name in flat if name in questions or name.startswith(own)]
    return 0 if not asked else 0.5 if says_which(flat, known) else 1


FORMAT = Format(
    id="argilla_records",
    title="Argilla, records with answers",
    about="A prompt, two or more numbered responses, and the answer of each annotator: a choice, a ranking, or a rating of each. Each annotator becomes a row.",
    source="https://docs.argilla.io/latest/how_to_guides/import_export/",
    kinds=(PREFERENCES,),
    example=(
        {
            "prompt": "Which colour is the sky?",
            "response1": "Blue, by day.",
            "response2": "Green.",
            "preference": [
                {
                    "user_id": "kim",
                    "value": {"rank": [1, 2], "value": ["response1", "response2"]},
                    "status": "submitted",
                },
                {
                    "user_id": "lee",
                    "value": {"rank": [1, 1], "value": ["response1", "response2"]},
                    "status": "submitted",
                },
            ],
        },
    ),
    fields=NOTED.union(_PROMPTS),
    pattern=re.compile(r"(?s).*"),  # a question may have any name
    fits=_fits,
    rows=_rows,
    specific=80,
)
