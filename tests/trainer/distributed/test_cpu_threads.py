import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from trainer.distributed import cpu_threads


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_threads, "available_cores", lambda: 2)
    monkeypatch.setattr(
        torch, "set_num_threads", lambda count: monkeypatch.setattr(torch, "get_num_threads", lambda: count)
    )


def workload(seconds: dict[int, float]) -> Callable[[], None]:
    return lambda: time.sleep(seconds[torch.get_num_threads()])


@pytest.mark.parametrize(("two", "chosen"), [(0.01, 2), (0.02, 1), (0.06, 1)])
def test_auto_takes_more_threads_only_if_they_bring_much(tmp_path: Path, two: float, chosen: int) -> None:
    torch.set_num_threads(1)
    assert cpu_threads.choose("auto", 10**7, tmp_path / "threads", workload({1: 0.03, 2: two})) == chosen


def test_what_auto_found_is_kept_for_a_resume(tmp_path: Path) -> None:
    (tmp_path / "threads").write_text("7")
    assert cpu_threads.choose("auto", 10**7, tmp_path / "threads", lambda: pytest.fail("probed again")) == 7


def test_what_one_per_core_meant_is_kept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpu_threads.choose(None, 10**7, tmp_path / "threads", lambda: None) == 2
    monkeypatch.setattr(cpu_threads, "available_cores", lambda: 4)
    assert cpu_threads.choose(None, 10**7, tmp_path / "threads", lambda: None) == 2


@pytest.mark.parametrize(
    ("setting", "parameters", "chosen"), [(3, 10**7, 3), (3, 10, 3), (None, 10**6, 2), (None, 10**6 - 1, 1)]
)
def test_without_auto_the_count_needs_no_clock(
    tmp_path: Path, setting: int | None, parameters: int, chosen: int
) -> None:
    assert cpu_threads.choose(setting, parameters, tmp_path / "threads", lambda: pytest.fail("probed")) == chosen
