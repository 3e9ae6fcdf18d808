"""LLaMA-Factory's ranking data: alpaca's columns and sharegpt's conversations."""

from typing import Any

from core.datasets.formats import chat
from core.datasets.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from core.datasets.formats.instruction import FIELDS, asked
from core.datasets.formats.pairs import PAIR_NOTES, pair_notes, whole
from core.datasets.formats.ranking import ranked
from core.datasets.formats.values import field, notes

_DOCS = "https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md"
_TALKS = ("conversations", "messages", "conversation")


def _alpaca(record: Source, reading: Reading) -> Rows:
    """Older files have the answers in `output`, the best first: two of them, or more (`oaast_rm`)."""
    listed = _listed(record)
    if len(listed) > 2:
        answers = [(chat.answer(one, f"/output/{place}"), -place) for place, one in enumerate(listed)]
        yield ranked(asked(record), answers, reading) | notes(record)
        return
    record = record | dict(zip(("chosen", "rejected"), listed, strict=False))
    sides = [chat.answer(field(record, name), f"/{name}") for name in ("chosen", "rejected")]
    yield {"prompt": asked(record), "chosen": sides[0], "rejected": sides[1]} | pair_notes(record, reading)


def _listed(record: Source) -> list[Any]:
    output = record.get("output")
    return output if isinstance(output, list) and record.get("chosen") is None else []


def _sharegpt(record: Source, reading: Reading) -> Rows:
    """The conversation ends with the user's turn; system message and tools stand beside it."""
    name = _talk(record) or "messages"
    prompt = chat.prompt(record, name)
    chat.pass_over_tools(record, reading)
    sides = [chat.answer(field(record, side), f"/{side}") for side in ("chosen", "rejected")]
    yield {"prompt": prompt, "chosen": sides[0], "rejected": sides[1]} | pair_notes(record, reading)


def _talk(record: Source) -> str | None:
    return next((name for name in _TALKS if isinstance(record.get(name), list)), None)


def _is_sharegpt(record: Source) -> bool:
    """The sides are answers; what begins with `prompt` too, or holds whole conversations, has its prompt there."""
    return (
        _talk(record) is not None and has(record, "chosen", "rejected") and "prompt" not in record and not whole(record)
    )


def _is_alpaca(record: Source) -> bool:
    sides = len(_listed(record)) > 1 or (has(record, "chosen", "rejected") and not whole(record))
    return "instruction" in record and "prompt" not in record and sides


ALPACA = Format(
    id="llama_factory_alpaca",
    title="LLaMA-Factory, alpaca ranking",
    about="An instruction with its input, and a chosen and a rejected answer; in older files a list of answers, the best first.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    example=({"instruction": "Translate into French.", "input": "Good morning.", "chosen": "Bonjour.", "rejected": "Bonne nuit."},),
    fields=FIELDS | PAIR_NOTES | {"chosen", "rejected", "output"},
    fits=_is_alpaca,
    rows=_alpaca,
    names={"prompt": "instruction"},
    specific=70,
)  # fmt: skip
SHAREGPT = Format(
    id="llama_factory_sharegpt",
    title="LLaMA-Factory, sharegpt ranking; Axolotl, chat_template",
    about="A conversation up to the user's last turn, and a chosen and a rejected answer.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    example=(
        {
            "conversations": [{"from": "human", "value": "What colour is the sky?"}],
            "chosen": {"from": "gpt", "value": "Blue, by day."},
            "rejected": {"from": "gpt", "value": "Green."},
        },
    ),
    fields=PAIR_NOTES | {*_TALKS, "system", "tools", "chosen", "rejected"},
    fits=_is_sharegpt,
    rows=_sharegpt,
    names={"prompt": "conversations"},
    specific=80,
)
