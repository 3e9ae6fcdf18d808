"""`python -m trainer check-server`: runs checks in copies of a process that has imported torch already.

It reads requests from standard input, one line of JSON each. It answers with two lines on standard output: the id of the
process that makes the check, and its exit status. It ends after ten minutes without a request.
"""

import json
import os
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from data.start_up import importing
from trainer.distributed.rank import end_with

IDLE_SECONDS = 600.0
"""The imported libraries take about 500 MB, which a server without work gives back."""
Main = Callable[[Sequence[str]], int]


def serve(main: Main) -> int:
    """Serve until standard input ends. `main` is the command line that each request's `arguments` go to."""
    with importing("trainer.preflight.check"):
        import trainer.preflight.check  # noqa: F401  # the slow part

    while select.select([sys.stdin], [], [], IDLE_SECONDS)[0]:
        line = sys.stdin.readline()
        if not line:
            break
        request, server = json.loads(line), os.getpid()
        answered, answer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(answer)
            _check(main, request, server, answered)
        os.close(answered)
        _lead_group(process)
        _answer(process)
        os.close(answer)
        status = os.waitpid(process, 0)[1]
        with suppress(ProcessLookupError, PermissionError):  # the group is empty, or holds a zombie (macOS)
            os.killpg(process, signal.SIGKILL)
        _answer(os.waitstatus_to_exitcode(status))
    return 0


def _lead_group(process: int) -> None:
    """Let the check lead a process group, so that the processes that it starts end with it.

    The check and the server both do this, because the group must exist before the server answers.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.setpgid(process, process)


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _check(main: Main, request: dict[str, Any], server: int, answered: int) -> None:
    """Make the check in this process, which then ends. It ends with the server, too.

    The check begins when the other end of `answered` is closed, because the worker can end it only after the answer.
    """
    status = 1
    try:
        _lead_group(os.getpid())
        end_with(server)
        os.read(answered, 1)
        _enter(request)
        status = main(request["arguments"])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  # process boundary: the worker reads standard error
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _enter(request: dict[str, Any]) -> None:
    """Take over the folder, the output file and the limits of the request."""
    null = os.open(os.devnull, os.O_RDWR)
    errors = os.open(request["errors"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for target, source in enumerate((null, null, errors)):
        os.dup2(source, target)
    os.chdir(request["folder"])
    if request["cgroup"]:
        Path(request["cgroup"], "cgroup.procs").write_text(str(os.getpid()))
    if request["data_bytes"]:
        size, hard = request["data_bytes"], resource.getrlimit(resource.RLIMIT_DATA)[1]
        soft = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
