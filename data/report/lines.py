"""Where rows and their answers stand in the file that they came from."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from data.errors import UnreadableRows
from data.report.columns import Columns, Rows
from data.report.scanned import NO_ANSWER, SHOWN
from data.report.settings import ReportSettings

Numbers = npt.NDArray[np.uint64]


class Lines:
    """Line numbers. `of_rows`: None where a row's number is its line; `of_answers`: None where answers lie in their row's."""

    def __init__(self, of_rows: Numbers | None, of_answers: Numbers | None, starts: Rows) -> None:
        self._of_rows, self._of_answers, self._starts = of_rows, of_answers, starts

    @classmethod
    def read(cls, settings: ReportSettings, columns: Columns) -> "Lines":
        """Raises UnreadableRows for files that cannot be read, or that other rows belong to."""
        starts = columns.starts
        of_rows = None if settings.lines is None else _numbers(settings.lines, columns.rows, "rows")
        named = settings.answer_lines
        return cls(of_rows, None if named is None else _numbers(named, int(starts[-1]), "answers"), starts)

    def of(self, rows: Rows, answers: Rows | None = None) -> Rows:
        """Of each row, or of that one of its answers which is meant: NO_ANSWER where none is."""
        found: Rows = rows + 1 if self._of_rows is None else self._of_rows[rows].astype(np.int64)
        if self._of_answers is not None and answers is not None:
            one = answers != NO_ANSWER
            found[one] = self._of_answers[self._starts[rows[one]] + answers[one]]
        return found

    def row(self, row: int) -> int:
        """Of one row."""
        return int(self.of(np.array([row]))[0])

    def apart(self, rows: Rows) -> list[int]:
        """The first few rows on lines of their own: to be shown, where a record may have become several rows."""
        found: dict[int, int] = {}
        for row in rows.tolist():
            found.setdefault(self.row(row), row)
            if len(found) == SHOWN:
                break
        return list(found.values())


def _numbers(path: Path, count: int, what: str) -> Numbers:
    try:
        numbers = np.fromfile(path, "<u8")
    except OSError as error:
        raise UnreadableRows(f"{path}: {error.strerror}.") from error
    if len(numbers) != count:
        raise UnreadableRows(f"{path}: {len(numbers)} line numbers for {count} {what}.")
    return numbers
