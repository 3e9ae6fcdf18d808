import os
import socket
from pathlib import Path

import pytest

from core.jobs.queue.workers import Gpu
from core.scheduling.matching import Capacity
from core.settings import Settings, get_settings
from worker.capacity import cores, list_gpus, name_of, report_of

BIG, SLICED = Gpu("NVIDIA H200", 140), Gpu("NVIDIA H100", 0)


@pytest.fixture
def _two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that lists two GPUs as the driver's one does. The second one is divided into slices."""
    listing = "0, GPU-1a2b, NVIDIA H200, 143771\n1, GPU-3c4d, NVIDIA H100, [N/A]\n"
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{listing}END\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)


@pytest.mark.usefixtures("_two_gpus")
@pytest.mark.parametrize(
    ("chosen", "gpus"),
    [
        (None, [BIG, SLICED]),
        ("1", [SLICED]),
        ("0,1", [BIG, SLICED]),
        ("GPU-1a2b", [BIG]),
        ("MIG-7", [Gpu("MIG", 0)]),
        ("", []),
        ("-1", []),
    ],
)
def test_gpus_are_listed_as_a_trainer_would_see_them(chosen: str | None, gpus: list[Gpu]) -> None:
    assert list_gpus(chosen) == gpus


@pytest.mark.usefixtures("_two_gpus")
def test_report_has_the_smallest_memory_and_the_labels(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIMAL_LABELS", "zone=eu, fast")
    get_settings.cache_clear()
    report = report_of(get_settings())
    assert report.capacity == Capacity(2, 0, 2, cores(), 1, frozenset({"fast", "zone=eu"}))
    assert report.gpus == (BIG, SLICED) and report.memory_bytes > 0 and report.version
    assert Capacity.from_stored(report.capacity.stored()) == report.capacity


def test_machine_without_the_tool_has_no_gpus(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert list_gpus(None) == []
    assert report_of(settings).capacity.gpus == 0


def test_worker_is_named_after_its_machine_and_gpus(settings: Settings) -> None:
    names = [
        name_of(settings.model_copy(update=changes))
        for changes in ({}, {"cuda_visible_devices": "0,1"}, {"cuda_visible_devices": "0", "worker_name": "box-1"})
    ]
    assert names == [socket.gethostname(), f"{socket.gethostname()}/0,1", "box-1"]


def test_classes_differ_by_capacity_and_labels() -> None:
    names = {
        Capacity(cpu_processes=4).class_name,
        Capacity(4, 80, 4, 32).class_name,
        Capacity(8, 80, 8, 32).class_name,
        Capacity(8, 80, 8, 32, machines=2).class_name,
        Capacity(8, 80, 8, 32, labels=frozenset({"eu"})).class_name,
    }
    assert names == {"cpu-4", "gpu4x80-4-32", "gpu8x80-8-32", "gpu8x80-8-32-m2", "gpu8x80-8-32.eu"}
