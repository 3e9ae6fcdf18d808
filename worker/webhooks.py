"""The sender of webhooks, as threads of the process that sweeps.

`core.webhooks.deliveries` decides what is sent when. So any number of senders may run, and one that is killed loses nothing.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse
from urllib.parse import urlsplit

from core.access.pinned import PinnedConnection
from core.db import session_scope
from core.errors import WebhookRefused
from core.settings import Settings
from core.webhooks import deliveries
from core.webhooks.deliveries import Claim, Outcome
from core.webhooks.receivers import checked_receiver
from core.webhooks.signing import signed_headers
from worker.process import DATABASE_UNAVAILABLE

_SENDERS = 8
_POLL_SECONDS = 1.0
_PAUSE_SECONDS = 5.0
"""Time without claims after the database did not answer."""
_STOP_SECONDS = 5.0
_HEADERS = {
    "Content-Type": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "close",
    "User-Agent": "proximal",
}
log = logging.getLogger(__name__)


@contextmanager
def sending(settings: Settings) -> Iterator[None]:
    """Send due deliveries meanwhile. An unexpected error ends the process, and the supervisor starts it again."""
    sender = _Sender(settings)
    sender.thread.start()
    try:
        yield
    finally:
        sender.stop()


class _Sender:
    """A thread that claims deliveries, and threads that send them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._busy = 0
        self._pool = ThreadPoolExecutor(_SENDERS, "webhook")
        self.thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def stop(self) -> None:
        """Wait some seconds for the tries that have begun. Those that take longer are made again."""
        with self._changed:
            self._stopping.set()
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._busy, _STOP_SECONDS)
        self.thread.join(_STOP_SECONDS)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        failed = True
        try:
            while not self._stopping.is_set():
                self._claim()
            failed = False
        finally:
            if failed:
                os.kill(os.getpid(), signal.SIGTERM)

    def _claim(self) -> None:
        """Begin as many tries as threads are free. Returns when a try has ended, or after a pause."""
        pause = _POLL_SECONDS
        claims: list[Claim] = []
        try:
            with session_scope() as session:
                claims = deliveries.claim(session, self._settings, _SENDERS - self._busy)
        except DATABASE_UNAVAILABLE as error:
            log.warning("no webhooks are sent for %g s, the database does not answer: %s", _PAUSE_SECONDS, error)
            pause = _PAUSE_SECONDS
        with self._changed:
            before = self._busy = self._busy + len(claims)
            for one in claims:
                self._pool.submit(self._deliver, one)
            self._changed.wait_for(lambda: self._busy < min(before, _SENDERS) or self._stopping.is_set(), pause)

    def _deliver(self, claimed: Claim) -> None:
        try:
            outcome = send(claimed, self._settings)
            with session_scope() as session:
                deliveries.finish(session, self._settings, claimed, outcome)
        except DATABASE_UNAVAILABLE as error:
            log.warning("the result of %s was not stored, it is sent again: %s", claimed.delivery_id, error)
        except BaseException:
            log.exception("sending %s failed", claimed.delivery_id)
            os.kill(os.getpid(), signal.SIGTERM)
            raise
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()


def send(claimed: Claim, settings: Settings) -> Outcome:
    """Make one try. The host is looked up and checked anew, and the connection goes to the addresses that were checked."""
    began = time.monotonic()

    def outcome(error: str | None, response: HTTPResponse | None = None, body: bytes = b"") -> Outcome:
        return Outcome(
            error,
            round(1000 * (time.monotonic() - began)),
            None if response is None else response.status,
            body.decode(errors="replace"),
            None if response is None else _retry_after(response.getheader("Retry-After")),
        )

    try:
        receiver = checked_receiver(claimed.url, settings.webhook_networks)
    except WebhookRefused as error:
        return outcome(error.detail)
    connection = PinnedConnection(receiver.address, receiver.ip_addresses, settings.webhook_seconds)
    with _deadline(connection, settings.webhook_seconds) as late:
        try:
            response = _post(connection, claimed)
            body = response.read(deliveries.LONGEST_BODY)
        except (OSError, HTTPException) as error:
            reason = f"no whole response within {settings.webhook_seconds:g} s" if late() else _reason(error)
            return outcome(f"The receiver cannot be reached: {reason}.")
    if 200 <= response.status < 300:
        return outcome(None, response, body)
    hint = " Redirects are not followed: change the address." if 300 <= response.status < 400 else ""
    return outcome(f"The receiver returned {response.status} {response.reason}.{hint}", response, body)


def _post(connection: PinnedConnection, claimed: Claim) -> HTTPResponse:
    parts = urlsplit(claimed.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    signed = signed_headers(claimed.delivery_id, int(time.time()), claimed.body, claimed.secrets)
    connection.request("POST", target, claimed.body.encode(), {**_HEADERS, **signed})
    return connection.getresponse()


class _Late:
    """Whether the time of a try is over."""

    def __init__(self) -> None:
        self._over = False

    def __call__(self) -> bool:
        return self._over

    def end(self, connection: PinnedConnection) -> None:
        self._over = True
        connection.abort()


@contextmanager
def _deadline(connection: PinnedConnection, seconds: float) -> Iterator[_Late]:
    """End the connection after `seconds`. A timeout of the socket alone would hold for every single byte."""
    late = _Late()
    timer = threading.Timer(seconds, late.end, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        connection.close()


def _retry_after(value: str | None) -> float | None:
    """The seconds that the header names, by a number or by a date. None for anything else."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
