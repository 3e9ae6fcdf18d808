"""Formats of one answer a record with a thumb (KTO). The answers to one prompt become a ranking, or thumbs stay thumbs."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import orjson

from data.errors import RowError
from data.formats import chat
from data.formats.base import PREFERENCES, SFT, THUMBS, Format, Rated, Reading, Rows, Source
from data.formats.instruction import prompt as whole_prompt
from data.formats.values import field, first_named, truth
from data.formats.values import notes as usual_notes
from data.names import DEMONSTRATION_ANSWERS, INSTRUCTION_COLUMNS, NOTED, THUMB_TAGS
from data.schema import THUMBS as THUMBS_OF_ROWS
from data.schema import DatasetKind
from data.verdicts import polarity

_DOCS = "https://huggingface.co/docs/trl/dataset_formats#unpaired-preference"
_UNFILLED = 0.9
"""The score of an empty label column. A verdict may be missing, but a column that is always empty is none."""
_QUESTIONS, _TALKS = ("prompt", "instruction", "question"), ("messages", "conversations", "conversation")
_JUDGED_FIELDS = INSTRUCTION_COLUMNS.union(NOTED, _QUESTIONS, _TALKS, DEMONSTRATION_ANSWERS, THUMB_TAGS)


def _thumb(record: Source, reading: Reading) -> Rows:
    name = _tag(record) or first_named(record, THUMB_TAGS) or "label"
    good = truth(field(record, name), name)
    prompt, answer = _judged(record)
    yield from _as_kind(Rated(prompt, answer, float(good), usual_notes(record)), reading)


def _tag(record: Source) -> str | None:
    """The first column that rates the answer as good or bad."""
    return next((name for name in THUMB_TAGS if polarity(record.get(name)) is not None), None)


def _judged(record: Source) -> tuple[Any, str]:
    """The prompt and the answer, which may be a conversation in one column (argilla/kto-mix-15k, LLaMA-Factory)."""
    asked, talk, answer_column = (_first(record, names) for names in (_QUESTIONS, _TALKS, DEMONSTRATION_ANSWERS))
    whole = (
        answer_column
        if answer_column is not None and _is_conversation(record[answer_column])
        else talk
        if answer_column is None
        else None
    )
    if whole is None:
        answer_column = answer_column or first_named(record, DEMONSTRATION_ANSWERS) or DEMONSTRATION_ANSWERS[0]
        answer = chat.answer(field(record, answer_column), f"/{answer_column}")
        return whole_prompt(record, asked or talk or "prompt"), answer
    prompt, answer = chat.prompt_and_answer(record[whole], f"/{whole}")
    if whole == answer_column and (not prompt or prompt[0]["role"] == "assistant"):
        raise RowError("begins with an answer of the assistant's", pointer=f"/{whole}", code="several_turns")
    return chat.with_system(record.get("system"), prompt), answer


def _first(record: Source, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if record.get(name) is not None), None)


def _is_conversation(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and chat.is_conversation(value)


def _as_kind(rated: Rated, reading: Reading) -> Rows:
    """The rated answer for a ranking, a thumb, or a demonstration if the answer is good."""
    if reading.kind is THUMBS:
        thumb = "up" if rated.score else "down"
        notes = {name: note for name, note in rated.notes.items() if name != "margin"}
        yield {"prompt": rated.prompt, "completion": rated.completion, "thumb": thumb} | notes
    elif reading.kind is not SFT:
        yield rated
    elif rated.score:
        yield {"prompt": rated.prompt, "completion": rated.completion}
    else:
        reading.note("not_imitated", "a thumb down: the answer is nothing to imitate")


def _suggests(records: Sequence[Source]) -> DatasetKind:
    """The kind that the records suggest: preferences if a prompt has good and bad answers, otherwise thumbs."""
    found: dict[bytes, set[bool]] = defaultdict(set)
    for record in records:
        name = _tag(record)
        try:
            prompt, _ = _judged(record)
            found[orjson.dumps(prompt)].add(truth(record.get(name or "label"), name or "label"))
        except (RowError, TypeError):
            continue  # the import reports the error
    return PREFERENCES if any(len(verdicts) == 2 for verdicts in found.values()) else THUMBS


def _is_thumb(record: Source) -> float:
    """1 if `label` holds a verdict and not a name."""
    asked = any(name in record for name in (*_QUESTIONS, *_TALKS)) or _is_conversation(record.get("completion"))
    return asked and "completion" in record and _verdict_score(record, ("label",))


def _is_factory(record: Source) -> float:
    ours = "completion" in record and ("label" in record or record.get("thumb") in THUMBS_OF_ROWS)
    if ours or "chosen" in record:
        return 0
    value = record.get(_first(record, DEMONSTRATION_ANSWERS) or "")
    answered = isinstance(value, str | dict) or chat.is_conversation(value)
    asked = any(name in record for name in _QUESTIONS) and answered
    return (asked or any(chat.is_conversation(record.get(name)) for name in _TALKS)) and _verdict_score(
        record, THUMB_TAGS
    )


def _verdict_score(record: Source, tags: tuple[str, ...]) -> float:
    """1 if one of these columns holds a verdict, 0.9 if one is empty, otherwise 0."""
    if any(polarity(record.get(name)) is not None for name in tags):
        return 1
    return _UNFILLED if any(name in record and record[name] in (None, "") for name in tags) else 0


KTO = Format(
    id="trl_unpaired",
    title="TRL, unpaired (KTO)",
    about="A prompt, one completion, and whether it is good (also Axolotl's). The kind `thumbs` makes each a row. The kind `preferences` ranks the good and bad ones of one prompt, wherever they are. SFT uses the good ones. Without a kind, it is preferences if a prompt of the first records has both, otherwise thumbs.",
    source=_DOCS,
    kinds=(PREFERENCES, THUMBS, SFT),
    suggests=_suggests,
    example=(
        {"prompt": "The sky is", "completion": " blue.", "label": True},
        {"prompt": "The sky is", "completion": " green.", "label": False},
    ),
    fields=_JUDGED_FIELDS,
    fits=_is_thumb,
    rows=_thumb,
    grouped="anywhere",
    sided=True,
    specific=80,
)
FACTORY = Format(
    id="llama_factory_kto",
    title="LLaMA-Factory, KTO",
    about="A conversation, or a prompt and its answer in other columns than TRL's, and a verdict on the last answer: `label`, `kto_tag`, `thumb`, `feedback`, `liked`, `vote` and the like. Its values are true, 1, 👍, thumbs_up, good, or their opposites. The rows are those of `trl_unpaired`.",
    source="https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md",
    kinds=(PREFERENCES, THUMBS, SFT),
    suggests=_suggests,
    example=(
        {
            "messages": [{"role": "user", "content": "The sky?"}, {"role": "assistant", "content": "Blue."}],
            "label": True,
        },
        {
            "messages": [{"role": "user", "content": "The sky?"}, {"role": "assistant", "content": "Green."}],
            "label": False,
        },
    ),
    fields=_JUDGED_FIELDS,
    fits=_is_factory,
    rows=_thumb,
    grouped="anywhere",
    sided=True,
    specific=80,
)
