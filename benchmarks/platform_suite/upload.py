"""Measures an upload against `cat` over loopback to disk, in turn, and the memory of the API's process meanwhile.

    python -m benchmarks.platform_suite.upload --json FILE

`cat FILE` writes into a socket on loopback, and another `cat` from it into a file. The clock stops when the file is whole,
and once more when it is on the disk (fsync). The upload is the client's: parts in parallel, each on the disk before the API
confirms it, and a SHA-256 of the whole. The platform is `proximal up` in a folder of its own. Memory is the highest resident
size of the API's process (VmHWM, reset before each upload), measured with sparse files. All files are below `--cache` and are
removed. Three times the largest file must be free there.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from benchmarks.measuring.places import CACHE, cores, processor, say, write_json
from benchmarks.ppo.compare import Spread
from proximal.data_folder import DataFolder
from proximal.errors import ApiError, Unreachable
from proximal.local import services
from proximal.local.options import Options
from proximal.sdk import Client

MIB = 1024 * 1024
GOAL, GOAL_MEMORY_MIB = 1.3, 50.0


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Measure, print the figures, write them as JSON, and return them."""
    arguments = _parser().parse_args(argv)
    folder = arguments.cache / f"upload-{os.getpid()}"
    folder.mkdir(parents=True)
    try:
        _require_free_space(folder, 3 * MIB * max(arguments.mib, *arguments.memory))
        with _platform(folder / "platform") as (client, api):
            figures = _times(client, folder, arguments.mib, arguments.rounds)
            figures["memory"] = _memory(client, api, folder, arguments.memory)
    finally:
        shutil.rmtree(folder)
    figures["machine"] = {"cores": cores(), "processor": processor()}
    write_json(figures, arguments.json)
    print(json.dumps(figures, indent=1))
    return figures


def _times(client: Client, folder: Path, mib: int, rounds: int) -> dict[str, Any]:
    """Seconds of each, round by round, and ratios within each round."""
    file = folder / "file.bin"
    _write(file, mib)
    cats, synced, ours = [], [], []
    for number in range(rounds + 1):
        written, on_disk = _copy_by_cat(file, folder / "copy.bin")
        seconds = _upload(client, file)
        if number:  # the first round warms up
            cats.append(written)
            synced.append(on_disk)
            ours.append(seconds)
            say(f"round {number} of {rounds}: cat {written:.2f} s, on disk {on_disk:.2f} s; upload {seconds:.2f} s")
    file.unlink()
    against_cat = Spread.of([mine / cat for mine, cat in zip(ours, cats, strict=True)])
    against_disk = Spread.of([mine / cat for mine, cat in zip(ours, synced, strict=True)])
    return {
        "mib": mib,
        "cat_s": vars(Spread.of(cats)),
        "cat_on_disk_s": vars(Spread.of(synced)),
        "upload_s": vars(Spread.of(ours)),
        "upload_mib_per_s": mib / Spread.of(ours).median,
        "times_cat": vars(against_cat),
        "times_cat_on_disk": vars(against_disk),
        "goal": {"times_cat_on_disk": GOAL, "met": against_disk.median <= GOAL},
    }


def _copy_by_cat(file: Path, target: Path) -> tuple[float, float]:
    """Seconds until the copy is whole, and until it is on the disk."""
    _settle()
    with socket.create_server(("127.0.0.1", 0)) as listener, target.open("wb") as out:
        began = time.perf_counter()
        with socket.create_connection(listener.getsockname()) as near, listener.accept()[0] as far:
            receiver = subprocess.Popen(["cat"], stdin=far.fileno(), stdout=out)
            far.close()
            subprocess.run(["cat", str(file)], stdout=near.fileno(), check=True)
            near.shutdown(socket.SHUT_WR)
            near.close()
            receiver.wait()
        written = time.perf_counter() - began
        os.fsync(out.fileno())
        on_disk = time.perf_counter() - began
    assert target.stat().st_size == file.stat().st_size
    target.unlink()
    return written, on_disk


def _upload(client: Client, file: Path) -> float:
    """Seconds from the first request until the platform has checked the whole file."""
    _settle()
    began = time.perf_counter()
    upload = client.upload_file(file)
    seconds = time.perf_counter() - began
    assert upload["status"] == "complete"
    client.delete_upload(upload["id"])
    return seconds


def _memory(client: Client, api: int, folder: Path, sizes: list[int]) -> dict[str, Any]:
    """Highest resident MiB of the API's process while a file of each size comes."""
    peaks = {}
    _upload(client, _sparse(folder / "warm-up", min(sizes)))
    for mib in sizes:
        Path(f"/proc/{api}/clear_refs").write_text("5")
        _upload(client, _sparse(folder / f"{mib}-mib", mib))
        peaks[str(mib)] = _peak_mib(api)
        say(f"{mib} MiB: the API's process had at most {peaks[str(mib)]:.0f} MiB")
    spread = max(peaks.values()) - min(peaks.values())
    return {"peak_mib": peaks, "spread_mib": spread, "goal_mib": GOAL_MEMORY_MIB, "met": spread <= GOAL_MEMORY_MIB}


def _peak_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def _sparse(file: Path, mib: int) -> Path:
    """A file of zeros, which takes no room."""
    with file.open("wb") as content:
        content.truncate(mib * MIB)
    return file


def _write(file: Path, mib: int) -> None:
    """Write a file of random bytes, which cannot be compressed."""
    with file.open("wb") as content:
        for _ in range(mib):
            content.write(os.urandom(MIB))


def _settle() -> None:
    """Flush earlier writes, so that they do not count for the next measurement."""
    os.sync()


@contextmanager
def _platform(folder: Path) -> Iterator[tuple[Client, int]]:
    """A client of a platform that runs, and the process id of its API."""
    options = Options(folder, port=_free_port(), workers=0)
    up = services.start_in_background(options)
    try:
        with _client(options) as client:
            yield client, _api_pid(up.pid)
    finally:
        up.stop(grace=60)


def _api_pid(platform_pid: int) -> int:
    """The process id of the API among the processes of the platform."""
    (process,) = [child for child in psutil.Process(platform_pid).children(recursive=True) if "api" in child.cmdline()]
    return int(process.pid)


def _client(options: Options) -> Client:
    """A client, as soon as the platform answers. Ends the program after two minutes."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        key = DataFolder(options.folder.path).key()
        if key is not None and _is_ready(client := Client(options.url, key)):
            return client
        time.sleep(0.2)
    sys.exit(f"The platform did not start; see {options.folder.logs}.")


def _is_ready(client: Client) -> bool:
    """Whether the platform answers. Closes the client if it does not."""
    try:
        client.is_ready()
    except (Unreachable, ApiError):
        client.close()
        return False
    return True


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _require_free_space(folder: Path, needed: int) -> None:
    if (free := shutil.disk_usage(folder).free) < needed:
        sys.exit(f"{needed // MIB} MiB must be free at {folder}; there are {free // MIB}.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="An upload against `cat` over loopback to disk, and the API's memory.")
    parser.add_argument("--mib", type=int, default=1024, help="size of the file that is timed (default 1024)")
    parser.add_argument("--rounds", type=int, default=5, help="of each, in turn, after one to warm up (default 5)")
    parser.add_argument(
        "--memory",
        type=int,
        nargs="+",
        default=[1, 64, 512, 2048],
        help="MiB of the files sent while memory is watched",
    )
    parser.add_argument("--json", type=Path, help="write every figure here")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where files lie meanwhile (default out/bench)")
    return parser


if __name__ == "__main__":
    main()
