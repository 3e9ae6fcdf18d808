"""Replaces itself by another program, which ends when its parent process ends.

`core.child` runs it as a script: `python -I -S child_exec.py PARENT SIGNAL MODE PIPE SCORE BYTES CGROUP -- COMMAND…`. It uses
the standard library only and has one thread, so that it can fork and change its credentials safely.
"""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522
CLONE_NEWUSER = 0x10000000
NOBODY = 65534
WATCH_SECONDS = 0.5


def main(arguments: list[str]) -> None:
    parent, number, mode, pipe = (arguments[0], int(arguments[1]), arguments[2], int(arguments[3]))
    command = arguments[8:]
    _default_signals()
    _limit_memory(int(arguments[4]), int(arguments[5]), arguments[6])
    if mode == "namespace":
        _enter_user_namespace()
    elif mode == "nobody":
        _become_nobody()
    if pipe >= 0:
        _start_watcher(pipe, number)
    else:
        _prctl(PR_SET_PDEATHSIG, number)  # last: a change of credentials clears it
        if os.getppid() != int(parent):
            sys.exit("the parent process has already ended")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]}: {error.strerror}\n")
        sys.exit(127)


def _default_signals() -> None:
    """Restore two signals that Python ignores, since an ignored signal stays ignored across exec."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _limit_memory(oom_score_adj: int, data_bytes: int, cgroup: str) -> None:
    """Apply the rules of `core.child.MemoryRules`. A system that has no such rule ignores it."""
    if cgroup:
        Path(cgroup, "cgroup.procs").write_text(str(os.getpid()))
    score = Path("/proc/self/oom_score_adj")
    if oom_score_adj and score.exists():
        score.write_text(str(oom_score_adj))
    if data_bytes:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        soft = data_bytes if hard == resource.RLIM_INFINITY else min(data_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _libc(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def _prctl(option: int, first: int, second: int = 0) -> None:
    _libc("prctl", option, first, second, 0, 0)


def _enter_user_namespace() -> None:
    """Become an unprivileged user of a new namespace, for programs that refuse to run as root. Root owns its files."""
    uid, gid = os.getuid(), os.getgid()
    _libc("unshare", CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {gid} 1")


def _become_nobody() -> None:
    """Become the system user 65534, but keep the right to open root's folders. Most containers refuse namespaces.

    The capability must be permitted and inheritable before it can be ambient, and only an ambient one survives exec.
    """
    _prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    right = 1 << CAP_DAC_OVERRIDE
    effective_permitted_inheritable = (ctypes.c_uint32 * 6)(right, right, right, 0, 0, 0)
    _libc("capset", header, effective_permitted_inheritable)
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE)


def _start_watcher(pipe: int, number: int) -> None:
    """Start a process that signals this one when the parent's end of the pipe closes, in place of a parent-death signal."""
    target = os.getpid()
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            _watch(pipe, target, number)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(pipe)


def _watch(pipe: int, target: int, number: int) -> None:
    import select

    while True:
        readable, _, _ = select.select([pipe], [], [], WATCH_SECONDS)
        try:
            os.kill(target, number if readable else 0)
        except ProcessLookupError:
            os._exit(0)
        if readable:
            os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
