"""Measures the machine while a trainer runs: processes by psutil, GPUs by NVML. CUDA is not initialised."""

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from core.db import session_scope
from core.jobs.run.telemetry import Sample, append_samples
from worker.jobs.launch.interface import Trainer
from worker.process import DATABASE_UNAVAILABLE

_MOST_SAMPLES = 100
log = logging.getLogger(__name__)


class Telemetry:
    """Samples a process with its children, the machine, the run folder, and each GPU."""

    def __init__(self, pid: int, folder: Path) -> None:
        self._pid, self._folder = pid, folder
        self._cpu_seconds: dict[tuple[int, float], float] = {}
        self._measured_at: datetime | None = None
        self._gpus = Gpus()

    def sample(self) -> Sample:
        """The measurements of now. CPU time counts since the previous call, so the first sample has none."""
        now = datetime.now(UTC)
        values = dict(self._processes(now)) | dict(self._machine()) | dict(self._gpus.measure())
        self._measured_at = now
        return Sample(now, values)

    def close(self) -> None:
        self._gpus.close()

    def _processes(self, now: datetime) -> Iterator[tuple[str, float]]:
        seconds, resident = {}, 0
        for process in _tree(self._pid):
            with suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                seconds[process.pid, process.create_time()] = times.user + times.system
                resident += process.memory_info().rss
        if self._measured_at is not None and (passed := (now - self._measured_at).total_seconds()) > 0:
            used = sum(now_used - self._cpu_seconds.get(key, 0.0) for key, now_used in seconds.items())
            yield "cpu/percent", 100 * used / passed
        self._cpu_seconds = seconds
        yield "memory/rss", float(resident)

    def _machine(self) -> Iterator[tuple[str, float]]:
        memory = psutil.virtual_memory()
        yield "memory/machine_used", float(memory.total - memory.available)
        yield "memory/machine_total", float(memory.total)
        with suppress(OSError):
            yield "disk/free", float(shutil.disk_usage(self._folder).free)
        yield "disk/run_folder", float(_size(self._folder))


class TelemetryLog:
    """Stores the samples of an attempt. Without the database, the newest ones wait."""

    def __init__(self, attempt: tuple[str, int], trainer: Trainer, telemetry: Telemetry | None) -> None:
        self._attempt, self._trainer, self._telemetry = attempt, trainer, telemetry
        self._unstored: list[Sample] = []

    def measure(self) -> None:
        """Measure the machine once, and store what is not stored."""
        self._trainer.observe()
        if self._telemetry is None:
            return
        self._unstored = [*self._unstored, self._telemetry.sample()][-_MOST_SAMPLES:]
        with suppress(*DATABASE_UNAVAILABLE):
            with session_scope() as session:
                append_samples(session, *self._attempt, self._unstored)
            self._unstored = []


@contextmanager
def measuring(attempt: tuple[str, int], trainer: Trainer, folder: Path) -> Iterator[TelemetryLog]:
    """The measurements of a trainer while inside. One that runs elsewhere has none."""
    telemetry = None if trainer.pid is None else Telemetry(trainer.pid, folder)
    try:
        yield TelemetryLog(attempt, trainer, telemetry)
    finally:
        if telemetry is not None:
            telemetry.close()


class Gpus:
    """The GPUs by NVML. Without a driver or the package there are none."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        try:
            import pynvml

            pynvml.nvmlInit()
        except Exception as error:  # noqa: BLE001  a missing package, library or driver: this machine has no GPU series
            log.debug("no GPU telemetry: %s", error)
            return
        self._nvml = pynvml
        with suppress(pynvml.NVMLError):
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(n) for n in range(pynvml.nvmlDeviceGetCount())]

    def measure(self) -> Iterator[tuple[str, float]]:
        """The measurements of each GPU. One that a GPU does not support is left out."""
        for number, handle in enumerate(self._handles):
            nvml, prefix = self._nvml, f"gpu/{number}"
            with suppress(nvml.NVMLError):
                yield f"{prefix}/utilisation", float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
            with suppress(nvml.NVMLError):
                memory = nvml.nvmlDeviceGetMemoryInfo(handle)
                yield f"{prefix}/memory_used", float(memory.used)
                yield f"{prefix}/memory_total", float(memory.total)
            with suppress(nvml.NVMLError):
                yield f"{prefix}/power", nvml.nvmlDeviceGetPowerUsage(handle) / 1000
            with suppress(nvml.NVMLError):
                yield f"{prefix}/temperature", float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))

    def close(self) -> None:
        if self._nvml is not None:
            with suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()


def _tree(pid: int) -> list[Any]:
    """The process and its descendants; empty once it has ended."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _size(folder: Path) -> int:
    """Bytes of the files below the folder. Links are not followed."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118  pathlib takes twice the time
    return total
