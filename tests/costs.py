"""The cost of tests in CPU seconds: recorded by test, summed by folder, and the choice of the tests to run often.

CPU seconds are those of the test's process and of the children that it waited for; wall time depends on what else runs.
A server that outlives the test is not counted. A fixture that several tests share is recorded by itself.

Processors differ, and a busy neighbour slows one down. So a fixed piece of work is timed again and again during the run:
the budgets grow by the factor by which it takes longer than where they were measured.
"""

import json
import os
import statistics
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

RECORD = Path(__file__).parent / "costs.json"
"""The tests and shared fixtures that took `NOTABLE` CPU seconds or `NOTABLE_WALL` seconds. `make test-costs` writes it."""
BUDGETS = Path(__file__).parent / "budgets.toml"
NOTABLE, NOTABLE_WALL = 0.2, 2.0
YARDSTICK_SECONDS = 0.012
"""CPU seconds of `_yardstick` on the machine that the budgets were measured on, during its run of the default suite."""
_TESTS_BETWEEN_YARDSTICKS = 50
_SERVERS = {"postgres_url", "_redis_server", "s3_servers", "up", "platform", "profile"}
_STARTED = pytest.StashKey[tuple[float, float]]()
_SHARED = pytest.StashKey[dict[str, float]]()


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("costs", "CPU seconds of the tests")
    group.addoption("--costs", action="store_true", help="print the CPU seconds of each folder and record the tests'")
    group.addoption("--budgets", action="store_true", help="fail if a folder costs more than tests/budgets.toml allows")


def register(config: pytest.Config) -> None:
    """Measure if an option asks for it."""
    if config.getoption("--costs") or config.getoption("--budgets"):
        budgets = tomllib.loads(BUDGETS.read_text())["cpu_seconds"]
        record = RECORD if config.getoption("--costs") else None
        config.pluginmanager.register(Costs(budgets, record, enforced=config.getoption("--budgets")), "costs")


def mark_units(items: list[pytest.Item]) -> None:
    """Mark as `unit` the tests that use no server, nor a fixture that is dear, and are not dear themselves."""
    dear = set(json.loads(RECORD.read_text()))
    for item in items:
        names = set(getattr(item, "fixturenames", ()))
        scopes = {node.nodeid for node in item.listchain()} | {""}
        used = {item.nodeid} | {f"{scope}::{name}" for name in names for scope in scopes}
        if not (names & _SERVERS or used & dear or any(map(item.get_closest_marker, ("slow", "images")))):
            item.add_marker("unit")


def recorded_by_scope(scope_of: Callable[[str], str]) -> dict[str, float]:
    """The recorded seconds of each scope of tests; `scope_of` maps the id of a test or fixture to its scope."""
    sums: dict[str, float] = {}
    for test, cost in json.loads(RECORD.read_text()).items():
        if test.startswith("tests/"):
            sums[scope_of(test)] = sums.get(scope_of(test), 0.0) + cost
    return sums


class Costs:
    """The pytest plug-in. Under `-n` each worker measures, and the controller adds up."""

    def __init__(self, budgets: dict[str, float], record: Path | None, *, enforced: bool) -> None:
        self.budgets, self.record, self.enforced = budgets, record, enforced
        self.seconds: dict[str, float] = {}
        self.wall: dict[str, float] = {}
        self.shared: dict[str, float] = {}
        self.yardsticks: list[float] = []
        self.tests = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        item.stash[_STARTED] = _cpu_seconds(), time.monotonic()
        self.shared = item.stash[_SHARED] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> Iterator[Any]:
        before = _cpu_seconds()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self.shared[f"{request.node.nodeid}::{fixturedef.argname}"] = _cpu_seconds() - before

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
        if call.when == "teardown" and _STARTED in item.stash:
            shared = item.stash[_SHARED]
            cpu, wall = item.stash[_STARTED]
            own = _cpu_seconds() - cpu - sum(shared.values())
            item.user_properties.append(("cpu_seconds", {item.nodeid: own} | shared))
            item.user_properties.append(("wall_seconds", {item.nodeid: time.monotonic() - wall}))
            if self.tests % _TESTS_BETWEEN_YARDSTICKS == 0:
                item.user_properties.append(("yardstick", _yardstick()))
            self.tests += 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            for name, costs in report.user_properties:
                if name in ("cpu_seconds", "wall_seconds") and isinstance(costs, dict):
                    sums = self.seconds if name == "cpu_seconds" else self.wall
                    sums |= {str(key): float(cost) for key, cost in costs.items()}
                elif name == "yardstick":
                    self.yardsticks.append(float(str(costs)))

    def by_folder(self) -> dict[str, float]:
        """The sum of each folder that has a budget; a test counts for the deepest such folder that holds it."""
        sums = dict.fromkeys(self.budgets, 0.0)
        for test, cost in self.seconds.items():
            folders = [folder for folder in self.budgets if test.startswith(f"{folder}/")]
            if folders:
                sums[max(folders, key=len)] += cost
        return sums

    def notable(self) -> dict[str, float]:
        """CPU seconds by test or fixture; wall seconds for a test that mostly waits, such as for processes of its own."""
        waited = {test: wall for test, wall in self.wall.items() if wall >= NOTABLE_WALL}
        worked = {key: cost for key, cost in self.seconds.items() if cost >= NOTABLE}
        return {key: round(cost, 1) for key, cost in sorted((waited | worked).items())}

    def slowness(self) -> float:
        """How many times longer this machine takes than that of the budgets; never less than 1."""
        return max(1.0, statistics.median(self.yardsticks or [0]) / YARDSTICK_SECONDS)

    def over_budget(self) -> list[str]:
        slowness = self.slowness()
        return [
            f"{folder} took {cost:.1f} CPU seconds; its budget is {self.budgets[folder] * slowness:.0f}"
            for folder, cost in self.by_folder().items()
            if self.enforced and cost > self.budgets[folder] * slowness
        ]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        if self.record:
            self.record.write_text(json.dumps(self.notable(), indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        if session.exitstatus == pytest.ExitCode.OK and self.over_budget():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("CPU seconds by folder, and its budget")
        slowness = self.slowness()
        terminalreporter.write_line(f"The machine is {slowness:.2f} times as slow as that of the budgets.")
        for folder, cost in self.by_folder().items():
            terminalreporter.write_line(f"{cost:7.1f} of {self.budgets[folder] * slowness:4.0f}  {folder}")
        for line in self.over_budget():
            terminalreporter.write_line(f"over budget: {line}. Make its tests cheaper, or mark some `slow`.", red=True)


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _yardstick() -> float:
    """CPU seconds of a fixed piece of work of the kind that tests do: texts, numbers and small objects."""
    began = time.process_time()
    rows = [{"id": number, "text": f"row {number % 97}", "score": number / 7} for number in range(4000)]
    rows = json.loads(json.dumps(rows))
    rows.sort(key=lambda row: (row["text"], -row["score"]))
    return time.process_time() - began
