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
    messages = chat.messages(field(record, name), f"/{name}")
    if (
        isinstance(record.get("system"), str)
        and record["system"].strip()
        and messages[:1]
        and messages[0]["role"] != "system"
    ):
        messages = [{"role": "system", "content": record["system"]}, *messages]
    chat.pass_over_tools(record, reading)
    if reading.kind is SFT:
        yield {"messages": messages} | source(record)
    else:
        yield {"prompt": _before_the_last_answer(messages, name)} | source(record)


def _before_the_last_answer(messages: list[chat.Message], name: str) -> list[chat.Message]:
    while messages and messages[-1]["role"] == "assistant":
        messages = messages[:-1]
    if not messages:
        raise BadLine("has no turn of the user's", pointer=f"/{name}", code="bad_conversation")
    return messages


def _answered(record: Source, reading: Reading) -> Rows:
    value = field(record, "prompt")
    prompt: Any = value if isinstance(value, str) else chat.messages(value, "/prompt")
    name = next((name for name in _ANSWERS if name in record), _ANSWERS[0])
    yield {"prompt": prompt, "completion": chat.answer(field(record, name), f"/{name}")} | source(record)


def _alpaca(record: Source, reading: Reading) -> Rows:
    answer = {"completion": chat.answer(field(record, "output"), "/output")} if reading.kind is SFT else {}
    yield {"prompt": asked(record)} | answer | source(record)


MESSAGES = Format(
    id="messages",
    title="Conversations",
    about="A conversation in `messages` (OpenAI, TRL) or `conversations` (ShareGPT). For SFT as it is; as prompts, up to the last answer.",
    source="https://huggingface.co/docs/trl/dataset_formats#conversational",
    kinds=(SFT, PROMPTS),
    example=({"messages": [{"role": "user", "content": "What colour is the sky?"}, {"role": "assistant", "content": "Blue, by day."}]},),
    fields=frozenset({*_TALKS, "system", "tools", "source"}),
    fits=lambda record: any(isinstance(record.get(name), list) for name in _TALKS) and "chosen" not in record,
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
    fields=frozenset({"prompt", *_ANSWERS, "source"}),
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
