"""The texts of single rows, for the samples of a finding."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from data.parse import read_row
from data.report.items import Item, parser
from data.report.lines import Lines
from data.report.looks import excerpt
from data.report.settings import Kind


class Texts:
    """Reads rows by number (from 0)."""

    def __init__(self, path: Path, kind: Kind, offsets: npt.NDArray[np.uint64], lines: Lines) -> None:
        self._path, self._parse, self._offsets = path, parser(kind), offsets
        self.lines = lines

    def item(self, row: int) -> Item:
        with self._path.open("rb") as file:
            file.seek(int(self._offsets[row]))
            line = file.readline().decode("utf-8-sig")
        return read_row(str(self._path), row + 1, line, self._parse)

    def prompt(self, row: int) -> str:
        """The end of its prompt, which tells more than its beginning; of a row without one, its text."""
        item = self.item(row)
        text = item.prompt_text or item.best
        return excerpt(text, max(0, len(text) - 1))

    def answers(self, row: int) -> str:
        """The beginnings of its answers."""
        return " ┃ ".join(excerpt(text) for text in self.item(row).answers[:3])
