"""Rewards by rules on the text: exact match, patterns, JSON schemas, length, and a lexicon."""

import json
import math
import re
import signal
import string
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from trainer import allowed_paths
from trainer.errors import DataError, RewardError, SpecError
from trainer.rewards.base import RewardInput, RewardOutcome
from trainer.rewards.missing import NoValue
from trainer.rewards.steps import all_steps, placed
from trainer.spec import ExactMatchReward, JsonSchemaReward, LengthReward, LexiconReward, RegexReward
from trainer.spec.json_schemas import schema_problem
from trainer.text.codec import Codec

PATTERN_SECONDS = 5.0
"""Seconds of processor time for one pattern on one response."""


def expected_answer(answer: RewardInput) -> str:
    """The prompt's `answer`. Raises RewardError where there is none."""
    if answer.reference is None:
        raise RewardError(
            "A prompt without an `answer` cannot be checked. Add an `answer` to every row of `data.prompts`."
        )
    return answer.reference


class ExactMatch:
    """1 if the response equals the prompt's `answer`, else 0."""

    def __init__(self, spec: ExactMatchReward) -> None:
        self._spec = spec

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        return [float(self._plain(a.text) == self._plain(expected_answer(a))) for a in answers]

    def _plain(self, text: str) -> str:
        if self._spec.ignore_whitespace:
            text = " ".join(text.split())
        return text.casefold() if self._spec.ignore_case else text


class Regex:
    """1 if the response matches the pattern, else 0; with `step_delimiter`, for each step."""

    def __init__(self, spec: RegexReward, codec: Codec | None = None) -> None:
        """`codec`: the policy's, which divides a response into steps."""
        pattern = re.compile(spec.pattern)
        self._matches = pattern.fullmatch if spec.whole else pattern.search
        self._step_delimiter, self._codec = spec.step_delimiter, codec

    def score(self, answers: Sequence[RewardInput]) -> list[RewardOutcome]:
        """`Missing` for a response on which the pattern takes too long."""
        steps = None if self._codec is None else all_steps(answers, self._step_delimiter, self._codec)
        if steps is None:
            return [self._one(answer.text) for answer in answers]
        return placed([self._each(own.texts) for own in steps], answers, steps)

    def _one(self, text: str) -> RewardOutcome:
        found = self._each([text])
        return found[0] if isinstance(found, list) else found

    def _each(self, texts: Sequence[str]) -> RewardOutcome:
        try:
            with pattern_limit():
                return [float(self._matches(text) is not None) for text in texts]
        except NoValue as error:
            return error.missing


class JsonSchema:
    """1 if the response is JSON that the schema accepts, else 0. `Missing` if a pattern of the schema takes too long.

    Remote references are not fetched. JSON that is nested too deeply for Python's parser scores 0, and so does an integer that
    `multipleOf` cannot divide because it is too large for a float.
    """

    def __init__(self, spec: JsonSchemaReward) -> None:
        self._validator = _validator(spec.json_schema)

    def score(self, answers: Sequence[RewardInput]) -> list[RewardOutcome]:
        return [self._one(answer.text) for answer in answers]

    def _one(self, text: str) -> RewardOutcome:
        try:
            value = json.loads(text, parse_constant=_no_json)
            with pattern_limit():
                return float(self._validator.is_valid(value))
        except NoValue as error:
            return error.missing
        except (ValueError, RecursionError, OverflowError):
            return 0.0


def _validator(schema: dict[str, Any]) -> Any:
    try:
        from jsonschema import Draft202012Validator
        from referencing import Registry

        problem = schema_problem(schema)
    except ImportError as error:
        raise SpecError(
            "It needs the package `jsonschema`, which is not installed here: pip install jsonschema."
        ) from error
    if problem:
        raise SpecError(f"`json_schema` cannot be used: {problem}.")
    return Draft202012Validator(schema, registry=Registry())


def _no_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@contextmanager
def pattern_limit(seconds: float = PATTERN_SECONDS) -> Iterator[None]:
    """Raise NoValue inside a search that takes more than `seconds` of processor time.

    Python's `re` has no limit but handles signals during a search. The timer counts processor time, so a busy machine does
    not change the result. Only the main thread can receive signals; other threads have no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> NoReturn:
        raise NoValue(
            "time_out",
            f"A pattern took more than {seconds:g} seconds on one response, because it backtracks. "
            "Write it without nested repetition, such as (a+)+",
        )

    previous = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


class Length:
    """The reward −|length − target| ÷ target."""

    def __init__(self, spec: LengthReward) -> None:
        self._spec = spec

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        return [-abs(self._length(answer) - self._spec.target) / self._spec.target for answer in answers]

    def _length(self, answer: RewardInput) -> int:
        if self._spec.unit == "tokens":
            return len(answer.scored_ids) - answer.finished  # the EOS is not counted
        return len(answer.text.split() if self._spec.unit == "words" else answer.text)


class Lexicon:
    """Σ / √(Σ² + 15) of the valences of the words (VADER's normalisation, Hutto and Gilbert 2014)."""

    def __init__(self, valences: Mapping[str, float]) -> None:
        self._valences = {word.lower(): valence for word, valence in valences.items()}

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        return [self._one(answer.text) for answer in answers]

    def _one(self, text: str) -> float:
        total = math.fsum(self._valence(word) for word in text.lower().split())
        return total / math.hypot(total, math.sqrt(15))

    def _valence(self, word: str) -> float:
        """The valence of the word, else of the word without the punctuation around it. Emoticons consist of punctuation."""
        return self._valences.get(word, self._valences.get(word.strip(string.punctuation), 0.0))


def build_lexicon(spec: LexiconReward) -> Lexicon:
    """Raises DataError, with file and line, for a lexicon that cannot be read."""
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
