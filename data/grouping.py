"""Groups answers to one prompt from several records into rankings."""

import hashlib
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from data.errors import OutOfSpace, RowError
from data.findings import Findings
from data.formats.values import TWICE, ranks
from data.schema import MOST_RANKED

Other = TypeVar("Other")
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
"""The second is SQLite's error for an exhausted quota or the largest file size."""


class RowResult(NamedTuple):
    """A row, or the error that replaces it."""

    line: int
    row: dict[str, Any] | RowError
    text: str = ""
    """An excerpt that shows the error, for a result without a row."""
    answer_lines: Sequence[int] = ()
    """The line of each completion, if each was a record."""


@dataclass(frozen=True)
class RatedAnswer:
    """One answer to a prompt, with its score."""

    line: int
    prompt: Any
    completion: str
    score: float
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> bytes:
        """A hash that is equal for answers of one prompt, annotator and source."""
        group = [self.prompt, self.notes.get("annotator"), self.notes.get("source")]
        return hashlib.blake2b(orjson.dumps(group), digest_size=16).digest()


def ranking_units(answers: list[RatedAnswer], sided: bool, findings: Findings) -> Iterator[RowResult]:
    """The ranking of the answers to one prompt, or several rankings if there are too many answers. Also the answers that
    cannot be ranked.

    `sided` means that scores are thumbs, which need both up and down. An answer that occurs twice with one score
    counts once, and is noted in a finding.
    """
    scores: dict[str, set[float]] = defaultdict(set)
    for answer in answers:
        scores[answer.completion].add(answer.score)
    first: dict[str, RatedAnswer] = {}
    for answer in answers:
        if len(scores[answer.completion]) == 1:
            if first.setdefault(answer.completion, answer) is not answer:
                findings.note("rated_twice", answer.line, TWICE, answer.completion)
        else:
            listed = " and ".join(f"{score:g}" for score in sorted(scores[answer.completion]))
            yield _bad(answer, f"the same answer has the scores {listed}", "contradictory_ratings")
    for part in _parts(list(first.values())):
        if sided and len({answer.score for answer in part}) < 2:
            which = "good" if part[0].score else "bad"
            detail = f"every answer to this prompt is {which}: there is nothing to compare it with (as `thumbs` it can be used)"
            yield from (_bad(answer, detail, "one_side_only") for answer in part)
        elif len(part) < 2:
            yield from (_bad(answer, "there is only one answer to this prompt", "single_answer") for answer in part)
        else:
            lines = [answer.line for answer in part]
            yield RowResult(min(lines), _ranking(part), answer_lines=lines)


def _bad(answer: RatedAnswer, detail: str, code: str) -> RowResult:
    return RowResult(answer.line, RowError(detail, code=code), answer.completion)


def _ranking(part: list[RatedAnswer]) -> dict[str, Any]:
    row: dict[str, Any] = {"prompt": part[0].prompt, "completions": [answer.completion for answer in part]}
    row["ranks"] = ranks([answer.score for answer in part])
    shared = part[0].notes.items()
    return row | {name: note for name, note in shared if all(one.notes.get(name) == note for one in part)}


def _parts(answers: list[RatedAnswer]) -> Iterator[list[RatedAnswer]]:
    """The fewest rankings that hold all answers. Each one receives a share of every score."""
    count = max(1, -(-len(answers) // MOST_RANKED))
    dealt = answers if count == 1 else sorted(answers, key=lambda answer: -answer.score)
    for at in range(count if answers else 0):
        yield dealt[at::count]


def spooled(answers: Iterator[RatedAnswer | Other], scratch: Path | None) -> Iterator[list[RatedAnswer] | Other]:
    """Groups of answers by prompt, in the order of their first answers. Everything else is passed on at once.

    The answers are kept in a SQLite file, so that only one prompt's answers are in memory. Raises OutOfSpace.
    """
    with tempfile.TemporaryDirectory(dir=scratch, prefix="gather-") as folder:
        connection = sqlite3.connect(Path(folder) / "answers.db", isolation_level=None)
        try:
            yield from _through(connection, answers)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in _FULL:
                raise
            raise OutOfSpace("There is no room to bring the answers to each prompt together.") from error
        finally:
            connection.close()


def _through(
    connection: sqlite3.Connection, answers: Iterator[RatedAnswer | Other]
) -> Iterator[list[RatedAnswer] | Other]:
    # The file need not survive a crash. The answers of a prompt are read again in the order of its first line.
    connection.executescript(
        # prose: SQL statements
        """PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
        CREATE TABLE prompts (key BLOB PRIMARY KEY, first INTEGER) WITHOUT ROWID;
        CREATE TABLE answers (first INTEGER, number INTEGER, data BLOB, PRIMARY KEY (first, number)) WITHOUT ROWID;
        BEGIN;"""
    )
    for number, answer in enumerate(answers):
        if not isinstance(answer, RatedAnswer):
            yield answer
            continue
        key = answer.key
        connection.execute("INSERT INTO prompts VALUES (?, ?) ON CONFLICT DO NOTHING", (key, number))
        data = orjson.dumps([answer.line, answer.prompt, answer.completion, answer.score, answer.notes])
        connection.execute("INSERT INTO answers SELECT first, ?, ? FROM prompts WHERE key = ?", (number, data, key))
    group: list[RatedAnswer] = []
    at = None
    for first, data in connection.execute("SELECT first, data FROM answers ORDER BY first, number"):
        if first != at and group:
            yield group
            group = []
        at = first
        group.append(RatedAnswer(*orjson.loads(data)))
    if group:
        yield group
