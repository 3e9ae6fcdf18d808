"""Splits a text into sentences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from texts import Text

CODE = re.compile(r"(``?)[^`]+\1")
END = re.compile(r"[.!?][\"'`)\]*_]*\s+(?=[A-Z`\"'(\[*_0-9])")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|cf|al|vs|Eq|Sec|Fig|No|approx|etc|resp)\.$")
BULLET = re.compile(r"\s*(?:[-*+•]|\d+[.)]|#+|>)\s+")


@dataclass(frozen=True)
class Sentence:
    line: int
    end: int  # its last line
    text: str


def sentences(text: Text) -> Iterator[Sentence]:
    """The sentences of a text. Headings, list items, table cells and paragraphs end a sentence; indented code is left out."""
    for line, block in _blocks(text):
        start = 0
        for found in END.finditer(block):
            if ABBREVIATION.search(block[: found.start() + 1]):
                continue
            yield _sentence(line, block, start, found.end())
            start = found.end()
        yield _sentence(line, block, start, len(block))


def _sentence(line: int, block: str, start: int, end: int) -> Sentence:
    raw = block[start:end].rstrip()
    begin = line + block[:start].count("\n")
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", raw)
    return Sentence(begin, begin + raw.count("\n"), re.sub(r"https?://\S+", "URL", text))


def _blocks(text: Text) -> Iterator[tuple[int, str]]:
    """The paragraphs, each with the number of its first line."""
    block: list[str] = []
    begin = text.line
    lines = text.text.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    listed = False
    for number, line in enumerate(lines, text.line):
        body = line[margin:] if number > text.line else line.lstrip()
        bullet = BULLET.match(body)
        is_code = not listed and not block and body.startswith("    ") and text.kind in {"docstring", "page"}
        if not body.strip() or bullet or is_code or body.lstrip().startswith("|"):
            if block:
                yield begin, "\n".join(block)
            block = []
        if not body.strip() or is_code:
            continue
        if body.lstrip().startswith("|"):
            yield from (
                (number, cell.strip()) for cell in re.split(r"(?<!\\)\|", CODE.sub("code", body)) if cell.strip()
            )
            continue
        listed = bool(bullet) or (listed and body.startswith(" "))
        if not block:
            begin = number
        block.append(body[bullet.end() :] if bullet else body)
    if block:
        yield begin, "\n".join(block)
