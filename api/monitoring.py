"""`GET /metrics` for Prometheus.

Each API process is a target of its own: it counts its own requests. Figures of the platform come from the database, so that all
processes return the same ones. docs/how-to/monitor-the-platform.md describes how to sum and to compare them.
"""

import hmac
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import version
from threading import Lock
from typing import Annotated, Any

import prometheus_client
from fastapi import APIRouter, Header, Request, Response
from prometheus_client.core import CollectorRegistry, Counter, GaugeMetricFamily, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import Scope

from api.acts import client_address
from api.deps import BearerDep, SettingsDep, tries_of
from core.access import keys
from core.db import request_scope
from core.errors import NotSignedIn
from core.monitoring import FIGURES, PlatformState, read_state
from core.settings import Settings

CACHE_SECONDS = 5.0
"""Seconds for which a state is returned again. Several Prometheus servers then cost the database as much as one."""
WAIT_SECONDS = 4.0
"""Seconds that a scrape waits for the database. Prometheus itself gives up after 10 s."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
RUN_FIGURES = {
    "reward": "Mean score of the newest PPO step.",
    "kl": "KL from the reference in the newest PPO step, in nats per response.",
    "entropy": "Entropy of the policy in the newest PPO step, in nats per token.",
    "clip_fraction": "Share of tokens that the policy loss clipped in the newest PPO step.",
    "explained_variance": "Share of the variance of the returns that the critic explains.",
    "loss": "Policy loss of PPO, or the loss of another stage.",
    "value_loss": "Loss of the critic in the newest PPO step.",
    "tokens_per_second": "Tokens per second: of the responses in PPO, of all rows in other stages.",
}
log = logging.getLogger(__name__)
router = APIRouter()


class Monitor:
    """The metrics of one application."""

    def __init__(self) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the series of the histogram
        self._registry = CollectorRegistry(auto_describe=False)
        # Behind a load balancer, scrapes reach one process after the other, and their counters must stay apart.
        process = f"{socket.gethostname()}:{os.getpid()}"
        of_route = ("process", "route", "method")
        self._requests = Counter(
            "proximal_http_requests",
            "Requests that ended, by the template of their route. Status 0: the client left before a response.",
            (*of_route, "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "proximal_http_response_seconds",
            "Seconds from the header of a request to the start of its response.",
            of_route,
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._process = process
        prometheus_client.ProcessCollector(registry=self._registry)
        self._state = _StateCollector()
        self._registry.register(self._state)

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that has ended."""
        route = route_of(scope)
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._requests.labels(self._process, route, method, str(status)).inc()
        if status:
            self._seconds.labels(self._process, route, method).observe(seconds)

    def exposition(self, settings: Settings, accept: str) -> tuple[bytes, str]:
        """The text for Prometheus, and its media type."""
        encode, media_type = choose_encoder(accept)
        self._state.settings = settings
        return encode(self._registry), media_type


def route_of(scope: Scope) -> str:
    """The template of the request's route, so that ids make no series. `other`: a file of the dashboard, or an unknown path."""
    template: str | None = getattr(scope.get("route"), "path", None)
    if template is None:
        return "other"
    return f"/v1{template}" if scope["path"].startswith("/v1/") else template


class _StateCollector(Collector):
    """The state of the platform at the time of a scrape."""

    def __init__(self) -> None:
        self.settings: Settings | None = None
        self._reader = _Reader()

    def collect(self) -> Iterator[Metric]:
        settings = self.settings
        assert settings is not None
        yield _by("proximal_build_info", "Version of the platform.", "version", {version("proximal-rlhf"): 1})
        began = time.perf_counter()
        state = self._reader.read(
            lambda: read_state(settings.database_url, settings.job_lease_seconds, settings.metrics_jobs)
        )
        yield _one("proximal_state_up", "1 if the database returned the figures of the platform.", state is not None)
        yield _one("proximal_state_seconds", "Seconds that this scrape waited for them.", time.perf_counter() - began)
        yield from _families(state)


def _families(state: PlatformState | None) -> Iterator[Metric]:
    """All figures. Without a state they have no series, rather than old ones."""

    def of(name: str) -> Any:
        return None if state is None else getattr(state, name)

    yield _by("proximal_jobs", "Jobs by status.", "status", of("jobs"))
    yield _by("proximal_data_tasks", "Data tasks by status.", "status", of("tasks"))
    yield _by("proximal_workers", "Workers by state.", "state", of("workers"))
    yield _by("proximal_leases", "Leases that workers hold.", "holder", of("leases"))
    yield _by(
        "proximal_leases_expired",
        "Leases that have expired and were not taken back yet.",
        "holder",
        of("expired_leases"),
    )
    yield _one("proximal_workers_busy", "Workers that run a job.", of("busy_workers"))
    yield _one("proximal_queue_wait_seconds", "Age of the oldest entry of the queue.", of("job_wait_seconds"))
    yield _one("proximal_data_queue_wait_seconds", "Age of the oldest data task.", of("task_wait_seconds"))
    yield _one("proximal_attempts_lost", "Attempts lost in the last hour.", of("lost_attempts"))
    yield _one("proximal_runs_hidden", "Running jobs beyond PROXIMAL_METRICS_JOBS.", of("hidden_runs"))
    runs = state.runs if state else []
    for name in (*FIGURES, "tokens_per_second"):
        values = {run.job_id: run.figures[name] for run in runs if name in run.figures}
        yield _by(f"proximal_run_{name}", RUN_FIGURES[name], "job_id", values)
    steps = {run.job_id: run.step for run in runs if run.step is not None}
    yield _by("proximal_run_step", "Newest step of the stage that runs.", "job_id", steps)
    totals = {run.job_id: run.total_steps for run in runs if run.total_steps is not None}
    yield _by("proximal_run_steps", "Steps of the stage that runs.", "job_id", totals)


def _one(name: str, about: str, value: float | None) -> Metric:
    return GaugeMetricFamily(name, about, value)


def _by(name: str, about: str, label: str, values: Mapping[str, float] | None) -> Metric:
    family = GaugeMetricFamily(name, about, labels=[label])
    for key, value in (values or {}).items():
        family.add_metric([key], value)
    return family


class _Reader:
    """Reads the state in a thread of its own, one read at a time, so that a slow database holds back no scrape for long."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "metrics")
        self._lock = Lock()
        self._newest: Future[PlatformState] | None = None
        self._since = 0.0

    def read(self, read: Callable[[], PlatformState]) -> PlatformState | None:
        """A state that is at most CACHE_SECONDS old; None if the database does not return one within WAIT_SECONDS."""
        with self._lock:
            is_old = time.monotonic() - self._since >= CACHE_SECONDS
            if self._newest is None or (self._newest.done() and (is_old or self._newest.exception())):
                self._newest, self._since = self._pool.submit(read), time.monotonic()
            newest = self._newest
        try:
            return newest.result(WAIT_SECONDS)
        except (SQLAlchemyError, TimeoutError) as error:
            log.warning("the figures of the platform are missing from /metrics: %s", type(error).__name__)
            return None


@router.get("/metrics", include_in_schema=False)
def metrics(
    request: Request, settings: SettingsDep, token: BearerDep, accept: Annotated[str, Header()] = ""
) -> Response:
    """The metrics, for the token of PROXIMAL_METRICS_TOKEN or an operator's key. Raises NotSignedIn and TooManyTries.

    Nothing is written: neither the use of the key nor a count of requests. Wrong keys are counted, as everywhere.
    """
    with tries_of(settings).trying(client_address(request), token):
        if not _may_scrape(settings, token):
            raise NotSignedIn("/metrics needs the token of PROXIMAL_METRICS_TOKEN, or an operator's key.")
    content, media_type = request.app.state.monitor.exposition(settings, accept)
    return Response(content, headers={"Content-Type": media_type, "Cache-Control": "no-store"})


def _may_scrape(settings: Settings, token: str) -> bool:
    expected = settings.metrics_token
    if expected is not None and hmac.compare_digest(token.encode(), expected.get_secret_value().encode()):
        return True
    with request_scope(settings) as session:
        return keys.is_operator(session, token)
