"""Scans one chunk of the file: everything that does not depend on other rows.

Runs in several processes, each with a Scanner of its own.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from data.errors import UnreadableRows
from data.parse import read_row
from data.report import languages, minhash
from data.report.columns import NO_ANSWER, Chunk, Scanned
from data.report.items import Item, parser
from data.report.languages import language_of
from data.report.near_duplicates import Sets, sets_of, similar_rows, similar_texts
from data.report.row_checks import excerpt, item_texts, row_checks, spelt_tokens, token_pattern
from data.report.settings import LoadTokenizer, ReportSettings, RowTokenizer, TokenizerFacts
from data.report.tokens import encode_rows, rewrites
from data.report.words import normalised, shingles
from data.schema import STEP_LABELS
from data.splits import text_hash

_KEPT = 4096
"""Rows whose shingles are cached while candidates are compared."""


class Scanner:
    """Parser, tokenizer and caches of one process."""

    def __init__(self, path: Path, settings: ReportSettings, load_tokenizer: LoadTokenizer | None) -> None:
        self.path = path
        self._parse = parser(settings.kind)
        self._kind = settings.kind
        self._identify = languages.identifier()
        self._tokenizer: RowTokenizer | None = None
        self._facts: TokenizerFacts | None = None
        if load_tokenizer is not None:
            self._tokenizer, self._facts = load_tokenizer()
        self._special = token_pattern(self._facts.special_tokens if self._facts else ())
        self._looks = row_checks(self._special)
        self._sets = lru_cache(_KEPT)(self._read_sets)

    def scan(self, chunk: Chunk) -> Scanned:
        """The columns of a chunk. Raises UnreadableRows, which names the line, for a row that the trainer would refuse."""
        items, offsets, lines = self._items(chunk)
        found = Scanned()
        found.arrays["offset"] = np.array(offsets, np.uint64)
        found.conversations = sum(isinstance(item.prompt, list) and len(item.prompt) > 1 for item in items)
        self._look(items, found)
        self._identities(items, found)
        self._lengths(items, found)
        self._signatures(items, found)
        row_of = {line: row for row, line in enumerate(lines)}
        self._languages(items, [row_of[line] for line in chunk.sampled if line in row_of], found)
        if self._tokenizer is not None:
            self._encode(items, found)
        return found

    def similar_prompts(self, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """Whether the prompts of each two rows, named by their offsets, are near duplicates."""
        return [similar_texts(self._sets(one)[0], self._sets(other)[0]) for one, other in pairs]

    def similar_rows(self, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """Whether each two rows are near duplicates: their prompts, and each answer of one in the other."""
        return [similar_rows(self._sets(one), self._sets(other)) for one, other in pairs]

    def tokenizer_facts(self, _: None) -> TokenizerFacts | None:
        """The properties of the tokenizer, or None without a model."""
        return self._facts

    def _items(self, chunk: Chunk) -> tuple[list[Item], list[int], list[int]]:
        """Each row with its offset in the file and its line in the chunk. Blank lines are skipped."""
        items, offsets, lines = [], [], []
        offset = chunk.offset
        with self.path.open("rb") as file:
            file.seek(offset)
            block = file.read(chunk.length)
        for number, line in enumerate(block.split(b"\n")):
            if line.strip():
                items.append(self._item(line, chunk.line + number))
                offsets.append(offset)
                lines.append(number)
            offset += len(line) + 1
        return items, offsets, lines

    def _item(self, line: bytes, number: int) -> Item:
        try:
            return read_row(str(self.path), number, line.decode("utf-8-sig"), self._parse)
        except UnicodeDecodeError as error:
            raise UnreadableRows(
                f"{self.path}, line {number}: not UTF-8 text (byte {error.start} of the line)."
            ) from error

    def _look(self, items: Sequence[Item], scanned: Scanned) -> None:
        for row, item in enumerate(items):
            for look in self._looks:
                for hit in look(item):
                    scanned.mark(hit.code, row, hit.text, hit.answer)
        if "special_tokens" in scanned.marks:
            for row in scanned.marks["special_tokens"].rows:
                scanned.tokens.update(*(spelt_tokens(text, self._special) for text in item_texts(items[row])))

    def _identities(self, items: Sequence[Item], scanned: Scanned) -> None:
        """Columns with equal numbers for equal prompts, rows and verdicts."""
        names = {
            name: number for number, name in enumerate(dict.fromkeys(i.annotator for i in items if i.annotator), 1)
        }
        numbers = np.array([identities(item) for item in items], np.uint64).reshape(len(items), len(IDENTITIES))
        scanned.annotators = list(names)
        scanned.arrays |= {name: numbers[:, index].copy() for index, name in enumerate(IDENTITIES)}
        scanned.arrays["annotator"] = np.array([names.get(i.annotator or "", 0) for i in items], np.int32)
        scanned.arrays["source"] = np.array([text_hash(i.source) if i.source else 0 for i in items], np.uint64)
        scanned.arrays["answers"] = np.array([len(item.answers) for item in items], np.uint16)
        scanned.arrays["answer"] = np.array([text_hash(text) for item in items for text in item.answers], np.uint64)
        ranks = [rank for item in items for rank in item.ranks or (0,) * len(item.answers)]
        scanned.arrays["rank"] = np.array(ranks, np.uint8)
        if self._kind == "steps":
            for label in STEP_LABELS:
                counts = [item.labels.count(label) for item in items]
                scanned.arrays[f"{label}_steps"] = np.array(counts, np.uint16)
        scanned.arrays["judged"] = np.array([bool(item.ranks) for item in items], bool)

    def _lengths(self, items: Sequence[Item], scanned: Scanned) -> None:
        asked = [item.prompt_text for item in items]
        answered = [text for item in items for text in item.answers]
        for name, texts in (("prompt", asked), ("answer", answered)):
            scanned.arrays[f"{name}_characters"] = np.array([len(text) for text in texts], np.uint32)
            scanned.arrays[f"{name}_words"] = np.array([len(text.split()) for text in texts], np.uint32)

    def _signatures(self, items: Sequence[Item], scanned: Scanned) -> None:
        """Signatures of each prompt and of each row. A row's shingles are its prompt's and its answers', with different separators."""
        if self._kind == "pretraining":
            scanned.arrays["row_bands"] = minhash.bands(minhash.signatures([shingles(i.answers[0]) for i in items]))
            return
        unique = {
            item.prompt_text: index for index, item in enumerate({item.prompt_text: item for item in items}.values())
        }
        known = minhash.signatures([shingles(text) for text in unique])
        prompts = known[[unique[item.prompt_text] for item in items]]
        scanned.arrays["prompt_bands"] = minhash.bands(prompts)
        if self._kind == "prompts":
            return
        answers = minhash.signatures([[s for text in i.answers for s in shingles(text, "\x1f")] for i in items])
        scanned.arrays["row_bands"] = minhash.bands(np.minimum(prompts, answers))

    def _languages(self, items: Sequence[Item], sampled: Sequence[int], scanned: Scanned) -> None:
        for row in sampled:
            language, differs = language_of(items[row], self._identify)
            scanned.languages.append((row, language))
            if differs:
                scanned.mark("language_differs", row, excerpt(items[row].best))

    def _encode(self, items: Sequence[Item], scanned: Scanned) -> None:
        assert self._tokenizer is not None
        encoded = encode_rows(items, self._tokenizer)
        scanned.arrays["prompt_tokens"] = np.array(encoded.prompts, np.uint32)
        scanned.arrays["answer_tokens"] = np.array(encoded.answers, np.uint32)
        scanned.arrays["first_alike"] = np.array(encoded.firsts, np.uint8)
        for row, message in encoded.refused.items():
            scanned.mark("template_refuses", row, message)
        known = set(scanned.marks["same_after_trim"].rows) if "same_after_trim" in scanned.marks else set()
        for row, answer in enumerate(encoded.same):
            if answer != NO_ANSWER and row not in known:
                scanned.mark("same_after_truncation", row, excerpt(items[row].answers[answer]), answer)
        for row in [row for row, _ in scanned.languages]:  # a sample of the rows, as good as any
            item = items[row]
            if item.prompt is None or not item.answers or row in encoded.refused:
                continue
            if rewrites(self._tokenizer, item.prompt, item.best):
                scanned.mark("template_rewrites", row, excerpt(item.prompt_text))

    def _read_sets(self, offset: int) -> Sets:
        with self.path.open("rb") as file:
            file.seek(offset)
            return sets_of(self._item(file.readline(), 0))


IDENTITIES = ("prompt", "text", "text_normalised", "verdict", "verdict_normalised")
"""The values of `identities`, in order."""


def identities(item: Item) -> tuple[int, int, int, int, int]:
    """Hashes of 64 bits (BLAKE2b), equal for equal
    - prompts (0 without one), as the trainer's split compares them;
    - prompts with answers in any order;
    - the same up to case and white space;
    - prompts, answers, ranks, labels of steps and annotators: equal values are copies;
    - the same up to case and white space.

    Two of 10⁶ different texts collide with a probability of 3 · 10⁻⁸.
    """
    key = item.prompt_key
    plain = normalised(item.prompt_text)
    simple = [normalised(text) for text in item.answers]
    return (
        0 if key is None else text_hash(key),
        _hash(key or "", *sorted(item.answers)),
        _hash(plain, *sorted(simple)),
        _hash(key or "", item.annotator or "", *_ranked(item.answers, item.ranks), *item.labels),
        _hash(plain, item.annotator or "", *_ranked(simple, item.ranks), *item.labels),
    )


def _ranked(answers: list[str] | tuple[str, ...], ranks: tuple[int, ...]) -> list[str]:
    return sorted(f"{text}\0{rank}" for text, rank in zip(answers, ranks or ("",) * len(answers), strict=True))


def _hash(*parts: str) -> int:
    return text_hash("\0\0".join(parts))  # rows hold no NUL
