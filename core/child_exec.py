"""Become another program that ends when the process that started it does.

Run as a script by `core.child`, which says why: `python -I -S child_exec.py PARENT SIGNAL MODE PIPE -- COMMAND…`.
Standard library only and single-threaded, so that forking and changing credentials is safe here.
"""

import ctypes
import os
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
    command = arguments[5:]
    _default_signals()
    if mode == "namespace":
        _enter_user_namespace()
    elif mode == "nobody":
        _become_nobody()
    if pipe >= 0:
        _leave_a_watcher(pipe, number)
    else:
        _prctl(PR_SET_PDEATHSIG, number)  # last: a change of credentials clears it
        if os.getppid() != int(parent):
            sys.exit("the process that wanted this child has already ended")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]}: {error.strerror}\n")
        sys.exit(127)


def _default_signals() -> None:
    """Python ignores these two at its start, and an ignored signal stays ignored across exec."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _libc(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def _prctl(option: int, first: int, second: int = 0) -> None:
    _libc("prctl", option, first, second, 0, 0)


def _enter_user_namespace() -> None:
    """Root outside is nobody inside: for programs that refuse to run as root. Files stay root's on disk."""
    uid, gid = os.getuid(), os.getgid()
    _libc("unshare", CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {gid} 1")


def _become_nobody() -> None:
    """Where namespaces are refused (most containers): really be nobody, but keep the one right that opens root's folders.

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


def _leave_a_watcher(pipe: int, number: int) -> None:
    """Where the kernel has no parent-death signal: a grandchild waits for the parent's end of a pipe to close."""
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
