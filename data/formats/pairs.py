"""Functions for formats of pairs: the prompt of two sides, and margins from scores."""

from typing import Any

from data.errors import RowError
from data.formats import chat
from data.formats.base import Reading, Row, Source
from data.formats.values import given, notes, number
from data.names import NOTED, PAIR_SCORE_COLUMNS, PAIR_SCORES
from data.schema import NOTES

PAIR_NOTES = PAIR_SCORE_COLUMNS | NOTED | set(NOTES)
"""Columns that `pair_notes` reads."""


def compared(prompt: Any, chosen: Any, rejected: Any, names: tuple[str, str], reading: Reading) -> tuple[Any, str, str]:
    """Prompt and answers of two sides. Each side is an answer, or the whole conversation that ends with it.

    For whole conversations, the prompt is their common beginning. `prompt` (None if absent) may then repeat it or a
    part of it. Raises RowError.
    """
    stated = prompt if prompt is None or isinstance(prompt, str) else chat.messages(prompt, "/prompt")
    if not (_is_conversation(chosen) or _is_conversation(rejected)):
        return stated, chat.answer(chosen, f"/{names[0]}"), chat.answer(rejected, f"/{names[1]}")
    found, a = _cut_answer(chosen, f"/{names[0]}")
    if _is_conversation(rejected) and found and chosen[:-1] == rejected[:-1]:
        b = chat.answer(rejected[-1:], f"/{names[1]}")
    else:
        second, b = _cut_answer(rejected, f"/{names[1]}")
        found = chat.shared(found, second, f"/{names[1]}") if found and second else found or second
    if isinstance(stated, list):
        found = _joined(stated, found, names)
    elif found and isinstance(stated, str) and not _overlaps(stated, found):
        reading.note("prompt_unlike", "the two conversations do not hold the prompt beside them; their own was used")
    return found or stated, a, b


def _cut_answer(side: Any, pointer: str) -> tuple[list[chat.Message], str]:
    """The messages before the last answer, and that answer. A text is an answer without messages."""
    return ([], side) if isinstance(side, str) else chat.prompt_and_answer(side, pointer)


def _joined(stated: list[chat.Message], found: list[chat.Message], names: tuple[str, str]) -> list[chat.Message]:
    """The messages of a prompt column and of the common beginning, joined. Raises RowError if they do not fit together."""
    if not found or stated[-len(found) :] == found:
        return stated  # the sides leave out how it begins, as a system message
    if all(message in found for message in stated if message["role"] != "system"):
        scene = [message for message in stated[:1] if message["role"] == "system"]
        return scene + found if found[0]["role"] != "system" else found
    if stated[-1]["role"] == "user" and found[0]["role"] != "assistant":
        detail = f"{names[0]} and {names[1]} begin with another prompt than the one beside them"
        raise RowError(detail, pointer=f"/{names[0]}", code="prompt_differs")
    return stated + found  # the sides go on where the prompt ends


def _overlaps(text: str, found: list[chat.Message]) -> bool:
    """Whether the prompt contains a message, or a message contains it. Mixed datasets repeat the first or last turn, or all turns in a template."""
    contents = [content for message in found if (content := message["content"].strip())]
    return any(text.strip() in content or content in text for content in contents)


def _is_conversation(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1


def whole(record: Source) -> bool:
    """Whether `chosen` or `rejected` is a whole conversation, and not an answer only."""
    return _is_conversation(record.get("chosen")) or _is_conversation(record.get("rejected"))


def pair_notes(record: Source, reading: Reading) -> Row:
    """Annotator, source, time and margin. Without a margin, it is the difference of the scores."""
    found = {} if NOTED.isdisjoint(record) else notes(record) | given(record, reading, "annotator", "source", "time")
    found |= given(record, reading, "margin")
    if "margin" not in found and not PAIR_SCORE_COLUMNS.isdisjoint(record):
        for pair in PAIR_SCORES:
            found |= margin(record, reading, *pair)
    return found


def scored(record: Source) -> bool:
    """Whether both sides have a score."""
    return any(record.keys() >= {*pair} for pair in PAIR_SCORES)


def margin(record: Source, reading: Reading, chosen: str, rejected: str) -> Row:
    """`{"margin": …}`, the chosen side's score minus the rejected side's. Empty if a score is missing or the chosen side's is lower."""
    if record.get(chosen) is None or record.get(rejected) is None:
        return {}
    better, worse = number(record[chosen], chosen, reading), number(record[rejected], rejected, reading)
    if better < worse:
        reading.note("scores_disagree", f"`{chosen}` is less than `{rejected}`")
        return {}
    return {"margin": round(better - worse, 12)}


def repeats(prompt: Any, a: Any, b: Any, reading: Reading) -> None:
    """Note answers that both begin with the whole prompt, which the policy would learn to repeat."""
    texts = isinstance(prompt, str) and isinstance(a, str) and isinstance(b, str)
    if texts and len(prompt) > 20 and a.startswith(prompt) and b.startswith(prompt):
        reading.note("prompt_repeated", "both answers begin with the whole prompt")


_TURNS = (
    "\n\nAssistant:", "### Response:\n", "<|im_start|>assistant\n", "<|assistant|>\n", "<|assistant|>", "[/INST]",
    "<start_of_turn>model\n", "<|start_header_id|>assistant<|end_header_id|>\n\n", "\nAnswer:", "\nA:", "\nTL;DR:",
)  # fmt: skip
"""Where an answer begins in texts that hold a whole conversation."""
_IN_ANSWERS = ("\nAnswer:", "\nA:", "\nTL;DR:")
"""Marks that an answer may also contain."""


def common_prompt(chosen: str, rejected: str) -> tuple[str, str, str]:
    """The common beginning of two texts, cut where an answer could begin, and the two remainders.

    The cut is after the last mark of a turn, or before a space, so that no word is split (as in TRL's
    extract_prompt). Raises RowError if no possible prompt is left.
    """
    prefix = chosen[: _shared_length(chosen, rejected)]
    cut = max((prefix.rfind(sign) + len(sign) for sign in _TURNS if sign in prefix), default=None)
    if cut is None:
        cut = _between_words(prefix, chosen, rejected)
    prompt = prefix[:cut]
    if any(sign in prompt and sign in chosen[cut:] + rejected[cut:] for sign in _TURNS if sign not in _IN_ANSWERS):
        detail = "chosen and rejected part before their last answer: a further turn follows"
        raise RowError(detail, pointer="/rejected", code="prompt_differs")
    if chosen == rejected:
        raise RowError("chosen and rejected are the same text", pointer="/rejected", code="identical_answers")
    if len(prompt.strip()) < 4 or (prompt.isascii() and len(prompt.split()) < 2):
        shared = f"share only {prompt.strip()[:40]!r}" if prompt.strip() else "share no beginning"
        raise RowError(f"chosen and rejected {shared}, so there is no prompt", code="prompt_differs")
    return prompt, chosen[cut:], rejected[cut:]


def _shared_length(first: str, second: str) -> int:
    """The length of the longest common beginning, by binary search: comparing slices is fast."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _between_words(prefix: str, chosen: str, rejected: str) -> int:
    """The place of the cut: neither remainder is blank, and no word is split. The space belongs to the answers."""
    end = len(prefix)
    torn = prefix[-1:].isalnum() and not all(text[end : end + 1].isspace() for text in (chosen, rejected))
    whole = all(text[end:].strip() for text in (chosen, rejected))
    if whole and not (torn and prefix.isascii()):
        return end - 1 if prefix.endswith(" ") else end
    return max(prefix.rstrip().rfind(" "), prefix.rstrip().rfind("\n"), 0)
