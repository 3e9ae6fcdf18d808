"""Demonstrations: conversations, prompt and completion, alpaca's columns."""

from typing import Any

from core.datasets.formats import chat
from core.datasets.formats.base import PROMPTS, SFT, Format, Reading, Row, Rows, Source, has
from core.datasets.formats.instruction import FIELDS, asked
from core.datasets.formats.values import field
from core.datasets.line_json import BadLine

_TALKS = ("messages", "conversations", "conversation", "chat")
_ANSWERS = ("completion", "response", "output")


def source(record: Source) -> Row:
    """Where it is from, if that is a text: the one note of demonstrations and prompts."""
    return {"source": record["source"]} if isinstance(record.get("source"), str) and record["source"] else {}


def _talk(record: Source, reading: Reading) -> Rows:
    name = next((name for name in _TALKS if name in record), _TALKS[0])
    messages = chat.told(record.get("system"), chat.messages(field(record, name), f"/{name}"))
    chat.pass_over_tools(record, reading)
    if reading.kind is SFT:
        yield {"messages": messages} | source(record)
    else:
        answer = {} if record.get("answer") is None else {"answer": record["answer"]}
        yield {"prompt": _before_the_last_answer(messages, name)} | answer | source(record)


def _before_the_last_answer(messages: list[chat.Message], name: str) -> list[chat.Message]:
    while messages and messages[-1]["role"] == "assistant":
        messages = messages[:-1]
    if not messages:
        raise BadLine("has no turn of the user's", pointer=f"/{name}", code="bad_conversation")
    return messages


def _answered(record: Source, reading: Reading) -> Rows:
    """Also whole conversations, where a file has a few among them, as one of the platform's rows may."""
    if record.get("prompt") is None and record.get("messages") is not None:
        yield from _talk(record, reading)
        return
    name = next((name for name in _ANSWERS if name in record), _ANSWERS[0])
    yield {"prompt": chat.prompt(record), "completion": chat.answer(field(record, name), f"/{name}")} | source(record)


def _alpaca(record: Source, reading: Reading) -> Rows:
    answer = {"completion": chat.answer(field(record, "output"), "/output")} if reading.kind is SFT else {}
    yield {"prompt": asked(record)} | answer | source(record)


def _conversation(record: Source) -> list[Any] | None:
    found = next((record[name] for name in _TALKS if name in record), None)
    return found if chat.is_talk(found) and "chosen" not in record else None


def _demonstrates(record: Source) -> float:
    talk = _conversation(record)
    return talk is not None and not chat.only_asks(talk)


def _asks(record: Source) -> float:
    """Weakly where the assistant speaks: then somebody has to say that only the prompts are meant."""
    talk = _conversation(record)
    return 0 if talk is None else 1 if chat.only_asks(talk) else 0.1


MESSAGES = Format(
    id="messages",
    title="Conversations",
    about="A conversation in `messages` (OpenAI, TRL) or `conversations` (ShareGPT). For SFT as it is; as prompts, up to the last answer.",
    source="https://huggingface.co/docs/trl/dataset_formats#conversational",
    kinds=(SFT, PROMPTS),
    example=({"messages": [{"role": "user", "content": "What colour is the sky?"}, {"role": "assistant", "content": "Blue, by day."}]},),
    fields=frozenset({*_TALKS, "system", "tools", "answer", "source"}),
    fits=lambda record: 0,
    fits_as={SFT: _demonstrates, PROMPTS: _asks},
    rows=_talk,
    specific=40,
)  # fmt: skip
COMPLETION = Format(
    id="prompt_completion",
    title="Prompt and completion",
    about="A prompt and the answer to imitate.",
    source="https://huggingface.co/docs/trl/dataset_formats#prompt-completion",
    kinds=(SFT,),
    example=({"prompt": "The sky is", "completion": " blue."},),
    fields=frozenset({"prompt", "system", *_ANSWERS, "messages", "tools", "source"}),
    fits=lambda record: record.get("prompt") is not None and any(record.get(name) is not None for name in _ANSWERS),
    rows=_answered,
    specific=40,
)
ALPACA = Format(
    id="alpaca",
    title="Alpaca instructions",
    about="An instruction with its input, and the output to imitate.",
    source="https://github.com/tatsu-lab/stanford_alpaca",
    kinds=(SFT, PROMPTS),
    example=({"instruction": "Translate into French.", "input": "Good morning.", "output": "Bonjour."},),
    fields=FIELDS | {"output", "source"},
    fits=lambda record: has(record, "instruction", "output") and isinstance(record["output"], str | None),
    rows=_alpaca,
    names={"prompt": "instruction", "completion": "output"},
    specific=40,
)
