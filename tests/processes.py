"""Queries about processes."""

import subprocess
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children(pid: int) -> dict[int, str]:
    """Command lines of a process's children, by process id."""
    listing = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    lines = (line.strip().partition(" ") for line in listing.stdout.splitlines())
    return {int(number): command for number, _, command in lines}


def descendants(pid: int) -> list[int]:
    """Children, their children, and so on."""
    found = list(children(pid))
    return found + [below for one in found for below in descendants(one)]
