"""Records as Argilla exports them: fields, and a question that several people answered."""

import re
from collections.abc import Iterator
from typing import Any

from core.datasets.formats import chat
from core.datasets.formats.base import PREFERENCES, Format, Reading, Row, Rows, Source
from core.datasets.formats.values import field, notes, text
from core.datasets.line_json import BadLine

_ANSWER = re.compile(r"(response|completion|generation|answer|output)[-_ ]?\d+")
_PROMPTS = ("prompt", "instruction", "question", "input", "context")
_USED = frozenset({"submitted"})


def _rows(record: Source, reading: Reading) -> Rows:
    names = [name for name in record if _ANSWER.fullmatch(name) and record[name] is not None]
    asked = next((name for name in _PROMPTS if record.get(name) is not None), _PROMPTS[0])
    value = field(record, asked)
    prompt: Any = value if isinstance(value, str) else chat.messages(value, f"/{asked}")
    said = list(_voices(record))
    for user, value in said or [(None, None)]:
        row = {"prompt": prompt} | _compared(record, names, value)
        yield row | notes(record, annotator=user)


def _compared(record: Source, names: list[str], value: Any) -> Row:
    """A pair where there are two answers, otherwise a ranking; without a value, one that waits to be compared."""
    texts = [text(record, name) for name in names]
    ranks = None if value is None else _ranks(value, names)
    if len(texts) != 2:
        return {"completions": texts, "ranks": ranks}
    first, second = ranks or (0, 0)
    label = None if ranks is None else "a" if first < second else "b" if second < first else "tie"
    return {"a": texts[0], "b": texts[1], "label": label}


def _ranks(value: Any, names: list[str]) -> list[int]:
    """Of each answer: a ranking in any of its spellings, or the one that was chosen."""
    if isinstance(value, dict) and isinstance(value.get("value"), list):
        value = [{"value": one, "rank": rank} for one, rank in zip(value["value"], value.get("rank", []), strict=False)]
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        places = {_plain(one.get("value")): one.get("rank") for one in value}
    elif isinstance(value, list):
        places = {_plain(one): rank for rank, one in enumerate(value, 1)}
    else:
        return _choice(value, names)
    ranks = [places.get(_plain(name)) for name in names]
    if not all(type(rank) is int for rank in ranks):
        raise BadLine(f"the ranking does not name every answer ({', '.join(names)})", code="bad_label")
    return [rank for rank in ranks if rank is not None]


def _choice(value: Any, names: list[str]) -> list[int]:
    said = _plain(value)
    if said in ("tie", "both", "none", "equal"):
        return [1] * len(names)
    chosen = [index for index, name in enumerate(names) if said in (_plain(name), re.sub(r"\D", "", name))]
    if len(chosen) != 1:
        raise BadLine(f"the answer {str(value)[:40]!r} names none of {', '.join(names)}", code="bad_label")
    return [1 if index == chosen[0] else 2 for index in range(len(names))]


def _plain(value: Any) -> str:
    return re.sub(r"[-_ ]", "", str(value)).lower()


def _voices(record: Source) -> Iterator[tuple[str | None, Any]]:
    """Who said what, of the first question that has answers; drafts and what was discarded do not count."""
    for name, value in record.items():
        if _is_question(value):
            for voice in value:
                if voice.get("status", "submitted") in _USED and voice["value"] is not None:
                    yield _name(voice.get("user_id")), voice["value"]
            return
        if name.endswith(".responses") and isinstance(value, list):
            users, states = record.get(f"{name}.users") or [], record.get(f"{name}.status") or []
            for index, said in enumerate(value):
                state = states[index] if index < len(states) else "submitted"
                if state in _USED and said is not None:
                    yield _name(users[index] if index < len(users) else None), said
            return


def _name(user: Any) -> str | None:
    return None if user is None else str(user)


def _is_question(value: Any) -> bool:
    """Argilla 1 writes a question as the list of its answers."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(voice, dict) and "user_id" in voice and "value" in voice for voice in value)
    )


def _fits(record: Source) -> bool:
    answers = sum(1 for name in record if _ANSWER.fullmatch(name))
    asked = any(_is_question(value) or name.endswith(".responses") for name, value in record.items())
    return answers >= 2 and asked and any(record.get(name) is not None for name in _PROMPTS)


FORMAT = Format(
    id="argilla_records",
    title="Argilla, records with answers",
    about="A prompt, two or more numbered responses, and what each annotator said: a choice or a ranking. Each annotator becomes a row.",
    source="https://docs.argilla.io/latest/how_to_guides/import_export/",
    kinds=(PREFERENCES,),
    example=(
        {
            "prompt": "What colour is the sky?",
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
    fields=frozenset(),  # a question may have any name
    fits=_fits,
    rows=_rows,
    specific=80,
)
