"""OpenAI's preference fine-tuning, which Azure and Fireworks accept too."""

from typing import Any

from data.errors import RowError
from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from data.formats.values import field, given
from data.schema import NOTES


def _rows(record: Source, reading: Reading) -> Rows:
    request = field(record, "input")
    value = request.get("messages") if isinstance(request, dict) else request
    prompt: Any = value if isinstance(value, str) else chat.messages(value, "/input/messages")
    if isinstance(request, dict):
        chat.note_tools(request, reading)
    sides = {name: field(record, name) for name in ("preferred_output", "non_preferred_output")}
    answers = [_answer(value, name) for name, value in sides.items()]
    yield {"prompt": prompt, "a": answers[0], "b": answers[1], "label": "a"} | given(record, reading, *NOTES)


def _answer(value: Any, name: str) -> str:
    """The text of one assistant message. Raises RowError for several messages and for tool calls."""
    if isinstance(value, list) and len(value) != 1:
        chat.messages(value, f"/{name}")  # a tool's part in it is the better reason
        raise RowError(f"must be one message; it has {len(value)}", pointer=f"/{name}", code="several_turns")
    return chat.answer(value, f"/{name}")


FORMAT = Format(
    id="openai_preference",
    title="OpenAI preference",
    about="`input` with messages, and a preferred and a non-preferred output of one assistant message each.",
    source="https://platform.openai.com/docs/guides/direct-preference-optimization",
    kinds=(PREFERENCES,),
    sides_named=True,
    example=(
        {
            "input": {
                "messages": [{"role": "user", "content": "How cold is San Francisco today?"}],
                "tools": [],
                "parallel_tool_calls": True,
            },
            "preferred_output": [{"role": "assistant", "content": "About 12 °C, and it feels colder by the water."}],
            "non_preferred_output": [{"role": "assistant", "content": "It is not particularly cold."}],
        },
    ),
    fields=frozenset({"input", "preferred_output", "non_preferred_output", *NOTES}),
    fits=lambda record: has(record, "input", "preferred_output", "non_preferred_output"),
    rows=_rows,
    names={"a": "preferred_output", "b": "non_preferred_output", "prompt": "input/messages"},
    specific=90,
)
