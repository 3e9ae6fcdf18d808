"""Rows as the job would encode them: by the trainer's own tokenizer code, many at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from data.errors import RowError
from data.report.items import Item
from data.report.scanned import NO_ANSWER
from data.report.tokenizer import RowTokenizer
from data.rows import Prompt


@dataclass
class Encoded:
    """Of each row, as the job would have it. Lengths are those before anything is cut, without the EOS."""

    prompts: list[int] = field(default_factory=list)
    """Tokens of each row's prompt; 0 without one, or where the chat template refuses it."""
    answers: list[int] = field(default_factory=list)
    """Tokens of each answer, row after row."""
    firsts: list[int] = field(default_factory=list)
    """Of each answer the place in its row of the first one with the same tokens, cut and closed as the job does it."""
    same: list[int] = field(default_factory=list)
    """Of each row the first answer that has the tokens of one before it, or NO_ANSWER."""
    refused: dict[int, str] = field(default_factory=dict)
    """Rows whose prompt the chat template refuses, and what it says."""


def encode(items: Sequence[Item], tokenizer: RowTokenizer) -> Encoded:
    """Count the tokens of a chunk. Equal prompts are encoded once."""
    found = Encoded()
    texts = _rendered(items, tokenizer, found.refused)
    unique = list(dict.fromkeys(text for text in texts if text is not None))
    lengths = {text: len(ids) for text, ids in zip(unique, tokenizer.prompt_ids(unique), strict=True)}
    found.prompts = [0 if text is None else lengths[text] for text in texts]
    answers = iter(tokenizer.completion_ids([text for item in items for text in item.answers]))
    for item in items:
        own = [next(answers) for _ in item.answers]
        found.answers += map(len, own)
        firsts = _firsts([tuple(tokenizer.closed(ids)[0]) for ids in own])
        found.firsts += firsts
        found.same.append(next((at for at, first in enumerate(firsts) if first != at), NO_ANSWER))
    return found


def _rendered(items: Sequence[Item], tokenizer: RowTokenizer, refused: dict[int, str]) -> list[str | None]:
    known: dict[str, str | None] = {}
    texts: list[str | None] = []
    for row, item in enumerate(items):
        if item.prompt is None or item.prompt_key is None:
            texts.append(None)
            continue
        try:
            if item.prompt_key not in known:
                known[item.prompt_key] = tokenizer.rendered(item.prompt)
        except RowError as error:
            refused[row] = str(error)
            texts.append(None)
            continue
        texts.append(known[item.prompt_key])
    return texts


def _firsts(answers: Sequence[tuple[int, ...]]) -> list[int]:
    known: dict[tuple[int, ...], int] = {}
    return [known.setdefault(answer, at) for at, answer in enumerate(answers)]


def rewrites(tokenizer: RowTokenizer, prompt: Prompt, answer: str) -> bool:
    """Whether the chat template renders the prompt of a whole conversation differently from the prompt alone.

    The trainer uses the rendering of the prompt alone, which is also what the policy sees when it generates.
    """
    whole = tokenizer.conversation(prompt, answer)
    try:
        return whole is not None and not whole.startswith(tokenizer.rendered(prompt))
    except RowError:
        return False  # reported as `template_refuses`
