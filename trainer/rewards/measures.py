"""Rewards that measure the response itself: its length, and the words that it uses."""

import math
import string
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainer import allowed_paths
from trainer.errors import DataError
from trainer.rewards.answer import Answer
from trainer.spec import LengthReward, LexiconReward


class Length:
    """−|length − target| ÷ target."""

    def __init__(self, spec: LengthReward) -> None:
        self._spec = spec

    def score(self, answers: Sequence[Answer]) -> list[float]:
        return [-abs(self._length(answer) - self._spec.target) / self._spec.target for answer in answers]

    def _length(self, answer: Answer) -> int:
        if self._spec.unit == "tokens":
            return len(answer.scored_ids) - answer.finished  # the EOS is not counted
        return len(answer.text.split() if self._spec.unit == "words" else answer.text)


class Lexicon:
    """Σ / √(Σ² + 15) of the valences of the words (VADER's normalisation, Hutto and Gilbert 2014)."""

    def __init__(self, valences: Mapping[str, float]) -> None:
        self._valences = {word.lower(): valence for word, valence in valences.items()}

    def score(self, answers: Sequence[Answer]) -> list[float]:
        return [self._one(answer.text) for answer in answers]

    def _one(self, text: str) -> float:
        total = math.fsum(self._valence(word) for word in text.lower().split())
        return total / math.hypot(total, math.sqrt(15))

    def _valence(self, word: str) -> float:
        """Of the word as it stands (an emoticon is all punctuation), else without the punctuation around it."""
        return self._valences.get(word, self._valences.get(word.strip(string.punctuation), 0.0))


def build_lexicon(spec: LexiconReward) -> Lexicon:
    """Raises DataError, naming file and line, for a lexicon that cannot be read."""
    return Lexicon(spec.words if spec.words is not None else read_lexicon(Path(spec.path or "")))


def read_lexicon(path: Path) -> dict[str, float]:
    """Word and valence from each line of a tab-separated file; further columns are ignored.

    Raises DataError, and SpecError for a file that this process may not read.
    """
    try:
        lines = allowed_paths.permitted_file(path).read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}).") from error
    words = dict(_entry(path, number, line) for number, line in enumerate(lines, start=1) if line.strip())
    if not words:
        raise DataError(f"{path}: no words in it.")
    return words


def _entry(path: Path, number: int, line: str) -> tuple[str, float]:
    columns = line.split("\t")
    try:
        word, valence = columns[0].strip(), float(columns[1])
    except (IndexError, ValueError) as error:
        raise DataError(f"{path}, line {number}: needs a word, a tab and its valence.") from error
    if not math.isfinite(valence):
        raise DataError(f"{path}, line {number}: {columns[1]} is not a finite number.")
    return word, valence
