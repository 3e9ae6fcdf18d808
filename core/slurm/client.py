"""Calls of Slurm's commands. Every name, option and path is one argument of a process: no shell reads it."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SECONDS = 20.0
"""Longest time of one command. Slurm's own commands give up on a controller after its `MessageTimeout`, 10 seconds by default."""
_AWAY = (
    "unable to contact slurm controller",
    "socket timed out",
    "socket error",
    "connection refused",
    "controller not responding",
    "zero bytes were transmitted",
    "transport endpoint",
    "controller in standby mode",
    "could not establish a configuration source",
    "protocol authentication error",
    "munge",
)
_FULL = (
    "temporarily unable to accept job",
    "resource temporarily unavailable",
    "submit limit",
    "maxsubmit",
    "job violates accounting/qos policy",
)
_UNKNOWN_JOB = ("invalid job id specified",)
_NODE = re.compile(r"^NodeName=(\S+) .*? State=(\S+)", re.MULTILINE)
_LOST = re.compile(r"DOWN|FAIL|.*(\*|NOT_RESPONDING)")


class SlurmError(Exception):
    """A command failed. Its text is what the command printed, in one line."""


class NotInstalled(SlurmError):
    """The command is not on the PATH of this process."""


class ControllerAway(SlurmError):
    """The controller does not respond."""


class QueueFull(SlurmError):
    """Slurm takes no further job of this user at present."""


class UnknownJob(SlurmError):
    """Slurm has no job of this number, or has forgotten it."""


class Refused(SlurmError):
    """Slurm refuses the request itself."""


@dataclass(frozen=True)
class JobView:
    """A job, as the controller or the accounting describes it."""

    state: str
    """Slurm's name of the state, such as `RUNNING`."""
    reason: str = ""
    """Why it is in this state, in Slurm's word."""
    nodes: str = ""
    """Its nodes, as Slurm abbreviates them."""
    status: int = 0
    """Exit status of the batch script. Negative: the signal that ended it."""
    restarts: int = 0
    """How often Slurm has started it again."""
    seconds_left: int | None = None
    """Time until its limit. None: it has none, or Slurm does not report it."""


def call(
    program: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    seconds: float = SECONDS,
) -> str:
    """The standard output of a command. Raises SlurmError, by its kind."""
    try:
        done = subprocess.run(
            [program, *arguments],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=None if env is None else dict(env),
            cwd=cwd,
            timeout=seconds,
        )
    except FileNotFoundError as error:
        raise NotInstalled(f"`{program}` is not on the PATH of the worker") from error
    except subprocess.TimeoutExpired as error:
        said = _one_line((error.stderr or b"").decode(errors="replace"))
        kind = QueueFull if _has(said, _FULL) else ControllerAway
        raise kind(said or f"`{program}` has not responded within {seconds:g} s") from error
    if done.returncode:
        raise _error(_one_line(done.stderr or done.stdout) or f"`{program}` ended with status {done.returncode}")
    return done.stdout


def submit(arguments: Sequence[str], *, env: Mapping[str, str], cwd: str) -> str:
    """Submit a batch job. Returns its number. `arguments`: options, the script, and the script's arguments."""
    return call("sbatch", "--parsable", *arguments, env=env, cwd=cwd).strip().partition(";")[0]


def find_by_comment(comment: str) -> str | None:
    """The number of this user's newest job with a comment. None: there is none.

    Slurm keeps a job that it has refused for a while, as failed and without nodes. Such a job does not count.
    """
    lines = call("squeue", "--noheader", "--me", "--states=all", "--format=%A|%T|%N|%k").splitlines()
    found = (line.split("|", 3) for line in lines)
    mine = [number for number, state, nodes, text in found if text == comment and (nodes or state != "FAILED")]
    return max(mine, key=int, default=None)


def look_up(job: str, comment: str) -> JobView:
    """The present state of a job. Raises UnknownJob, ControllerAway, NotInstalled.

    A job with another comment is not the one that was submitted: a controller that lost its newest state gives numbers twice.
    """
    fields = ("State", "Reason", "NodeList", "exit_code", "RestartCnt", "TimeLeft", "Comment")
    form = ",".join(f"{name}:|" for name in fields)
    lines = call("squeue", "--noheader", f"--jobs={job}", "--states=all", f"--Format={form}").splitlines()
    parts = lines[0].split("|") if lines else []
    if len(parts) < len(fields) or parts[6] != comment:
        raise UnknownJob(f"Slurm has no job {job} with the comment {comment!r}")
    state, reason, nodes, status, restarts, left = parts[:6]
    raw = int(status) if status.isdigit() else 0
    signal, code = raw & 0x7F, raw >> 8 & 0xFF
    count = int(restarts) if restarts.isdigit() else 0
    return JobView(state, reason, nodes, -signal if signal else code, count, _seconds(left))


def look_up_ended(job: str) -> JobView | None:
    """A job that the controller has forgotten, by Slurm's accounting. None: there is no accounting, or it has no such job."""
    try:
        text = call("sacct", "--noheader", "--allocations", "--parsable2", f"--jobs={job}", "--format=State,ExitCode")
    except SlurmError:
        return None
    line = text.strip().splitlines()[-1:] or [""]
    state, _, status = line[0].partition("|")
    code, _, signal = status.partition(":")
    if not state or not code.isdigit():
        return None
    number = int(signal) if signal.isdigit() else 0
    return JobView(state.split()[0], status=-number if number else int(code))


def cancel(job: str) -> None:
    """Cancel a job. One that has ended stays as it is."""
    _ignoring_ended("scancel", job)


def send_signal(job: str, name: str, *, everywhere: bool = False) -> None:
    """Send a signal to the batch process of a job, or `everywhere`: to all its processes."""
    _ignoring_ended("scancel", "--full" if everywhere else "--batch", f"--signal={name}", job)


def _ignoring_ended(program: str, *arguments: str) -> None:
    try:
        call(program, *arguments)
    except UnknownJob:
        pass
    except Refused as error:
        if "already completing or completed" not in str(error).lower():
            raise


def _error(text: str) -> SlurmError:
    for kind, signs in ((UnknownJob, _UNKNOWN_JOB), (QueueFull, _FULL), (ControllerAway, _AWAY)):
        if _has(text, signs):
            return kind(text)
    return Refused(text)


def _has(text: str, signs: Sequence[str]) -> bool:
    return any(sign in text.lower() for sign in signs)


def _one_line(text: str) -> str:
    """The output of a command without the name of the program at the beginning of its lines."""
    lines = (line.strip() for line in text.splitlines())
    return " ".join(line.partition(": error: ")[2] or line for line in lines if line)


def _seconds(left: str) -> int | None:
    """Seconds of a duration in Slurm's form `days-hours:minutes:seconds`. None for one that is no number."""
    days, _, clock = left.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts) or not (days or "0").isdigit():
        return None
    total = 0
    for part in parts:
        total = total * 60 + int(part)
    return int(days or 0) * 86400 + total


def lost_nodes(nodes: str) -> str:
    """Those of the nodes that are down or do not respond, with commas; "" if there is none.

    `sinfo` may show a node that is down as mixed, by its last count of used cores. `scontrol` shows its state.
    """
    if not nodes:
        return ""
    try:
        text = call("scontrol", "show", "node", nodes, "--oneliner")
    except Refused:  # the cluster has them no more
        return ""
    return ",".join(name for name, state in _NODE.findall(text) if _LOST.match(state))
