"""Checks of single rows that need no tokenizer."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from typing import NamedTuple

from data.report import pii
from data.report.columns import NO_ANSWER
from data.report.items import Item
from data.report.words import shared_beginning

WELL_KNOWN = (
    "<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|endoftext|>", "<|endofprompt|>", "<|end_of_text|>", "<|begin_of_text|>",
    "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>", "<|system|>", "<|user|>",
    "<|assistant|>", "<|end|>", "<|pad|>", "<|eos|>", "<|bos|>", "<|unk|>", "<|sep|>", "<|startoftext|>", "<|channel|>",
    "<|message|>", "<|start|>", "<|return|>", "<|eot|>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>",
    "<start_of_turn>", "<end_of_turn>", "<s>", "</s>", "<eos>", "<bos>", "<pad>", "<unk>", "<mask>",
    "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "[gMASK]", "[EOS]", "[BOS]",
    "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>",
)  # fmt: skip
"""Special tokens of ChatML, Llama 2 and 3, Gemma, Phi, Mistral, GPT, BERT, Cohere, DeepSeek and similar models."""
NESTED = 20
"""Most levels of tokens nested in each other that are searched; data/strips.py removes as many."""
_SHORTEST = 3
"""Least length: a shorter special token is more likely ordinary text."""


def token_pattern(of_model: Iterable[str] = ()) -> re.Pattern[str]:
    """A pattern that matches the well-known tokens and those of the model, longer tokens first."""
    tokens = {token for token in (*WELL_KNOWN, *of_model) if len(token) >= _SHORTEST}
    return re.compile("|".join(re.escape(token) for token in sorted(tokens, key=lambda token: (-len(token), token))))


def spelt_tokens(text: str, special: re.Pattern[str]) -> set[str]:
    """Special tokens in the text, and those that form when these are removed."""
    tokens: set[str] = set()
    for _ in range(NESTED):
        level = set(special.findall(text))
        if not level:
            break
        tokens |= level
        text = special.sub("", text)
    return tokens


class Hit(NamedTuple):
    """One match of a check in a row."""

    code: str
    """The code of the finding."""
    text: str
    """An excerpt with the match."""
    answer: int = NO_ANSWER
    """The number of the answer, from 0."""


Hits = Iterator[Hit]
"""The matches in a row, at most one for each code."""
RowCheck = Callable[[Item], Hits]

_EXCERPT = 80
"""Characters shown on each side of a match."""
_LONG_PROMPT = 20
"""Least length of a prompt that an answer does not begin with by chance."""
_SHARED_SHARE, _SHARED_CHARACTERS = 0.5, 40
"""Least number of characters that two answers share at the beginning for a finding, because it looks like a part of the prompt."""
_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufe0e\ufe0f")
"""Invisible characters of other categories: fillers, the empty Braille cell and variation selectors."""
_ROLE = re.compile(
    r"^[ \t]*(?:Human|Assistant|User|#{2,4} ?(?:Instruction|Input|Response|Human|Assistant)) ?:", re.MULTILINE
)


def excerpt(text: str, begin: int = 0, end: int | None = None) -> str:
    """`text[begin:end]` and its surroundings on one line. White space is visible where it matters."""
    end = begin if end is None else end
    first, last = max(0, begin - _EXCERPT), min(len(text), max(end, begin) + _EXCERPT)
    shown = text[first:last].replace("\r", "␍").replace("\n", "⏎").replace("\t", "⇥")
    return f"{'…' if first else ''}{shown}{'…' if last < len(text) else ''}"


def white_space(item: Item) -> Hits:
    """White space around answers and messages. White space before an answer to a plain text joins the two, and is not reported."""
    for answer, text in enumerate(item.answers):
        if text and text[-1].isspace():
            yield Hit("trailing_whitespace", excerpt(text, len(text)) + "▏", answer)
            break
    if item.prompt is None or isinstance(item.prompt, str):
        return
    for answer, text in enumerate(item.answers):
        if text and text[0].isspace():
            yield Hit("leading_whitespace", "▏" + excerpt(text), answer)
            break
    around = next((m["content"] for m in item.prompt if m["content"] != m["content"].strip()), None)
    if around is not None:
        yield Hit("prompt_whitespace", f"▏{excerpt(around)}")


def empty_answers(item: Item) -> Hits:
    """Answers of white space and invisible characters (zero-width spaces, control characters), and answers without a word."""
    for answer, text in enumerate(item.answers):
        if all(sign in _BLANK_LETTERS or unicodedata.category(sign) in _INVISIBLE for sign in text):
            yield Hit("empty_answer", f"▏{text.encode('unicode_escape').decode()[:200]}▏", answer)
            return
    for answer, text in enumerate(item.answers):
        if not any(map(str.isalnum, text)):
            yield Hit("wordless_answer", excerpt(text), answer)
            return


def duplicate_answers(item: Item) -> Hits:
    """Two answers that differ only in the white space around them. The later one is reported."""
    known: set[str] = set()
    for answer, text in enumerate(map(str.strip, item.answers)):
        if text in known:
            yield Hit("same_after_trim", excerpt(text), answer)
            return
        known.add(text)


def repeated_prompt(item: Item) -> Hits:
    """Answers that begin with the prompt, or with a common text that looks like a part of it."""
    if item.prompt is None or not item.answers:
        return
    asked = (item.prompt if isinstance(item.prompt, str) else item.prompt[-1]["content"]).strip()
    if len(asked) >= _LONG_PROMPT and all(text.lstrip().startswith(asked) for text in item.answers):
        yield Hit("prompt_in_answer", excerpt(item.answers[0]))
        return
    if len(item.answers) < 2:
        return
    shared, shortest = shared_beginning(item.answers), min(map(len, item.answers))
    if shared >= max(_SHARED_CHARACTERS, _SHARED_SHARE * shortest):
        yield Hit("shared_beginning", f"{excerpt(item.answers[0][:shared])}▏")


def role_markers(item: Item) -> Hits:
    """Answers with further turns of a conversation, from the file's splitting or made up by a model."""
    for answer, text in enumerate(item.answers):
        if match := _ROLE.search(text):
            yield Hit("role_in_answer", excerpt(text, *match.span()), answer)
            return


def turn_order(item: Item) -> Hits:
    """Conversations that the assistant begins, or with two turns of one role in sequence."""
    if item.prompt is None or isinstance(item.prompt, str):
        return
    messages = [(message["role"], message["content"]) for message in item.prompt if message["role"] != "system"]
    messages += [("assistant", text) for text in item.answers[:1]]
    for (role, text), due in zip(messages, cycle(("user", "assistant")), strict=False):
        if role != due:
            yield Hit("turns_do_not_alternate", f"{role}, not {due}: {excerpt(text)}")
            return


def special_tokens(pattern: re.Pattern[str]) -> RowCheck:
    """A check for special tokens that are spelt out in a text of the row."""

    def check(item: Item) -> Hits:
        for answer, text in _placed(item):
            if match := pattern.search(text):
                yield Hit("special_tokens", excerpt(text, *match.span()), answer)
                return

    return check


def personal_data(item: Item) -> Hits:
    """Strings that look like personal data, the first of each kind."""
    hits: dict[str, Hit] = {}
    for answer, text in _placed(item):
        for code, begin, end in pii.matches(text):
            hits.setdefault(code, Hit(code, excerpt(text, begin, end), answer))
    yield from hits.values()


def item_texts(item: Item) -> Iterator[str]:
    """Every text of the row: prompts and answers."""
    return (text for _, text in _placed(item))


def _placed(item: Item) -> Iterator[tuple[int, str]]:
    """Every text of the row, with the number of its answer or NO_ANSWER."""
    if isinstance(item.prompt, str):
        yield NO_ANSWER, item.prompt
    elif item.prompt is not None:
        yield from ((NO_ANSWER, message["content"]) for message in item.prompt)
    yield from enumerate(item.answers)


def row_checks(special: re.Pattern[str]) -> list[RowCheck]:
    """Every check, in the order of their findings. `special` matches the special tokens that are searched."""
    return [
        white_space,
        empty_answers,
        duplicate_answers,
        repeated_prompt,
        role_markers,
        turn_order,
        special_tokens(special),
        personal_data,
    ]
