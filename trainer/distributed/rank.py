"""One process of several: `python -m trainer.distributed.rank LAUNCHER LOGS MODULE …` is `python -m MODULE …` that ends when its launcher does.

The launcher starts each process in a session of its own, so a signal to the launcher's group does not reach it. Without the
launcher a process would wait in a collective for ever and hold its GPU. Only the standard library is imported before this
is prevented, because torch takes seconds to import and the launcher may end in that time.
"""

import ctypes
import os
import runpy
import signal
import sys
import threading
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_WATCH_SECONDS = 0.5


def main(arguments: list[str]) -> None:
    launcher, logs, module, *_ = arguments
    end_with(int(launcher))
    if logs:
        write_output_to(Path(logs) / f"trainer-rank-{os.environ['RANK']}.log")
    sys.argv = arguments[2:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def write_output_to(path: Path) -> None:
    """Append standard output and standard error of this process, also those of libraries in C, to a file."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)


def end_with(launcher: int) -> None:
    """Let SIGKILL end this process when its parent `launcher` ends. Exits if the parent has already ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    else:
        threading.Thread(target=_watch, args=(launcher,), name="launcher", daemon=True).start()
    if os.getppid() != launcher:
        sys.exit("the launcher of this process has already ended")


def _watch(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(_WATCH_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
