"""The rules of prose that a program can see, each as a function of one sentence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sentences import CODE, sentences
from texts import Text

MOST_WORDS = 30
MOST_WORDS_WITH_SEMICOLON = 25
OPENINGS = ("Of", "What", "Whoever", "Nobody", "As")
# prose: the rules hold the words that they look for
PERSON = re.compile(r"\b(?:nobody|whoever|somebody)\b", re.IGNORECASE)
METAPHOR = re.compile(  # prose: the rule's words
    r"\b(?:knock(?:s|ed|ing)?|dials?|fates?|doors?|wish(?:es)?|nuisance)\b", re.IGNORECASE
)
VERB = re.compile(r"\b(?:says|said|saying|tells|told|knows|hears)\b")  # prose: the words
DASH = re.compile(r"[\u2010-\u2015]")
FILLER = {"a", "an", "the", "of", "to", "for", "in", "this", "and", "it"}


@dataclass(frozen=True, order=True)
class Violation:
    line: int
    rule: str
    text: str
    end: int = 0  # the last line of the sentence


def violations(text: Text) -> Iterator[Violation]:
    """The rules that the sentences of a text break."""
    for number, sentence in enumerate(sentences(text)):
        for rule, excerpt in _broken(sentence.text, text, first=number == 0):
            yield Violation(sentence.line, rule, excerpt, sentence.end)


def dashes(source: str) -> Iterator[Violation]:
    """Every line of code that holds a dash other than `-`."""
    for number, line in enumerate(source.splitlines(), 1):
        if DASH.search(line):
            yield Violation(number, "dash", f"write '-', a comma or a new sentence: {line.strip()[:80]}", number)


def _broken(sentence: str, text: Text, first: bool) -> Iterator[tuple[str, str]]:
    """Each broken rule with a message. Code in backticks counts as one word, and is not searched."""
    prose = CODE.sub("code", sentence)
    words = [word for word in prose.split() if re.search(r"[A-Za-z0-9]", word)]
    begin = " ".join(sentence.split())[:80]
    if len(words) > MOST_WORDS:
        yield "long", f"{len(words)} words, at most {MOST_WORDS}: {begin}"
    elif len(words) > MOST_WORDS_WITH_SEMICOLON and "; " in prose:
        yield "semicolon", f"two sentences in {len(words)} words: {begin}"
    if len(words) > 1 and words[0].strip("*_\"'(") in OPENINGS:
        yield "opening", f"begins with '{words[0]}': {begin}"
    for rule, pattern in (("person", PERSON), ("metaphor", METAPHOR), ("verb", VERB)):
        if found := pattern.search(prose):
            yield rule, f"'{found[0]}': {begin}"
    if first and text.kind == "docstring" and _repeats(text.name, sentence):
        yield "repeats", f"only repeats the name {text.name}: {begin}"
    if text.kind == "markup" and re.search(r"`\w|\*\*\w", sentence):
        yield "markup", f"raw Markdown in the interface: {begin}"


def _repeats(name: str, sentence: str) -> bool:
    """Whether a docstring has no other words than the name of its function."""
    of_name = {_stem(part.lower()) for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    said = {_stem(word.lower()) for word in re.findall(r"[A-Za-z]+", sentence)} - FILLER
    return bool(name) and bool(said) and said <= of_name


def _stem(word: str) -> str:
    return word.rstrip("s") if len(word) > 3 else word
