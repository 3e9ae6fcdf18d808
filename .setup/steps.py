"""Helpers of all steps: a step prints its name and its duration, is skipped when done, and fails with advice."""

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

ADVICE = (
    ("No space left on device", "The disk is full. Free some space (about 3 GB in all are needed) and try again."),
    ("os error 28", "The disk is full. Free some space (about 3 GB in all are needed) and try again."),
    ("ENOSPC", "The disk is full. Free some space (about 3 GB in all are needed) and try again."),
    ("ensurepip is not", "This Python lacks its venv module. On Debian or Ubuntu: apt-get install python3-venv"),
    ("Failed to fetch", "A package could not be downloaded. Check the network, the proxy and the index, and try again."),
    ("dns error", "There is no network, or the name of the package index cannot be resolved. Try again online."),
    ("Connection", "There is no network, or the package index refused. Try again online."),
    ("ENOTFOUND", "There is no network, or the npm registry cannot be reached. Try again online."),
    ("EAI_AGAIN", "There is no network, or the npm registry cannot be reached. Try again online."),
    ("network was disabled", "A package could not be downloaded: the installer is set to stay offline. Try again online."),
    ("Failed to build", "A package has no wheel for this machine and could not be compiled. Use Python 3.11 to 3.13 on "
     "Linux or macOS (x86-64 or arm64), or install a C compiler and try again."),
    ("Permission denied", "A file or folder may not be written. Was an earlier set-up run as another user?"),
)  # fmt: skip
PROGRESS_SECONDS = 5


class SetupError(Exception):
    """A failure that the user must resolve. The message gives the remedy."""


def run(
    what: str,
    command: list[str],
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> None:
    """Run a command with its output in a log. Prints the step, its duration, and the advice for a failure."""
    say(f"{what} …")
    start = time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=env, cwd=cwd
            )
        except OSError as error:
            raise SetupError(f"{command[0]} could not be started: {error.strerror}") from error
        status = _wait(process, start)
    seconds = time.monotonic() - start
    if status != 0:
        raise SetupError(_explain(what, status, log))
    say(f"{what}: done in {seconds:.1f} s")


def output_of(command: list[str]) -> str:
    """The output of a command; empty if the command fails or does not exist."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def once(stamp: Path, key: str, result: Path, action: Callable[[], None]) -> None:
    """Do it unless `result` exists and was made for the same `key`."""
    if result.exists() and stamp.exists() and stamp.read_text() == key:
        return
    stamp.unlink(missing_ok=True)
    action()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key)


def digest(files: Iterable[Path], *others: str) -> str:
    """A key that changes when one of the files does."""
    sha = hashlib.sha256("\0".join(others).encode())
    for path in sorted(files):
        sha.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return sha.hexdigest()


def say(text: str) -> None:
    print(f"[setup] {text}", flush=True)


def _wait(process: "subprocess.Popen[bytes]", start: float) -> int:
    try:
        while True:
            try:
                return process.wait(PROGRESS_SECONDS)
            except subprocess.TimeoutExpired:
                if sys.stdout.isatty():
                    say(f"  still at it, {time.monotonic() - start:.0f} s")
    except KeyboardInterrupt:
        process.wait()  # the terminal has sent it the signal as well
        raise


def _explain(what: str, status: int, log: Path) -> str:
    text = log.read_text(errors="replace")
    lines = text.splitlines()
    shown = lines if len(lines) <= 20 else [*lines[:6], "…", *lines[-12:]]
    said = "\n".join(f"    {line}" for line in shown)
    advice = next((advice for sign, advice in ADVICE if sign in text), f"The whole output is in {log}.")
    return f"{what} failed with status {status}. Its output:\n{said}\n\n{advice}"
