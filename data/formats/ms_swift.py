"""ms-swift's preferences: a conversation whose last answer is the better one, and the answer that was rejected."""

from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source
from data.formats.pairs import PAIR_NOTES, compared, pair_notes
from data.formats.values import field, first_named

_REJECTED = ("rejected_messages", "rejected_response")


def _rows(record: Source, reading: Reading) -> Rows:
    rejected = first_named(record, _REJECTED) or "rejected_response"
    chat.pass_over_tools(record, reading)
    sides = field(record, "messages"), field(record, rejected)
    prompt, a, b = compared(None, *sides, ("messages", rejected), reading)
    yield {"prompt": prompt, "a": a, "b": b, "label": "a"} | pair_notes(record, reading)


def _fits(record: Source) -> bool:
    rejected = record.get(first_named(record, _REJECTED) or "")
    return chat.is_talk(record.get("messages")) and (isinstance(rejected, str) or chat.is_talk(rejected))


FORMAT = Format(
    id="ms_swift",
    title="ms-swift",
    about="`messages` that end with the better answer, and the rejected one in `rejected_response` (or a whole conversation in `rejected_messages`).",
    source="https://swift.readthedocs.io/en/latest/Customization/Custom-dataset.html",
    kinds=(PREFERENCES,),
    example=(
        {
            "messages": [{"role": "user", "content": "What colour is the sky?"}, {"role": "assistant", "content": "Blue, by day."}],
            "rejected_response": "Green.",
        },
    ),
    fields=PAIR_NOTES | {"messages", "tools", *_REJECTED},
    fits=_fits,
    rows=_rows,
    names={"a": "messages", "b": "rejected_response", "prompt": "messages"},
    specific=80,
)  # fmt: skip
