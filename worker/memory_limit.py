"""The memory limit of a trainer, and whether the kernel has killed a process because memory ran out.

The limit holds in the strongest form that this machine offers:

- A control group (cgroup v2) for each trainer, if the worker's parent group is delegated to it and holds no process. With
  systemd these are `Delegate=memory` and `DelegateSubgroup=worker`. It counts all processes of the trainer together.
- RLIMIT_DATA for a trainer on the CPU, for each process its share. Allocations beyond it fail, and the trainer reports it.
  A trainer on a GPU has no such limit, because the CUDA driver maps memory that it does not use.

In every case the kernel prefers the trainer to other processes, such as PostgreSQL, when the machine runs out of memory.
"""

import logging
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.child import MemoryRules

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_VMSTAT = Path("/proc/vmstat")
_KILLED_FIRST = 800
"""The OOM score adjustment of trainers: above every process that does not use nearly the whole memory."""
_SHARE = 0.9
"""The share of the memory that a trainer may take by default."""
_GIB = 2**30
_COUNT = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MemoryLimit:
    """The limit of one trainer. Make it before the trainer starts, and `close` it after its end."""

    size: int
    """Bytes of all its processes together; 0 for no limit."""
    rules: MemoryRules
    kills_before: list[int]
    """Processes that the kernel had killed for lack of memory, as of the last `observe` but one: at first, as of the start."""

    def observe(self) -> None:
        """Count the kernel's kills while the trainer lives, so that earlier kills of other processes do not count as its end.

        The last count is left out, because the kernel counts a kill seconds before the process has ended.
        """
        self.kills_before[:] = [self.kills_before[-1], _all_kills()]

    def why_killed(self) -> str | None:
        """The reason for a SIGKILL in words, if the kernel reports that memory ran out; None if it does not."""
        if self.rules.cgroup is not None:  # it counts its own processes only
            if not _kills(self.rules.cgroup / "memory.events"):
                return None
            return (
                f"The trainer reached its memory limit of {show_gib(self.size)} (PROXIMAL_TRAINER_MEMORY_GIB), "
                "and the kernel ended it."
            )
        if _all_kills() > self.kills_before[0]:
            return "The machine or its container ran out of memory, and the kernel ended the trainer."
        return None

    def close(self) -> None:
        """Remove the control group, which must hold no process any more."""
        if self.rules.cgroup is not None:
            try:
                self.rules.cgroup.rmdir()
            except OSError as error:
                log.warning("could not remove the control group %s: %s", self.rules.cgroup, error)


def memory_limit(
    gib: float | None, name: str, *, processes: int = 1, on_gpu: bool = False, slots: int = 1
) -> MemoryLimit:
    """The limit for a trainer of `processes` processes, from the setting. `name` distinguishes its control group.

    `slots`: the commands of a data worker that share the default limit, since as many may run at once.
    """
    size = int(_SHARE * machine_memory() / slots if gib is None else gib * _GIB)
    group = _control_group(name, size) if size else None
    by_process = size // processes if size and group is None and not on_gpu else 0
    return MemoryLimit(size, MemoryRules(_KILLED_FIRST, by_process, group), [_all_kills()])


def machine_memory() -> int:
    """Bytes of RAM, within the limit of a container."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    files = (folder / name for folder in _own_groups() for name in ("memory.max", "memory.limit_in_bytes"))
    limits = [int(text) for file in files if (text := _read(file).strip()).isdecimal()]
    return min([total, *(limit for limit in limits if limit)])


def show_gib(size: int) -> str:
    """Bytes in GiB, with one decimal place at most."""
    return f"{size / _GIB:.1f}".removesuffix(".0") + " GiB"


def _control_group(name: str, size: int) -> Path | None:
    """A new control group with this limit beside the worker's own; None if none may be made."""
    parent = _delegated()
    if parent is None:
        return None
    group = parent / f"trainer-{name}"
    try:
        (parent / "cgroup.subtree_control").write_text("+memory")
        group.mkdir(exist_ok=True)
        (group / "memory.max").write_text(str(size))
        (group / "memory.oom.group").write_text("1")
    except OSError as error:
        log.warning("could not limit the memory of a trainer by a control group: %s", error)
        return None
    return group


def _delegated() -> Path | None:
    """The parent of the worker's own group (cgroup v2), if this process may write it and it holds no process itself."""
    own = next((line[3:] for line in _read(_OWN_GROUPS).splitlines() if line.startswith("0::")), "/")
    parent = (_CGROUPS / own.lstrip("/")).parent
    inside = own.count("/") > 1 and "memory" in _read(parent / "cgroup.controllers").split()
    may_write = inside and os.access(parent, os.W_OK) and os.access(parent / "cgroup.subtree_control", os.W_OK)
    return parent if may_write and not _read(parent / "cgroup.procs").strip() else None


def _all_kills() -> int:
    """Processes that the kernel has killed for lack of memory, on the machine and in this process' control groups."""
    names = ("memory.events", "memory.oom_control")
    return _kills(_VMSTAT) + sum(_kills(folder / name) for folder in _own_groups() for name in names)


def _kills(file: Path) -> int:
    match = _COUNT.search(_read(file))
    return int(match.group(1)) if match else 0


def _own_groups() -> Iterator[Path]:
    """The folders of this process' group with the memory controller. A container sees its own group as the root."""
    yield _CGROUPS
    yield _CGROUPS / "memory"
    for line in _read(_OWN_GROUPS).splitlines():
        _, controllers, path = line.split(":", 2)
        if path != "/" and controllers in ("", "memory"):
            yield _CGROUPS / controllers / path.lstrip("/")


def _read(file: Path) -> str:
    """The text of a file of the kernel; "" on a system without it."""
    if sys.platform != "linux":
        return ""
    try:
        return file.read_text()
    except OSError:
        return ""
