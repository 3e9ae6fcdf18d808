"""Telemetry of attempts: of a real process that works and allocates, of GPUs, stored and read back."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy.orm import Session

from core import child
from core.db import session_scope
from core.errors import LeaseLost
from core.jobs.run import telemetry as stored
from core.jobs.run.telemetry import MEASUREMENTS, Sample, append_samples, read_telemetry
from tests.core.factories import make_job, running
from tests.waiting import eventually
from worker.health import WorkerHeartbeat
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext
from worker.jobs.telemetry import Gpus, Telemetry

AT = datetime(2026, 1, 2, tzinfo=UTC)
BURN = "import sys; b = bytearray(b'x') * 200_000_000; open(sys.argv[1], 'w').close()\nwhile True: pass"
REST = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(100)"


@contextmanager
def process(program: str, folder: Path) -> Iterator[int]:
    """A process whose child runs the program."""
    folder.mkdir()
    parent = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    command = [sys.executable, "-c", parent, program, str(folder / "ready")]
    started = child.start(command, stdout=sys.stderr.fileno())
    try:
        eventually((folder / "ready").exists)
        yield started.pid
    finally:
        started.kill()


def test_telemetry_counts_the_work_of_child_processes(tmp_path: Path) -> None:
    with process(BURN, tmp_path / "busy") as busy, process(REST, tmp_path / "idle") as idle:
        (tmp_path / "busy" / "data").write_bytes(b"x" * 5000)
        both = [Telemetry(busy, tmp_path / "busy"), Telemetry(idle, tmp_path / "idle")]
        first = [one.sample().values for one in both]
        assert all("cpu/percent" not in values for values in first)
        used = [0.0, 0.0]

        def worked() -> bool:
            used[:] = [one.sample().values["cpu/percent"] for one in both]
            return used[0] > 10

        eventually(worked)
        assert used[0] > 5 * used[1]
        of_busy, of_idle = (one.sample().values for one in both)
    assert of_busy["memory/rss"] - of_idle["memory/rss"] > 150_000_000
    assert of_busy["disk/run_folder"] == 5000 and of_idle["disk/run_folder"] == 0
    assert of_busy["memory/rss"] < of_busy["memory/machine_total"] > of_busy["memory/machine_used"]
    assert both[0].sample().values["memory/rss"] == 0


def test_gpus_report_what_nvml_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for NVML, since the machine of the tests has no GPU. The second GPU measures no power."""

    class NVMLError(Exception):
        pass

    def power(handle: int) -> int:
        if handle == 1:
            raise NVMLError("not supported")
        return 350_500

    fake = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=90 + handle),
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=3, total=8),
        nvmlDeviceGetPowerUsage=power,
        nvmlDeviceGetTemperature=lambda handle, kind: 60,
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    values = dict(Gpus().measure())
    assert (values["gpu/0/power"], values["gpu/1/utilisation"]) == (350.5, 91.0)
    assert "gpu/1/power" not in values and len(values) == 9
    named = {one.name.replace("<n>", "0") for one in MEASUREMENTS}
    assert {name for name in values if name.startswith("gpu/0/")} <= named


def test_gpus_without_the_package_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    gpus = Gpus()
    assert list(gpus.measure()) == []
    gpus.close()


def test_attempt_stores_telemetry_while_it_runs(
    queue: Callable[[str], str], context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin slow_steps finish")
    quick = context.settings.model_copy(update={"telemetry_seconds": 0.2})
    run_queued_jobs(replace(context, settings=quick), heartbeat)
    with session_scope() as session:
        rows = read_telemetry(session, job_id, 1)
    # The trainer may have ended before the last sample.
    assert len(rows) >= 2 and max(row.values["memory/rss"] for row in rows) > 1_000_000
    assert {"cpu/percent", "disk/free"} <= rows[-1].values.keys()


def test_samples_beyond_the_limit_are_averaged(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MOST_ROWS", 20)
    job = make_job(session)
    running(session, job)
    for number in range(100):
        append_samples(
            session, job.id, 1, [Sample(AT + timedelta(seconds=10 * number), {"cpu/percent": float(number)})]
        )
    rows = read_telemetry(session, job.id, 1)
    assert len(rows) <= 20 and sum(row.samples for row in rows) == 100
    assert sum(row.values["cpu/percent"] * row.samples for row in rows) == pytest.approx(4950)
    assert [row.at for row in rows] == sorted(row.at for row in rows)


def test_samples_of_an_old_attempt_are_refused(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    with pytest.raises(LeaseLost):
        append_samples(session, job.id, 2, [Sample(AT, {"cpu/percent": 1.0})])
