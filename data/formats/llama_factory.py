"""Preferences of LLaMA-Factory (alpaca's columns, sharegpt's conversations) and of ms-swift."""

from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has, says_which
from data.formats.instruction import asked, several_outputs
from data.formats.pairs import PAIR_NOTES, compared, pair_notes, whole
from data.formats.values import field, first_named, listed, notes, ranked
from data.names import INSTRUCTION_COLUMNS, NOTED, SHAREGPT_CONVERSATIONS

_DOCS = "https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md"


def _alpaca(record: Source, reading: Reading) -> Rows:
    sides = [chat.answer(field(record, name), f"/{name}") for name in ("chosen", "rejected")]
    yield {"prompt": asked(record), "chosen": sides[0], "rejected": sides[1]} | pair_notes(record, reading)


def _best_first(record: Source, reading: Reading) -> Rows:
    """The order of `output` is the ranking (`oaast_rm`). A file does not state this order: the user names this format."""
    answers = [(chat.answer(one, f"/output/{place}"), -place) for place, one in enumerate(listed(record, "output"))]
    if len(answers) == 2:
        yield {"prompt": asked(record), "chosen": answers[0][0], "rejected": answers[1][0]} | notes(record)
    else:
        yield ranked(asked(record), answers, reading) | notes(record)


def _is_listed(record: Source) -> float:
    """The same score as `unlabelled`, so that the user must choose between the two."""
    if "instruction" not in record or record.get("chosen") is not None or not several_outputs(record):
        return 0
    return 0.5 if says_which(record, ()) else 1


def _sharegpt(record: Source, reading: Reading) -> Rows:
    """The conversation ends with the user's turn; system message and tools stand beside it."""
    name = _talk(record) or "messages"
    prompt = chat.prompt(record, name)
    chat.pass_over_tools(record, reading)
    sides = [chat.answer(field(record, side), f"/{side}") for side in ("chosen", "rejected")]
    yield {"prompt": prompt, "chosen": sides[0], "rejected": sides[1]} | pair_notes(record, reading)


def _talk(record: Source) -> str | None:
    return next((name for name in SHAREGPT_CONVERSATIONS if isinstance(record.get(name), list)), None)


def _is_sharegpt(record: Source) -> bool:
    """The sides are answers; what begins with `prompt` too, or holds whole conversations, has its prompt there."""
    return (
        _talk(record) is not None and has(record, "chosen", "rejected") and "prompt" not in record and not whole(record)
    )


def _is_alpaca(record: Source) -> bool:
    sides = has(record, "chosen", "rejected") and not whole(record)
    return "instruction" in record and "prompt" not in record and sides


ALPACA = Format(
    id="llama_factory_alpaca",
    title="LLaMA-Factory, alpaca ranking",
    about="An instruction with its input, and a chosen and a rejected answer.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    example=({"instruction": "Translate into French.", "input": "Good morning.", "chosen": "Bonjour.", "rejected": "Bonne nuit."},),
    fields=INSTRUCTION_COLUMNS | PAIR_NOTES | {"chosen", "rejected"},
    fits=_is_alpaca,
    rows=_alpaca,
    names={"prompt": "instruction"},
    specific=70,
)  # fmt: skip
BEST_FIRST = Format(
    id="llama_factory_best_first",
    title="Answers in order, the best first (LLaMA-Factory, older files)",
    about="An instruction and a list of answers in `output`, the best first. A file does not state that order, so the format has to be named.",
    source=_DOCS,
    kinds=(PREFERENCES,),
    example=({"instruction": "Translate into French.", "input": "Good morning.", "output": ["Bonjour.", "Salut.", "Bonne nuit."]},),
    fields=INSTRUCTION_COLUMNS | NOTED | {"output"},
    fits=_is_listed,
    rows=_best_first,
    names={"prompt": "instruction", "a": "output/0", "b": "output/1"},
    specific=30,
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
    fields=PAIR_NOTES | {*SHAREGPT_CONVERSATIONS, "system", "tools", "chosen", "rejected"},
    fits=_is_sharegpt,
    rows=_sharegpt,
    names={"prompt": "conversations"},
    specific=80,
)


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
