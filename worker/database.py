"""The database may be away for a while: restarting, failing over, or its network with it."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from core.db import session_scope

AWAY = (OperationalError, InterfaceError)
"""What a database that does not answer raises."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
T = TypeVar("T")
log = logging.getLogger(__name__)


def patiently(action: Callable[[Session], T], give_up: Callable[[], bool]) -> T:
    """Do `action` in a transaction; while the database is away, try again, until `give_up()`."""
    pause = _FIRST_PAUSE
    while True:
        try:
            with session_scope() as session:
                return action(session)
        except AWAY as error:
            if give_up():
                raise
            log.warning("the database does not answer, trying again in %.1f s: %s", pause, error)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
