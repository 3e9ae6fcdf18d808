"""The probable meaning of a column, by its name and its values. A column that no format reads is judged by it."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from data import verdicts
from data.names import (
    ANSWER_NAMES,
    COUNTED_VERDICTS,
    COUNTS,
    DEFECT_NAMES,
    DESCRIPTIONS,
    INPUTS,
    LABEL_NAMES,
    METADATA_WORDS,
    PLACES,
    PROMPT_TEXTS,
    RANKING_NAMES,
    REFERENCES,
    ROLE_NAMES,
    ROLE_VALUES,
    SHARES,
    SYSTEM_NAMES,
    TREE_NAMES,
    TURN_NAMES,
    VERDICT_NAMES,
    VERDICT_STEMS,
)


class Meaning(StrEnum):
    """A content of a column that changes the meaning of its record."""

    VERDICT = "verdict"
    """Whether, or how much, an answer is good."""
    RANKING = "ranking"
    """The order of several answers."""
    ANSWER = "answer"
    """A further answer."""
    REFERENCE = "reference"
    """An answer to compare with."""
    PROMPT = "prompt"
    """A part of the prompt."""
    SYSTEM = "system"
    """A system message."""
    ROLE = "role"
    """The speaker: each record is one message."""
    TREE = "tree"
    """The message before it: the records are a tree."""
    TURN = "turn"
    """The number of a turn: the records are a conversation."""
    MEDIA = "media"
    """An image, sound or video."""
    TEXT = "text"
    """A long text of unknown meaning."""


_LABEL = 40
"""Most characters of a value that is a mark and no text."""
_LONG = 60
"""Least average length of a long text, in characters."""
_MEDIA = re.compile(r"\S+\.(jpe?g|png|webp|gif|bmp|tiff?|wav|mp3|flac|ogg|m4a|mp4|webm|mov|avi)", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_GENERIC = frozenset({"value", "type", "content", "text", "result", "data", "kind", "values"})
"""Names inside an object that say less than the object's name."""
_MODELS = frozenset({"model", "models"})
"""Words of columns that hold the name of a model, or what it wrote."""
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def is_filled(value: Any) -> bool:
    """Whether the value has content."""
    return value not in _EMPTY and not (isinstance(value, str) and (value.isspace() or value in ("[]", "{}", "null")))


@lru_cache(maxsize=10_000)
def words(name: str) -> tuple[str, ...]:
    """The words of a column's name in lower case: `userFeedback` and `user-feedback` are `user` and `feedback`."""
    return tuple(_WORD.findall(_CAMEL.sub("_", name[:200]).lower()))


def meaning(path: str, values: Sequence[Any], *, sides: bool = False) -> Meaning | None:
    """The meaning of the column at `path` (names with dots between) with these filled values; None for metadata and unknown.

    `values` are of different records. `sides`: the records have two answers, which a value such as `a` may name.
    """
    if not values:
        return None
    name = _telling(path)
    named = words(name)
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    if _is_system(named, values) or _is_system(words(path.partition(".")[0]), values):
        return Meaning.SYSTEM
    if _is_role(named, flat):
        return Meaning.ROLE
    if (place := _place(name, named, values)) is not None:
        return place
    if _holds_media(flat):
        return Meaning.MEDIA
    if (rated := _rated(path, name, flat, sides=sides)) is not None:
        return rated
    if _has_texts(flat):
        return _of_text(path, name, named, flat, sides=sides)
    if sides and _names_place(named, flat):
        return Meaning.RANKING
    if names_metadata(name) or _in_metadata(path):
        return None
    return Meaning.VERDICT if _judge(flat, sides=sides) else None


def _rated(path: str, name: str, values: Sequence[Any], *, sides: bool) -> Meaning | None:
    """The meaning of a column whose name or words rate an answer; None for another column."""
    named = words(name)
    if _says_verdict(named, values, sides=sides):
        return Meaning.VERDICT
    rates = names_verdict(name) and (not _in_metadata(path) or not VERDICT_NAMES.isdisjoint(named))
    if not rates or not _marks(values, known=bool(VERDICT_NAMES.intersection(named)) or _has_stem(name), sides=sides):
        return None
    ranks = RANKING_NAMES.intersection(named) or name.lower() in RANKING_NAMES
    return Meaning.RANKING if ranks else Meaning.VERDICT


def _telling(path: str) -> str:
    """The part of the path that names the content: of `feedback.value` the first."""
    *parents, name = path.split(".")
    return parents[-1] if parents and name.lower() in _GENERIC and parents[-1] != "*" else name


def _in_metadata(path: str) -> bool:
    return "." in path and names_metadata(path.partition(".")[0])


def names_metadata(name: str) -> bool:
    """Whether a column of this name describes the record, and does not judge it: `response_model`, `num_turns`, `is_english`."""
    named = [word for word in words(name) if not word.isdigit() and len(word) > 1] or list(words(name))
    if not named or named[-1] in COUNTS:
        return bool(named) and COUNTED_VERDICTS.isdisjoint(named)
    if named[-1] in SHARES and not VERDICT_NAMES.isdisjoint(named):
        return False
    return named[-1] in METADATA_WORDS or (named[0] in COUNTS and COUNTED_VERDICTS.isdisjoint(named))


def never_rates(name: str) -> bool:
    """Whether a column of this name is metadata, whatever its values: `language`, but not `feedback_type`."""
    return names_metadata(name) and VERDICT_NAMES.isdisjoint(words(name))


def names_verdict(name: str) -> bool:
    """Whether a column of this name usually rates an answer."""
    if names_metadata(name):
        return False
    named = set(words(name))
    return not named.isdisjoint(VERDICT_NAMES) or not named.isdisjoint(LABEL_NAMES) or _has_stem(name)


def names_bad(name: str) -> bool:
    """Whether a column of this name marks a bad answer: `toxic`, `is_wrong`, `thumbs_down`."""
    return not DEFECT_NAMES.isdisjoint(words(name)) and not {"not", "non", "no"}.intersection(words(name))


def _has_stem(name: str) -> bool:
    plain = re.sub(r"[\W_]", "", name.lower())
    return any(stem in plain for stem in VERDICT_STEMS)


def names_answer(name: str) -> bool:
    """Whether a column of this name usually holds an answer: `model_response` and `answer_2`, not `response_model`."""
    return not names_metadata(name) and not ANSWER_NAMES.isdisjoint(words(name))


def _is_system(named: Sequence[str], values: Sequence[Any]) -> bool:
    """A name that begins with `system` or usually holds such a message, unless it holds an identifier, such as `system_fingerprint`."""
    spoken = any(isinstance(value, str) and " " in value.strip() for value in values)
    if not named or "_".join(named) in SYSTEM_NAMES or named[-1] == "system" != named[0]:
        return bool(named) and (spoken or any(isinstance(value, list) for value in values))
    if not named[0].startswith("sys"):
        return False
    identifies = len(named) > 1 and named[-1] in METADATA_WORDS
    return (named[0].startswith("system") or named[0] == "sys" or spoken) and (not identifies or spoken)


def _is_role(named: Sequence[str], values: Sequence[Any]) -> bool:
    said = [value.strip().lower() for value in values if isinstance(value, str)]
    return bool(said) and not ROLE_NAMES.isdisjoint(named) and ROLE_VALUES.issuperset(said)


def _place(name: str, named: Sequence[str], values: Sequence[Any]) -> Meaning | None:
    """The meaning of a column that states a record's place among the others of a conversation."""
    plain = "_".join(named)
    if plain in TREE_NAMES:
        return Meaning.TREE
    varies = len({str(value) for value in values}) > 1
    return (
        Meaning.TURN
        if plain in TURN_NAMES and varies and all(verdicts.number_of(v) is not None for v in values)
        else None
    )


def _holds_media(values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    return bool(texts) and all(_MEDIA.fullmatch(text.strip()) for text in texts)


def _judge(values: Sequence[Any], *, sides: bool) -> bool:
    """Whether all values look like verdicts. Those that name one of several answers count only beside several."""
    present = [value for value in values if value is not None]
    return verdicts.judge(present) and (sides or 2 * sum(map(_names_side, present)) < len(present))


def _says_verdict(named: Sequence[str], values: Sequence[Any], *, sides: bool) -> bool:
    """Whether words state a verdict although the name is one of metadata: `feedback_type` with like and dislike, `status` with
    accepted and rejected."""
    present = [value for value in values if value is not None]
    if not all(isinstance(value, str) and verdicts.number_of(value) is None for value in present):
        return False
    if not _judge(present, sides=sides):
        return False
    if not VERDICT_NAMES.isdisjoint(named) or verdicts.states_both(present):
        return True
    return sides and len(set(map(str.lower, present))) > 1 and all(map(_names_side, present))


def _names_place(named: Sequence[str], values: Sequence[Any]) -> bool:
    """Whether numbers name the best of several answers, or their order: `best_index`, `order`."""
    told = named[-1:] == ("order",) or not VERDICT_NAMES.isdisjoint(named)
    return named[-1] in PLACES and told and verdicts.judge(values)


def _names_side(value: Any) -> bool:
    return isinstance(value, str) and verdicts.plain_word(value) in verdicts.SIDES - verdicts.GOOD - verdicts.BAD


def _marks(values: Sequence[Any], *, known: bool, sides: bool) -> bool:
    """Whether the values of a column that is named like a verdict are marks. A weak name, such as `tag`, needs verdicts."""
    scalars = [value for value in values if not isinstance(value, list | dict) and value is not None]
    if not scalars:
        return False
    if all(isinstance(value, bool) or verdicts.number_of(value) is not None for value in scalars):
        return True
    if not known:
        return _judge(scalars, sides=sides)
    return all(len(value) <= _LABEL for value in scalars if isinstance(value, str)) and not _reads_as_answers(scalars)


def _reads_as_answers(values: Sequence[Any]) -> bool:
    """Whether several short texts are more likely sentences than marks."""
    texts = [value for value in values if isinstance(value, str)]
    spoken = sum(1 for text in texts if len(text.split()) > 2 or text.rstrip().endswith((".", "!", "?")))
    return 2 * spoken > len(texts)


def _has_texts(values: Sequence[Any]) -> bool:
    return any(isinstance(value, str) and verdicts.number_of(value) is None for value in values) or any(
        isinstance(value, dict) for value in values
    )


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and (value.keys() >= {"role", "content"} or value.keys() >= {"from", "value"})


def _of_text(path: str, name: str, named: Sequence[str], values: Sequence[Any], *, sides: bool) -> Meaning | None:
    plain = "_".join(named)
    if plain in PROMPT_TEXTS or plain in INPUTS:
        return Meaning.PROMPT
    if plain in REFERENCES:
        return Meaning.REFERENCE
    scalars = [value for value in values if isinstance(value, str)]
    if names_answer(name) or (_MODELS.intersection(named) and scalars and _reads_as_answers(scalars)):
        return Meaning.ANSWER
    if names_metadata(name) or _in_metadata(path) or not DESCRIPTIONS.isdisjoint(named):
        return None
    if any(map(_is_message, values)):
        return Meaning.ANSWER
    if _judge(scalars, sides=sides) or (scalars and not VERDICT_NAMES.isdisjoint(named)):
        return Meaning.VERDICT
    long = scalars and sum(map(len, scalars)) / len(scalars) > _LONG
    return Meaning.TEXT if long or (scalars and _reads_as_answers(scalars)) else None
