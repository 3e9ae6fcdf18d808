"""LLaMA-Factory's ranking data: alpaca's columns and sharegpt's conversations."""

from core.datasets.formats import chat
from core.datasets.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from core.datasets.formats.instruction import FIELDS, asked
from core.datasets.formats.values import field, given, notes
from core.datasets.row_shapes import NOTES

_DOCS = "https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md"


def _alpaca(record: Source, reading: Reading) -> Rows:
    """Older files have both answers in `output`, the better first."""
    both = record.get("output")
    if isinstance(both, list) and "chosen" not in record:
        record = record | dict(zip(("chosen", "rejected"), both, strict=False))
    sides = [chat.answer(field(record, name), f"/{name}") for name in ("chosen", "rejected")]
    yield {"prompt": asked(record), "chosen": sides[0], "rejected": sides[1]} | given(record, reading, *NOTES)


def _sharegpt(record: Source, reading: Reading) -> Rows:
    """The conversation ends with the user's turn; system message and tools stand beside it."""
    name = "conversations" if "conversations" in record else "messages"
    prompt = chat.messages(field(record, name), f"/{name}")
    if isinstance(record.get("system"), str) and record["system"].strip():
        prompt = [{"role": "system", "content": record["system"]}, *prompt]
    chat.pass_over_tools(record, reading)
    sides = [chat.answer(field(record, side), f"/{side}") for side in ("chosen", "rejected")]
    yield {"prompt": prompt, "chosen": sides[0], "rejected": sides[1]} | notes(record)


def _is_sharegpt(record: Source) -> bool:
    talk = isinstance(record.get("conversations"), list) or isinstance(record.get("messages"), list)
    return talk and has(record, "chosen", "rejected") and isinstance(record["chosen"], dict)


def _is_alpaca(record: Source) -> bool:
    both = isinstance(record.get("output"), list) and len(record["output"]) == 2
    return "instruction" in record and "prompt" not in record and (both or has(record, "chosen", "rejected"))


ALPACA = Format(
    id="llama_factory_alpaca",
    title="LLaMA-Factory, alpaca ranking",
    about="An instruction with its input, and a chosen and a rejected answer.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    example=({"instruction": "Translate into French.", "input": "Good morning.", "chosen": "Bonjour.", "rejected": "Bonne nuit."},),
    fields=FIELDS | {"chosen", "rejected", "output", *NOTES},
    fits=_is_alpaca,
    rows=_alpaca,
    names={"prompt": "instruction"},
    specific=70,
)  # fmt: skip
SHAREGPT = Format(
    id="llama_factory_sharegpt",
    title="LLaMA-Factory, sharegpt ranking; Axolotl, chat_template",
    about="A conversation up to the user's last turn, and a chosen and a rejected message.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    example=(
        {
            "conversations": [{"from": "human", "value": "What colour is the sky?"}],
            "chosen": {"from": "gpt", "value": "Blue, by day."},
            "rejected": {"from": "gpt", "value": "Green."},
        },
    ),
    fields=frozenset({"conversations", "messages", "system", "tools", "chosen", "rejected", "source"}),
    fits=_is_sharegpt,
    rows=_sharegpt,
    names={"prompt": "conversations"},
    specific=80,
)
