"""The memory limit of a trainer, by control group, by RLIMIT_DATA and by the score of the kernel."""

import subprocess
import sys
from pathlib import Path

import pytest

from core import child
from worker import memory_limit as module
from worker.memory_limit import machine_memory, memory_limit

ALLOCATE = "import sys; block = bytearray(int(sys.argv[1])); print('allocated')"


@pytest.fixture
def cgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a kernel whose group `service` is delegated to the worker in `service/worker`."""
    (tmp_path / "service/worker").mkdir(parents=True)
    (tmp_path / "own").write_text("0::/service/worker\n")
    (tmp_path / "vmstat").write_text("nr_free_pages 7\noom_kill 3\n")
    (tmp_path / "service/cgroup.controllers").write_text("cpu memory\n")
    for name in ("service/cgroup.procs", "service/cgroup.subtree_control"):
        (tmp_path / name).write_text("")
    for name, file in {"_CGROUPS": "", "_OWN_GROUPS": "own", "_VMSTAT": "vmstat"}.items():
        monkeypatch.setattr(module, name, tmp_path / file)
    return tmp_path


def test_delegated_group_gets_the_whole_limit(cgroups: Path) -> None:
    limit = memory_limit(2.0, "job_1-1", processes=4)
    group = cgroups / "service/trainer-job_1-1"
    assert limit.rules == child.MemoryRules(800, 0, group)
    assert (group / "memory.max").read_text() == "2147483648"
    assert (group / "memory.oom.group").read_text() == "1"


def test_kill_in_the_group_names_the_limit(cgroups: Path) -> None:
    limit = memory_limit(1.5, "job_1-1")
    events = cgroups / "service/trainer-job_1-1/memory.events"
    events.write_text("low 0\noom 1\noom_kill 0\n")
    assert limit.why_killed() is None
    events.write_text("low 0\noom 1\noom_kill 2\n")
    assert "memory limit of 1.5 GiB (PROXIMAL_TRAINER_MEMORY_GIB)" in str(limit.why_killed())


def test_group_with_processes_is_not_used(cgroups: Path) -> None:
    (cgroups / "service/cgroup.procs").write_text("12\n")
    assert memory_limit(2.0, "job_1-1", processes=4).rules == child.MemoryRules(800, 2**29, None)


@pytest.mark.parametrize("file", ["vmstat", "service/worker/memory.events", "memory/memory.oom_control"])
def test_new_kill_of_the_kernel_is_out_of_memory(cgroups: Path, file: str) -> None:
    (cgroups / "service/cgroup.procs").write_text("12\n")
    limit = memory_limit(2.0, "job_1-1")
    assert limit.why_killed() is None
    (cgroups / file).parent.mkdir(exist_ok=True)
    (cgroups / file).write_text("oom_kill 4\n")
    assert "the kernel ended the trainer" in str(limit.why_killed())


def test_kill_of_another_process_before_is_not_the_reason(cgroups: Path) -> None:
    """The kernel counts a kill before the process has ended, so the count of the last observation may contain it."""
    (cgroups / "service/cgroup.procs").write_text("12\n")
    limit = memory_limit(2.0, "job_1-1")
    (cgroups / "vmstat").write_text("oom_kill 4\n")
    limit.observe()
    assert limit.why_killed() is not None
    limit.observe()
    assert limit.why_killed() is None


def test_kill_outside_the_own_group_is_not_the_reason(cgroups: Path) -> None:
    limit = memory_limit(1.5, "job_1-1")
    (cgroups / "service/trainer-job_1-1/memory.events").write_text("oom_kill 0\n")
    (cgroups / "vmstat").write_text("oom_kill 4\n")
    assert limit.why_killed() is None


def test_limit_of_a_container_bounds_the_default(cgroups: Path) -> None:
    (cgroups / "memory.max").write_text("1073741824\n")
    assert machine_memory() == 2**30
    assert memory_limit(None, "job_1-1").size == int(0.9 * 2**30)


def test_zero_sets_no_limit_but_the_score(cgroups: Path) -> None:
    assert memory_limit(0, "job_1-1").rules == child.MemoryRules(800, 0, None)


def test_trainer_on_a_gpu_has_no_data_limit(cgroups: Path) -> None:
    (cgroups / "service/cgroup.procs").write_text("12\n")
    assert memory_limit(2.0, "job_1-1", on_gpu=True).rules.data_bytes == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the limit counts private mappings on Linux only")
@pytest.mark.parametrize(("size", "status"), [(2**26, 0), (2**29, 1)])
def test_allocation_above_the_data_limit_fails(tmp_path: Path, size: int, status: int) -> None:
    rules = child.MemoryRules(data_bytes=2**28)
    with (tmp_path / "out").open("wb") as out:
        process = child.start([sys.executable, "-c", ALLOCATE, str(size)], stdout=out, memory=rules)
        assert process.wait(60) == status
    assert ("MemoryError" in (tmp_path / "out").read_text()) == bool(status)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the score")
def test_child_has_the_score(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        child.start(["cat", "/proc/self/oom_score_adj"], stdout=out, memory=child.MemoryRules(800)).wait(60)
    assert (tmp_path / "out").read_text() == "800\n"


def test_child_enters_its_group_before_the_command(tmp_path: Path) -> None:
    process = child.start(["true"], memory=child.MemoryRules(cgroup=tmp_path), stdout=subprocess.DEVNULL)
    assert process.wait(60) == 0
    assert (tmp_path / "cgroup.procs").read_text() == str(process.pid)
