"""One answer a record: thumbs up or down (KTO), or a score. The answers to one prompt become a ranking."""

from typing import Any

from core.datasets.formats import chat
from core.datasets.formats.base import PREFERENCES, SFT, Format, Rated, Reading, Rows, Source, has
from core.datasets.formats.instruction import FIELDS, asked
from core.datasets.formats.values import NOTED, field, number, text, truth
from core.datasets.formats.values import notes as usual_notes

_DOCS = "https://huggingface.co/docs/trl/dataset_formats#unpaired-preference"
_ANSWERS = ("completion", "response", "output", "answer", "text")
_SCORES = ("score", "reward", "rating")
_TAGS = ("kto_tag", "label", "tag")


def _thumb(record: Source, reading: Reading) -> Rows:
    good = truth(field(record, "label"), "label")
    completion = chat.answer(field(record, "completion"), "/completion")
    yield from _told(Rated(chat.prompt(record), completion, float(good), usual_notes(record)), reading)


def _told(rated: Rated, reading: Reading) -> Rows:
    """To be ranked; or, to be imitated, only if it is good."""
    if reading.kind is not SFT:
        yield rated
    elif rated.score:
        yield {"prompt": rated.prompt, "completion": rated.completion}
    else:
        reading.note("not_imitated", "a thumb down: the answer is nothing to imitate")


def _factory(record: Source, reading: Reading) -> Rows:
    """LLaMA-Factory's: a tag beside alpaca's columns, or a label beside a conversation."""
    name = next((name for name in _TAGS if name in record), "label")
    good = float(truth(field(record, name), name))
    talk = next((name for name in ("messages", "conversations") if name in record), None)
    prompt: Any
    if talk is not None:
        prompt, answer = chat.prompt_and_answer(field(record, talk), f"/{talk}")
        prompt = chat.told(record.get("system"), prompt)
    else:
        prompt, answer = asked(record), text(record, "output")
    yield from _told(Rated(prompt, answer, good, usual_notes(record)), reading)


def _scored(record: Source, reading: Reading) -> Rows:
    answer = next((name for name in _ANSWERS if name in record), "response")
    score = next((name for name in _SCORES if name in record), "score")
    value = number(field(record, score), score, reading)
    yield Rated(chat.prompt(record), chat.answer(field(record, answer), f"/{answer}"), value, usual_notes(record))


def _is_factory(record: Source) -> bool:
    talk = "messages" in record or "conversations" in record
    tagged = "kto_tag" in record or any(isinstance(record.get(name), bool) for name in _TAGS)
    return tagged and (talk or has(record, "instruction", "output"))


def _is_scored(record: Source) -> bool:
    return "prompt" in record and any(name in record for name in _ANSWERS) and any(name in record for name in _SCORES)


KTO = Format(
    id="trl_unpaired",
    title="TRL, unpaired (KTO)",
    about="A prompt, one completion, and whether it is good. Good and bad ones of one prompt, wherever they stand, become a ranking; for SFT the good ones count.",
    source=_DOCS,
    kinds=(PREFERENCES, SFT),
    example=(
        {"prompt": "The sky is", "completion": " blue.", "label": True},
        {"prompt": "The sky is", "completion": " green.", "label": False},
    ),
    fields=NOTED | {"prompt", "system", "completion", "label"},
    fits=lambda record: has(record, "prompt", "completion", "label"),
    rows=_thumb,
    grouped="anywhere",
    sided=True,
    specific=80,
)
FACTORY = Format(
    id="llama_factory_kto",
    title="LLaMA-Factory, KTO",
    about="A conversation with `label`, or alpaca's columns with `kto_tag` (or `tag`): whether the last answer is good.",
    source="https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md",
    kinds=(PREFERENCES, SFT),
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
    fields=FIELDS | NOTED | {"messages", "conversations", "output", *_TAGS},
    fits=_is_factory,
    rows=_factory,
    grouped="anywhere",
    sided=True,
    specific=80,
)
SCORED = Format(
    id="scored_answers",
    title="Scored answers",
    about="A prompt, one answer and its score (`score`, `reward` or `rating`). Those of one prompt, wherever they stand, become a ranking.",
    source="",
    kinds=(PREFERENCES,),
    example=(
        {"prompt": "The sky is", "response": " blue.", "score": 0.9},
        {"prompt": "The sky is", "response": " green.", "score": 0.1},
    ),
    fields=NOTED | {"prompt", "system", *_ANSWERS, *_SCORES},
    fits=_is_scored,
    rows=_scored,
    grouped="anywhere",
    specific=70,
)
