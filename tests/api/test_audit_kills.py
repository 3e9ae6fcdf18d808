"""An API process that is killed with SIGKILL amid a stream of changes: none without a row, and no row without its change."""

import os
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from threading import Thread

import httpx2 as httpx
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core import child
from core.access import keys
from core.audit.chain import verify
from core.models import AuditRow, JobGroup
from core.settings import Settings
from tests.proximal.conftest import free_port
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
CLIENTS = 4


class Stream:
    """Clients that send changes one after the other. One whose connection is lost is sent again, as another change."""

    def __init__(self, url: str, key: str, wanted: int) -> None:
        self._url, self._headers = url, {"Authorization": f"Bearer {key}"}
        self._wanted, self._numbers = wanted, count(1)
        self.confirmed: list[str] = []
        self.lost = 0

    def send(self) -> None:
        """Send changes as one client until enough are confirmed."""
        with httpx.Client(base_url=self._url, headers=self._headers, timeout=60) as client:
            while len(self.confirmed) < self._wanted:
                try:
                    made = client.post("/v1/groups", json={"name": f"group {next(self._numbers)}"})
                except httpx.TransportError:
                    self.lost += 1
                    eventually(lambda: is_alive(self._url))
                    continue
                assert made.status_code == 201, made.text
                self.confirmed.append(made.json()["id"])


def is_alive(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").is_success
    except httpx.TransportError:
        return False


def started(port: int, log: Path) -> child.Child:
    with log.open("ab") as output:
        command = [sys.executable, "-m", "api", "--port", str(port)]
        return child.start(command, cwd=ROOT, env=dict(os.environ), stdout=output)


def changes_under_kills(key: str, log: Path, wanted: int, kill_at: Sequence[int]) -> Stream:
    """Send changes, and kill the API whenever so many are confirmed."""
    port = free_port()
    stream = Stream(f"http://127.0.0.1:{port}", key, wanted)
    api = started(port, log)
    try:
        eventually(lambda: is_alive(f"http://127.0.0.1:{port}"))
        clients = [Thread(target=stream.send) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        for number in kill_at:
            eventually(lambda number=number: len(stream.confirmed) >= number)
            api.kill()
            api = started(port, log)
        for client in clients:
            client.join()
    finally:
        api.kill()
    return stream


@pytest.mark.parametrize(
    ("wanted", "kill_at"),
    [(100, [50]), pytest.param(1000, range(100, 1000, 100), marks=pytest.mark.slow)],
    ids=["100", "1000"],
)
def test_kills_leave_no_change_without_its_row(
    settings: Settings,
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wanted: int,
    kill_at: list[int],
) -> None:
    monkeypatch.setenv("PROXIMAL_REQUESTS_PER_SECOND", "0")
    made, key = keys.create_key(session, "tester")
    session.commit()
    stream = changes_under_kills(key, tmp_path / "log", wanted, kill_at)
    assert stream.lost > 0 and len(stream.confirmed) >= wanted
    changed = set(session.scalars(select(JobGroup.id)))
    rows = session.scalars(select(AuditRow).order_by(AuditRow.number)).all()
    recorded = [row.object_id for row in rows]
    assert set(stream.confirmed) <= changed
    assert len(recorded) == len(set(recorded)) and set(recorded) == changed
    assert verify(session.connection(), made.owner_id).broken is None
