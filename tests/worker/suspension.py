"""Suspends worker processes in tests."""

import os
import signal

from sqlalchemy import text

from core.db import session_scope
from tests.waiting import eventually

_IN_TRANSACTION = text("""
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL
    AND pid <> pg_backend_pid() AND backend_type = 'client backend'
""")


def suspend_outside_of_transactions(process: int) -> None:
    """Suspend the process while it has no transaction. With one it would keep the row of its work locked for minutes."""

    def suspended() -> bool:
        os.kill(process, signal.SIGSTOP)
        with session_scope() as session:
            if session.scalars(_IN_TRANSACTION).one() == 0:
                return True
        os.kill(process, signal.SIGCONT)
        return False

    eventually(suspended)
