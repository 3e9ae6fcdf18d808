"""Finds the texts that people read in a file: docstrings, comments, messages, UI text and Markdown.

Regular expressions find them. Python's own parser needs 3 s for the whole tree, and this program less than one.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Text:
    """A piece of prose. A line break in `text` is one in the file, so that the line of a sentence can be counted."""

    kind: str  # "docstring", "comment", "string", "markup" or "page"
    line: int  # where `text` begins, from 1
    text: str
    name: str = ""  # of the function or class that a docstring describes


Token = re.Match[str]
PYTHON = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"|[rbfRBF]{0,2}(?:\"\"\"(?P<long>(?:\\.|(?!\"\"\").)*)\"\"\"|\"(?P<double>(?:\\.|[^\"\\\n])*)\"|'(?P<single>(?:\\.|[^'\\\n])*)')",
    re.DOTALL,
)
# The signature between the name of a definition and its docstring.
SIGNATURE = re.compile(r"(?:\[[^\]]*\])?(?:\((?:[^()]|\([^()]*\))*\))?(?:\s*->[^\n]*)?:\s*")
DEFINITION = re.compile(r"^[ \t]*(?:async )?(?:def|class) (\w+)", re.MULTILINE)
TYPESCRIPT = re.compile(
    r"(?P<block>/\*.*?\*/)|(?P<comment>(?<!:)//[^\n]*)"
    r"|(?<=[(,=:\[!&|?{;])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/"  # a regular expression
    r"|\"(?P<string>(?:\\.|[^\"\\\n])*)\"|`(?P<template>(?:\\.|[^`\\])*)`"
    # the text between two tags, with the expressions in it
    r"|(?<=[\w\"'})/])>(?P<markup>(?:[^<>{}=;]|\{[^{}<>;]*\})*[a-z]{2}(?:[^<>{}=;]|\{[^{}<>;]*\})*)(?=[<{])",
    re.DOTALL,
)
HASH = re.compile(r"(?:^|(?<=\s))(?P<comment>#[^\n]*)", re.MULTILINE)
CSS = re.compile(r"(?P<block>/\*.*?\*/)", re.DOTALL)
DIRECTIVE = re.compile(r"#\s*(?:noqa|type:|fmt:|ruff:|pragma|!)|//\s*(?:eslint|@ts-|prettier)")
# Fenced code, the parts that docs/generate writes, and comments of a Markdown page.
NOT_PROSE = [
    re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE),
    re.compile(r"(?<=written by docs/generate -->).*?(?=<!-- end of)", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
]


def texts(path: Path, source: str) -> Iterator[Text]:
    """The texts of a file. The strings of tests are data, and left out."""
    if path.suffix == ".md":
        yield from _page(source)
    elif path.suffix == ".py":
        yield from _python(source, strings=path.parts[0] != "tests")
    elif path.suffix in {".ts", ".tsx", ".js"}:
        yield from _typescript(source, strings=".test." not in path.name)
    elif path.suffix == ".css":
        yield from _comments(source, CSS.finditer(source))
    else:
        yield from _comments(source, HASH.finditer(source))


def _python(source: str, strings: bool) -> Iterator[Text]:
    tokens = list(PYTHON.finditer(source))
    yield from _comments(source, (token for token in tokens if token["comment"]))
    joined: list[Token] = []  # literals that stand side by side
    for token in tokens:
        if token["comment"]:
            continue
        if joined and re.sub(r"#[^\n]*", "", source[joined[-1].end() : token.start()]).strip():
            yield from _string(source, joined, strings)
            joined = []
        joined.append(token)
    if joined:
        yield from _string(source, joined, strings)


def _string(source: str, tokens: list[Token], strings: bool) -> Iterator[Text]:
    first = tokens[0]
    line = source.count("\n", 0, first.start()) + 1
    if first["long"] is not None and _is_statement(source, first):
        yield Text("docstring", line, first["long"], _described(source, first.start()))
        return
    text, end = "", first.start()
    for token in tokens:
        literal = next(part for part in (token["long"], token["double"], token["single"]) if part is not None)
        text += "\n" * source.count("\n", end, token.start()) + literal
        end = token.end()
    if strings and _is_prose(text):
        yield Text("string", line, _plain(text))


def _is_statement(source: str, token: Token) -> bool:
    """Whether a literal is a docstring: nothing stands before it on its line, and no expression is open."""
    before = source[max(0, token.start() - 300) : token.start()]
    return not before.rpartition("\n")[2].strip() and not re.search(r"[(,=\[+{]\s*$", before)


def _described(source: str, position: int) -> str:
    """The name of the function or class whose docstring stands at `position`, or an empty text."""
    begin = max(0, position - 1500)
    found = None
    for found in DEFINITION.finditer(source, begin, position):  # noqa: B007
        pass
    return found[1] if found and SIGNATURE.fullmatch(source, found.end(), position) else ""


def _is_prose(text: str) -> bool:
    """Whether a literal reads like a sentence: three words, and neither SQL nor a template nor a list of names."""
    if re.match(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP)\b", text) or "{%" in text or "</" in text:
        return False
    return len(re.findall(r"(?<![\w/.<>=-])[A-Za-z][a-z]+(?![\w/=<>(])", text)) >= 3


def _plain(text: str) -> str:
    """A literal with each escape as a space and each field as one word."""
    return re.sub(r"\$?\{[^{}]*\}", "X", re.sub(r"\\[nt]", "  ", text))


def _typescript(source: str, strings: bool) -> Iterator[Text]:
    tokens = list(TYPESCRIPT.finditer(source))
    yield from _comments(source, (token for token in tokens if token["comment"] or token["block"]))
    for token in tokens:
        text = token["string"] or token["template"] or token["markup"]
        if text and strings and _is_prose(text):
            begin = token.start() + token[0].index(text) + len(text) - len(text.lstrip())
            line = source.count("\n", 0, begin) + 1
            yield Text("markup" if token["markup"] else "string", line, _plain(text.lstrip()))


def _comments(source: str, tokens: Iterable[Token]) -> Iterator[Text]:
    """A text for each comment, and one for several that fill a line each and stand one below the other."""
    block: list[str] = []
    begin = 0
    for token in tokens:
        if DIRECTIVE.match(token[0]):
            continue
        line = source.count("\n", 0, token.start()) + 1
        fills = not source[source.rfind("\n", 0, token.start()) + 1 : token.start()].strip()
        if block and not (fills and line == begin + len(block)):
            yield Text("comment", begin, "\n".join(block))
            block = []
        if not block:
            begin = line
        text = re.sub(r"^(?:/\*\*?|//+|#+)|\*/$", "", token[0])
        block += re.sub(r"(?m)^[ \t]*\*(?= |$)", "", text).split("\n")
    if block:
        yield Text("comment", begin, "\n".join(block))


def _page(source: str) -> Iterator[Text]:
    if "<!-- Written by docs/generate" in source:
        return
    for pattern in NOT_PROSE:
        source = pattern.sub(lambda found: "\n" * found[0].count("\n"), source)
    yield Text("page", 1, source)
