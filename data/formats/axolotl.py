"""Axolotl's chatml pairs (`chatml.intel`, `.icr`, `.prompt_pairs`, `.ultra`)."""

from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from data.formats.pairs import PAIR_NOTES, compared, pair_notes
from data.formats.values import field, text
from data.names import AXOLOTL_PROMPTS

_SIDES = ("chosen", "rejected")


def _asks(record: Source) -> str | None:
    return next((name for name in AXOLOTL_PROMPTS if isinstance(record.get(name), str)), None)


def _chatml(record: Source, reading: Reading) -> Rows:
    asked = _asks(record) or "question"
    prompt = text(record, asked)
    instruction = record.get("prompt")
    if asked == "input" and isinstance(instruction, str) and instruction not in prompt:
        prompt = f"{instruction}\n{prompt}"
    # Whole conversations (`.ultra`) hold the question again, and perhaps not the system message.
    prompt, a, b = compared(prompt, field(record, "chosen"), field(record, "rejected"), _SIDES, reading)
    prompt = chat.with_system(record.get("system"), prompt)
    yield {"prompt": prompt, "chosen": a, "rejected": b} | pair_notes(record, reading)


def _is_chatml(record: Source) -> bool:
    return (
        has(record, "chosen", "rejected")
        and ("question" in record or "input" in record or has(record, "prompt", "system"))
        and _asks(record) is not None
    )


CHATML = Format(
    id="axolotl_chatml",
    title="Axolotl chatml; Intel Orca pairs",
    about="A question with a system message, and a chosen and a rejected answer.",
    source="https://docs.axolotl.ai/docs/rlhf.html",
    kinds=(PREFERENCES,),
    sides_named=True,
    example=(
        {"system": "You answer briefly.", "question": "Which colour is the sky?", "chosen": "Blue, by day.", "rejected": "Green."},
    ),
    fields=PAIR_NOTES | {"system", *AXOLOTL_PROMPTS, *_SIDES},
    fits=_is_chatml,
    rows=_chatml,
    names={"prompt": "question"},
    specific=65,
)  # fmt: skip
