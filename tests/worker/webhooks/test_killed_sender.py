"""Senders that are killed, and a receiver that fails at random: nothing is lost, nothing is unsigned, the order is kept."""

import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from core import child
from core.models import WebhookDelivery
from core.settings import Settings, get_settings
from core.webhooks import outbox
from core.webhooks.event_types import EventType
from tests.core.factories import make_key
from tests.waiting import eventually
from tests.worker.webhooks.receiver import Answer, Arrival, Receiver, add_webhook, receiving


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A lease of 2 seconds, so that a delivery of a killed sender is sent again soon."""
    for name, value in {"WEBHOOK_NETWORKS": "127.0.0.1", "WEBHOOK_SECONDS": "1", "LEASE_SECONDS": "1"}.items():
        monkeypatch.setenv(f"PROXIMAL_{name}", value)
    get_settings.cache_clear()
    return get_settings()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def _insert(session: Session, owner: str, jobs: int, events: int) -> None:
    """Events as a platform has them: those of many jobs, one after the other within each."""
    for event in range(events):
        for job in range(jobs):
            content = {"object": "job", "job": f"job_{job}", "event": event}
            outbox.record(session, owner, EventType.JOB_QUEUED, f"job_{job}", lambda content=content: content)
        session.commit()


def _flapping(rng: random.Random) -> Callable[[Arrival], Answer]:
    """Fails at random, and is away for stretches of 5 requests: fewer than the tries of the last delivery that is left."""
    count = 0

    def answer(_: Arrival) -> Answer:
        nonlocal count
        count += 1
        away = count % 50 >= 45
        return (503 if away or rng.random() < 0.2 else 204), {}, b""

    return answer


def _deliver_all(session: Session, receiver: Receiver, kill_after: list[int]) -> int:
    """Run senders until nothing is pending. One is killed each time so many further requests have arrived. Returns the kills."""
    kills = 0
    left = list(kill_after)
    while True:
        process = child.start([sys.executable, "-m", "worker", "sweep"])
        seen = len(receiver.arrivals)
        try:
            if left:
                most = left.pop(0)
                eventually(lambda seen=seen, most=most: _hurry(session) and len(receiver.arrivals) >= seen + most)
                process.kill()
                kills += 1
            else:
                eventually(lambda: _hurry(session) == 0, 3000)
                return kills
        finally:
            process.kill()
            process.wait()


def _hurry(session: Session) -> int:
    """Let further tries be due now, not in 10 seconds and more. Returns the number of deliveries that are pending."""
    now = func.clock_timestamp()
    session.execute(update(WebhookDelivery).where(WebhookDelivery.next_at > now).values(next_at=now))
    session.commit()
    return session.scalars(select(func.count()).select_from(WebhookDelivery).filter_by(status="pending")).one()


def _check(session: Session, receiver: Receiver, secret: str, jobs: int, events: int) -> None:
    accepted: dict[str, list[int]] = defaultdict(list)
    first_ids: dict[tuple[str, int], str] = {}
    for one in receiver.arrivals:
        assert one.signed_by(secret)
        data = one.payload["data"]
        key = (data["job"], data["event"])
        assert first_ids.setdefault(key, one.id) == one.id  # the same id on each try
        if one.status < 300 and data["event"] not in accepted[data["job"]]:
            accepted[data["job"]].append(data["event"])
    assert dict(accepted) == {f"job_{job}": list(range(events)) for job in range(jobs)}
    assert session.scalars(select(func.count()).select_from(WebhookDelivery).filter_by(status="delivered")).one() == (
        jobs * events
    )


def _scenario(
    session: Session, settings: Settings, receiver: Receiver, jobs: int, events: int, kills: list[int]
) -> None:
    owner = make_key(session).owner_id
    webhook = add_webhook(session, settings, owner, receiver.url)
    receiver.answer = _flapping(random.Random(7))
    _insert(session, owner, jobs, events)
    began = time.monotonic()
    assert _deliver_all(session, receiver, kills) == len(kills)
    _check(session, receiver, webhook.secret, jobs, events)
    with Path(settings.data_dir.parent / "figures").open("w") as file:
        seconds = time.monotonic() - began
        file.write(
            f"{jobs * events} deliveries, {len(receiver.arrivals)} requests, {len(kills)} kills, {seconds:.0f} s"
        )


def test_killed_senders_lose_nothing(session: Session, settings: Settings, receiver: Receiver) -> None:
    _scenario(session, settings, receiver, jobs=30, events=10, kills=[80, 120])


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_deliveries_survive_kills(session: Session, settings: Settings, receiver: Receiver) -> None:
    _scenario(session, settings, receiver, jobs=500, events=20, kills=[500, 1000, 1500, 2000, 2500])
