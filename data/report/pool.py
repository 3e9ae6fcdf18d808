"""Runs scanners in several processes.

Each process has a pipe of its own. When the parent ends for any reason, the process reads the end of the pipe and ends too.
"""

import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from data.errors import DatasetError, ProcessEnded
from data.report.scan import Scanner
from data.report.settings import LoadTokenizer, ReportSettings

MOST = 8
"""Most processes: each holds a tokenizer and, with a model, all of torch."""
Method = Literal["scan", "similar_prompts", "similar_rows", "tokenizer_facts"]


def cores() -> int:
    """The number of cores that this process may use, at most MOST."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST, available)


class Pool:
    """`with Pool(path, settings, processes) as pool: …`. With one process, the scanner runs in the caller's process."""

    def __init__(
        self, path: Path, settings: ReportSettings, processes: int, load_tokenizer: LoadTokenizer | None = None
    ) -> None:
        self._path, self._settings, self._count = path, settings, processes
        self._load_tokenizer = load_tokenizer
        self._scanner: Scanner | None = None
        self._ends: list[Connection] = []
        self._processes: list[multiprocessing.process.BaseProcess] = []

    def __enter__(self) -> Self:
        if self._count == 1:
            self._scanner = Scanner(self._path, self._settings, self._load_tokenizer)
            return self
        context = multiprocessing.get_context("spawn")  # a fork would take our threads' locks along
        for _ in range(self._count):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_work, args=(theirs, self._path, self._settings, self._load_tokenizer), daemon=True
            )
            process.start()
            theirs.close()
            self._ends.append(ours)
            self._processes.append(process)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for end in self._ends:
            end.close()
        for process in self._processes:
            process.kill()  # it holds nothing that would have to be put away
            process.join()

    def map(self, method: Method, arguments: Iterable[Any]) -> Iterator[Any]:
        """Results of the scanners' `method` for each argument, in order. Raises the errors of the method, and ProcessEnded."""
        if self._scanner is not None:
            for argument in arguments:
                yield getattr(self._scanner, method)(argument)
            return
        tasks = enumerate(arguments)
        busy: dict[Connection, int] = {}
        done: dict[int, Any] = {}
        expected = 0
        for end in self._ends:
            _give(end, method, tasks, busy)
        while busy:
            answered = set(wait(list(busy)))
            for end in [end for end in busy if end in answered]:
                done[busy.pop(end)] = self._answer(end)
                _give(end, method, tasks, busy)
            while expected in done:
                yield done.pop(expected)
                expected += 1

    def _answer(self, end: Connection) -> Any:
        try:
            answer = end.recv()
        except (EOFError, ConnectionResetError) as error:
            process = self._processes[self._ends.index(end)]
            process.join()
            raise ProcessEnded(f"A process of the report has ended with status {process.exitcode}.") from error
        if isinstance(answer, DatasetError):
            raise answer
        return answer


def _give(end: Connection, method: Method, tasks: Iterator[tuple[int, Any]], busy: dict[Connection, int]) -> None:
    for number, argument in tasks:
        busy[end] = number
        with suppress(BrokenPipeError):  # it has ended, and sent the reason, which is read next
            end.send((method, argument))
        return


def _work(end: Connection, path: Path, settings: ReportSettings, load_tokenizer: LoadTokenizer | None) -> None:
    """Runs in a worker process: answers requests until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started us
    try:
        scanner = Scanner(path, settings, load_tokenizer)
        while True:
            method, argument = end.recv()
            end.send(getattr(scanner, method)(argument))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except DatasetError as error:
        end.send(error)
