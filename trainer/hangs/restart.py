"""The restarts of a run that has no worker: the trainer starts its own command again, in the same process."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

MOST_ATTEMPTS = 5
"""Attempts in a row without a new checkpoint, as many as the platform makes by default (`PROXIMAL_MAX_ATTEMPTS`)."""


@dataclass(frozen=True)
class Restarts:
    """The restarts that remain."""

    command: Sequence[str]
    """Arguments of `python -m trainer`."""
    attempt: int = 1
    """The number of this attempt, counted from the last one that has saved a checkpoint."""

    def remain(self, saved: bool) -> bool:
        """Whether the run may start again. `saved`: whether this attempt has saved a checkpoint."""
        return saved or self.attempt < MOST_ATTEMPTS

    def start_again(self, saved: bool) -> NoReturn:
        """Replace this process by the same command. All its threads end, and its files and locks are released."""
        number = 2 if saved else self.attempt + 1
        sys.stdout.flush()
        sys.stderr.flush()
        command = ["-m", "trainer", *self.command, "--attempt", str(number)]
        os.execv(sys.executable, [sys.executable, *command])
