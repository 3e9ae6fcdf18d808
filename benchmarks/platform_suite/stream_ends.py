"""The two ends of an event stream, each a process of its own: `python -m benchmarks.platform_suite.stream_ends`.

`clients` opens the connections, prints `open`, and reads until the time is over. Then it prints the lag of every received
event in milliseconds: the time of its arrival minus the time in its metric SENT, by the clock of one machine. `run` stands
for the trainer: it reports a step of PPO at fixed intervals, and computes nothing.
"""

import argparse
import asyncio
import json
import re
import resource
import time
from pathlib import Path

SENT = "benchmark/sent"
"""Metric with the Unix time at which the event was made."""
_SENT_VALUE = re.compile(rf'"{SENT}":([0-9.]+)'.encode())
_AT_ONCE = 50


class _Reader(asyncio.Protocol):
    """Notes the lag of each event, without parsing more than its time."""

    def __init__(self, request: bytes, lags: list[float]) -> None:
        self._request, self._lags = request, lags
        self._rest = b""
        self.begun = asyncio.get_running_loop().create_future()
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.begun.done():
            assert data.startswith(b"HTTP/1.1 200"), data[:300]
            self.begun.set_result(None)
        *whole, self._rest = (self._rest + data).split(b"\n\n")
        now = time.time()
        for message in whole:
            if found := _SENT_VALUE.search(message):
                self._lags.append(1000 * (now - float(found[1])))

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True


async def _read(arguments: argparse.Namespace) -> dict[str, object]:
    lags: list[float] = []
    readers: list[_Reader] = []
    for first in range(0, arguments.count, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, arguments.count))
        opened = await asyncio.gather(*[_open(arguments, number, lags) for number in numbers])
        await asyncio.gather(*[reader.begun for reader in opened])
        readers += opened
    print("open", flush=True)
    await asyncio.sleep(arguments.seconds)
    return {"lags_ms": [round(lag, 2) for lag in lags], "lost": sum(reader.lost for reader in readers)}


async def _open(arguments: argparse.Namespace, number: int, lags: list[float]) -> _Reader:
    """Every fourth client watches all jobs, and the others watch the first one."""
    several = number % 4 == 3
    jobs = ",".join(f"{job}:999999999" for job in arguments.jobs)
    path = f"/v1/stream?jobs={jobs}" if several else f"/v1/jobs/{arguments.jobs[0]}/stream?after=999999999"
    request = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{arguments.port}\r\nAuthorization: Bearer {arguments.key}\r\n\r\n"
    )
    loop = asyncio.get_running_loop()
    _, reader = await loop.create_connection(lambda: _Reader(request.encode(), lags), "127.0.0.1", arguments.port)
    return reader


def _run(folder: Path, count: int, interval: float) -> None:
    from benchmarks.platform_suite.stored_runs import metric_names, steps
    from trainer.events import EventLog

    log = EventLog(folder / "events.jsonl")
    for event in steps(1, count, count, metric_names(40)):
        time.sleep(interval)
        event.values[SENT] = time.time()
        log.emit(event)
    log.close()


def main() -> None:
    """Run one command. The worker appends the arguments of a trainer, of which only the run folder is used."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--interval", type=float)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run").add_argument("--run-dir", type=Path, required=True)
    clients = commands.add_parser("clients")
    clients.add_argument("--port", type=int, required=True)
    clients.add_argument("--key", required=True)
    clients.add_argument("--jobs", nargs="+", required=True)
    clients.add_argument("--seconds", type=float, required=True)
    arguments, _ = parser.parse_known_args()
    if arguments.command == "run":
        _run(arguments.run_dir, arguments.count, arguments.interval)
        return
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(json.dumps(asyncio.run(_read(arguments))))


if __name__ == "__main__":
    main()
