"""Demonstrations: conversations, and prompt and completion."""

from collections.abc import Iterator
from typing import Any

from data.errors import RowError
from data.formats import chat
from data.formats.base import PROMPTS, SFT, Format, Reading, Row, Rows, Source, judged, says_more
from data.formats.instruction import prompt
from data.formats.values import field, first_named, reference
from data.names import CONVERSATIONS, DEMONSTRATION_ANSWERS, DEMONSTRATION_PROMPTS, INSTRUCTION_COLUMNS, REFERENCES


def source(record: Source) -> Row:
    """The source, if it is text: the only note of demonstrations and prompts."""
    return {"source": record["source"]} if isinstance(record.get("source"), str) and record["source"] else {}


def _talk(record: Source, reading: Reading) -> Rows:
    name = first_named(record, CONVERSATIONS) or CONVERSATIONS[0]
    messages = chat.with_system(record.get("system"), chat.messages(field(record, name), f"/{name}"))
    chat.note_tools(record, reading)
    if reading.kind is SFT:
        yield from (row | source(record) for row in _learnt(messages, chat.untrained_turns(record[name]), reading))
    else:
        yield {"prompt": _before_the_last_answer(messages, name)} | reference(record) | source(record)


def _learnt(messages: list[chat.Message], unlearnt: list[bool], reading: Reading) -> Iterator[Row]:
    """The row of a conversation. `unlearnt` marks assistant turns that are excluded from training.

    If only the last turn is to be learnt, it is the completion.
    """
    if not any(unlearnt):
        yield {"messages": messages}
    elif unlearnt[-1]:
        reading.note("not_imitated", "the last answer is marked as nothing to learn (as by `weight` 0)")
    elif all(unlearnt[:-1]) and messages[-1]["role"] == "assistant":
        yield {"prompt": messages[:-1], "completion": messages[-1]["content"]}
    else:
        reading.note("weights_ignored", "some earlier answers are marked as nothing to learn, and others are not")
        yield {"messages": messages}


def _before_the_last_answer(messages: list[chat.Message], name: str) -> list[chat.Message]:
    while messages and messages[-1]["role"] == "assistant":
        messages = messages[:-1]
    if not messages:
        raise RowError("has no turn of the user's", pointer=f"/{name}", code="bad_conversation")
    return messages


def _answered(record: Source, reading: Reading) -> Rows:
    """A prompt and its completion, or a whole conversation, since a file of the former may have a few of the latter."""
    name = next((name for name in DEMONSTRATION_ANSWERS if record.get(name) is not None), None)
    if name is None and record.get("prompt") is None and record.get("messages") is not None:
        yield from _talk(record, reading)
        return
    asked_in = next((one for one in (*DEMONSTRATION_PROMPTS, *CONVERSATIONS) if record.get(one) is not None), "prompt")
    name = name or first_named(record, DEMONSTRATION_ANSWERS) or DEMONSTRATION_ANSWERS[0]
    answer = chat.answer(field(record, name), f"/{name}")
    yield {"prompt": prompt(record, asked_in), "completion": answer} | source(record)


def _conversation(record: Source) -> list[Any] | None:
    found = next((record[name] for name in CONVERSATIONS if name in record), None)
    return found if chat.is_conversation(found) and "chosen" not in record else None


def _trusted(record: Source) -> float:
    """0.5 where another column rates the answer as good or bad."""
    return 0.5 if judged(record) else 1


def _demonstrates(record: Source) -> float:
    talk = _conversation(record)
    return talk is not None and not chat.only_asks(talk) and _trusted(record)


def _asks(record: Source) -> float:
    """0.1 for a conversation with assistant turns, and 0.5 if other fields may be answers: the user must then choose the kind."""
    talk = _conversation(record)
    if talk is None or not chat.only_asks(talk):
        return 0 if talk is None else 0.1
    return 0.5 if says_more(record, (MESSAGES.fields - {"solution"}) | {"prompt", "prompt_id"}) else 1


def _completes(record: Source) -> float:
    """0.5 where the question has another name than `prompt`, and other fields have content."""
    if record.get("prompt") is not None:
        return any(record.get(name) is not None for name in DEMONSTRATION_ANSWERS) and _trusted(record)
    answers = (
        DEMONSTRATION_ANSWERS
        if "instruction" not in record
        else tuple(name for name in DEMONSTRATION_ANSWERS if name != "output")
    )
    if not any(isinstance(record.get(name), str) for name in answers):
        return 0
    talk = _conversation(record)
    asks = (
        chat.only_asks(talk)
        if talk is not None
        else any(isinstance(record.get(name), str) for name in DEMONSTRATION_PROMPTS)
    )
    return asks and (0.5 if says_more(record, COMPLETION.fields | {"prompt_id"}) else _trusted(record))


MESSAGES = Format(
    id="messages",
    title="Conversations",
    about="A conversation in `messages` (OpenAI, TRL) or `conversations` (ShareGPT). For SFT as it is; as prompts, up to the last answer.",
    source="https://huggingface.co/docs/trl/dataset_formats#conversational",
    kinds=(SFT, PROMPTS),
    example=({"messages": [{"role": "user", "content": "Which colour is the sky?"}, {"role": "assistant", "content": "Blue, by day."}]},),
    fields=frozenset({*CONVERSATIONS, "tools", "source", *REFERENCES}),
    for_prompts=frozenset(REFERENCES),
    fits=lambda record: 0,
    fits_as={SFT: _demonstrates, PROMPTS: _asks},
    rows=_talk,
    specific=40,
)  # fmt: skip
COMPLETION = Format(
    id="prompt_completion",
    title="Prompt and completion",
    about="A prompt (or `instruction`, `question`, `query`, or messages up to the user's) and the answer to imitate.",
    source="https://huggingface.co/docs/trl/dataset_formats#prompt-completion",
    kinds=(SFT,),
    example=({"prompt": "The sky is", "completion": " blue."},),
    fields=INSTRUCTION_COLUMNS.union(DEMONSTRATION_PROMPTS, DEMONSTRATION_ANSWERS, CONVERSATIONS, {"tools", "source"}),
    fits=_completes,
    rows=_answered,
    specific=40,
)
