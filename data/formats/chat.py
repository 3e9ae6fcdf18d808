"""Converts conversations of many formats to messages."""

from typing import Any

from data.errors import RowError
from data.formats.base import Reading, Source
from data.formats.values import field
from data.names import MEDIA, SYSTEM_COLUMNS

Message = dict[str, str]
_ROLES = {
    "system": "system", "developer": "system",
    "user": "user", "human": "user", "prompter": "user",
    "assistant": "assistant", "gpt": "assistant", "chatgpt": "assistant", "model": "assistant", "bot": "assistant",
}  # fmt: skip
_TEXTS = frozenset({"text", "input_text", "output_text"})
_PICTURES = ("image", "image_url", "audio", "input_audio", "video", "video_url", "file")
_THOUGHTS = frozenset({"reasoning", "reasoning_content", "thinking", "redacted_thinking", "think"})
_CALLS = frozenset(
    ("tool_call", "tool-call", "tool_calls", "tool_use", "tool_result", "tool-result", "tool_response", "function_call",
     "function_call_output", "function_response")
)  # fmt: skip
"""Types of parts of a content."""
_TOOLS = frozenset(
    {"tool", "function", "ipython", "observation", "function_call", "function_response", "tool_call", "tool_response"}
)


def messages(value: Any, pointer: str) -> list[Message]:
    """Messages with `role` and `content`, or `from` and `value`, in canonical form. The content is text or parts of text.

    Empty system messages are left out. Raises RowError for tools, pictures and unknown roles.
    """
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        detail, code = _unlike(value, "must be a list of messages")
        raise RowError(detail, pointer=pointer, code=code)
    found = [_message(message, f"{pointer}/{index}") for index, message in enumerate(_turns(value))]
    return [message for message in found if message["role"] != "system" or message["content"].strip()]


def prompt_and_answer(value: Any, pointer: str) -> tuple[list[Message], str]:
    """The messages before the last turn, and the text of the last turn. Raises RowError if that is not the assistant's."""
    found = messages(value, pointer)
    if not found or found[-1]["role"] != "assistant":
        raise RowError("ends without an answer of the assistant", pointer=pointer, code="several_turns")
    return found[:-1], found[-1]["content"]


def answer(value: Any, pointer: str) -> str:
    """The text, or the content of exactly one assistant message. Raises RowError."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list | dict):
        detail, code = _unlike(value, "must be text, or one message of the assistant's")
        raise RowError(detail, pointer=pointer, code=code)
    found = messages(value, pointer)
    if len(found) != 1 or found[0]["role"] != "assistant":
        detail = "must be exactly one message of the assistant's"
        raise RowError(detail, pointer=pointer, code="several_turns")
    return found[0]["content"]


def shared(first: list[Message], second: list[Message], pointer: str) -> list[Message]:
    """The shared turns of two conversations that differ only in the last one. Raises RowError for others."""
    if first == second:
        if not first:
            raise RowError("there is no prompt before the answers", pointer=pointer, code="prompt_differs")
        return first
    at = next((index for index, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), None)
    turn = 1 + (min(len(first), len(second)) if at is None else at)
    detail = f"the two conversations differ from their message {turn} on, before the last answer"
    raise RowError(detail, pointer=pointer, code="prompt_differs")


def with_system(system: Any, prompt: Any) -> Any:
    """The prompt with a system message before it, unless the message is blank, or the prompt is absent or has its own."""
    if prompt is None or not (isinstance(system, str) and system.strip()):
        return prompt
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return turns if turns[:1] and turns[0]["role"] == "system" else [{"role": "system", "content": system}, *turns]


def prompt(record: Source, name: str = "prompt") -> Any:
    """The prompt in this column, as text or messages, with the record's system message before it. Raises RowError."""
    return with_system(record.get("system"), text_or_messages(field(record, name), f"/{name}"))


def text_or_messages(value: Any, pointer: str) -> str | list[Message]:
    """A text as it is, or a list of messages in canonical form. Raises RowError."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list | dict):
        detail, code = _unlike(value, "must be text, or a list of messages")
        raise RowError(detail, pointer=pointer, code=code)
    return messages(value, pointer)


def readable(record: Source) -> Source:
    """The record with the text of its system message in `system`. Raises RowError for a system message that is no text, and
    for an image or sound, which changes the meaning of the text."""
    if not MEDIA.isdisjoint(record) and (
        name := next((name for name in record if name in MEDIA and _filled(record[name])), None)
    ):
        raise RowError("holds an image or something else that is not text", pointer=f"/{name}", code="not_text")
    name = next((name for name in SYSTEM_COLUMNS if name in record and _filled(record[name])), None)
    if name is None or (name == "system" and isinstance(record[name], str)):
        return record
    return record | {"system": system_text(record[name], f"/{name}")}


def system_text(value: Any, pointer: str) -> str:
    """The text of a system message: a text, a message, or a list of texts, parts or messages, joined by blank lines.

    Raises RowError for anything else.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n\n".join(system_text(item, f"{pointer}/{index}") for index, item in enumerate(value) if _filled(item))
    if isinstance(value, dict):
        name = next((name for name in ("content", "text", "value") if name in value), None)
        if name is not None and _role(value) in ("none", "system", "developer"):
            return system_text(value[name], f"{pointer}/{name}")
    raise RowError("must be text, or a list of texts", pointer=pointer, code="wrong_type")


def is_conversation(value: Any) -> bool:
    """Whether the value looks like a list of messages. An empty list does."""
    if not isinstance(value, list):
        return False
    first = next(iter(_turns(value)), {"role": None})
    return isinstance(first, dict) and ("role" in first or "from" in first)


def only_asks(value: list[Any]) -> bool:
    """Whether all messages are the user's or the system's."""
    turns = [turn for turn in _turns(value) if isinstance(turn, dict)]
    roles = {_ROLES.get(_role(turn)) for turn in turns}
    return bool(roles) and roles <= {"user", "system"}


def note_tools(record: Source, reading: Reading) -> None:
    """Note tool definitions in `tools`, as a list or as JSON text. They are left out."""
    if _filled(record.get("tools")):
        reading.note("tools_dropped", "`tools` defines tools that no message calls; the definitions were left out")


_BESIDE = ("reasoning_content", "reasoning", "thinking")
"""Keys of reasoning in a message, as DeepSeek, OpenRouter and gpt-oss name them."""


def note_reasoning(record: Source, reading: Reading) -> None:
    """Note reasoning in a key of an assistant message. It is left out."""
    for value in record.values():
        for turn in _turns(value if isinstance(value, list) else [value]):
            if isinstance(turn, dict) and ("role" in turn or "from" in turn):
                field = next((name for name in _BESIDE if _filled(turn.get(name))), None)
                if field is not None:
                    detail = f"`{field}` stands beside `content` and was left out; write it into the text if it is to be learnt"
                    reading.note("reasoning_dropped", detail)
                    return


def _filled(value: Any) -> bool:
    """Whether the value has content. Empty JSON in a text and objects of nulls have none."""
    if isinstance(value, str):
        return value.strip() not in ("", "[]", "{}", "null")
    return any(value.values()) if isinstance(value, dict) else bool(value)


def untrained_turns(value: Any) -> list[bool]:
    """For each assistant turn, whether the file excludes it from training: `weight` 0 (OpenAI), `loss_weight` 0, `train`
    false (Axolotl), `loss` false (ms-swift)."""
    objects = [turn for turn in _turns(value if isinstance(value, list) else [value]) if isinstance(turn, dict)]
    turns = [turn for turn in objects if _ROLES.get(_role(turn)) == "assistant"]
    return [
        0 in (turn.get("weight"), turn.get("loss_weight")) or False in (turn.get("train", 1), turn.get("loss", 1))
        for turn in turns
    ]


def _turns(value: list[Any]) -> list[Any]:
    """The messages of a list. An element with a question and its answer (Capybara) gives two."""
    turns: list[Any] = []
    for turn in value:
        if isinstance(turn, dict) and turn.keys() >= {"input", "output"}:
            turns += [{"role": "user", "content": turn["input"]}, {"role": "assistant", "content": turn["output"]}]
        else:
            turns.append(turn)
    return turns


def _message(value: Any, pointer: str) -> Message:
    if not isinstance(value, dict):
        raise RowError("must be a message", pointer=pointer, code="wrong_type")
    name = _role(value)
    if name in _TOOLS or value.get("tool_calls") or value.get("function_call"):
        raise RowError("calls a tool or answers one; only text is trained here", pointer=pointer, code="tools")
    if "content" not in value and "value" not in value:
        raise RowError("is a message without content", pointer=pointer, code="wrong_type")
    if name not in _ROLES:
        detail, where = f"must be one of system, user, assistant; found {name[:40]!r}", f"{pointer}/role"
        raise RowError(detail, pointer=where, code="bad_conversation")
    content = _either(value, "content", "value")
    if content is None and value.get("refusal"):
        detail = "is empty; the message has a `refusal` in its place"
        raise RowError(detail, pointer=f"{pointer}/content", code="empty_text")
    return {"role": _ROLES[name], "content": _content(content, pointer)}


def _role(turn: dict[str, Any]) -> str:
    return str(_either(turn, "role", "from")).lower()


def _either(turn: dict[str, Any], name: str, other: str) -> Any:
    """The value under OpenAI's or ShareGPT's name. In a table with both columns, each row fills one."""
    return turn[name] if turn.get(name) is not None else turn.get(other)


def _unlike(value: Any, detail: str) -> tuple[str, str]:
    """Detail and code of the error for a value of the wrong type."""
    return ("is empty", "empty_text") if value is None else (detail, "wrong_type")


def _content(value: Any, pointer: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_part(part, f"{pointer}/content/{index}") for index, part in enumerate(value))
    detail, code = _unlike(value, "must be text")
    raise RowError(detail, pointer=f"{pointer}/content", code=code)


def _part(part: Any, pointer: str) -> str:
    """The text of one part of a content. Raises RowError for a part of another type."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise RowError("must be a text, or a part with `type` and `text`", pointer=pointer, code="wrong_type")
    kind, text = str(part.get("type") or "text").lower(), _either(part, "text", "value")
    if kind in _CALLS:
        raise RowError(f"is a part of the type {kind}; only text is trained here", pointer=pointer, code="tools")
    if kind in _THOUGHTS:
        detail = f"is a part of the type {kind}: remove it, or write it into the text if it is to be learnt"
        raise RowError(detail, pointer=pointer, code="reasoning")
    if kind not in _TEXTS or any(part.get(name) for name in _PICTURES):
        shown = next((name for name in _PICTURES if part.get(name)), kind)
        raise RowError(f"is a part of the type {shown[:40]}, not text", pointer=pointer, code="not_text")
    if not isinstance(text, str):
        detail, code = _unlike(text, "must be text")
        raise RowError(detail, pointer=f"{pointer}/text", code=code)
    return text
