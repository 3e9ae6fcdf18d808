"""The GPU suite: how it keeps to its time and survives its parts, and a whole rehearsal on the CPU."""

import json
import math
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu_suite.__main__ import Record
from benchmarks.gpu_suite.__main__ import parts as parts_of
from benchmarks.gpu_suite.options import OPTIONS, option_spec
from benchmarks.gpu_suite.work import pytest_part
from benchmarks.measuring.places import ROOT
from benchmarks.measuring.schedule import Outcome, Part, Place, Schedule, Skipped
from tests.waiting import eventually
from trainer.spec import JobSpec


def passing(place: Place) -> dict[str, Any]:
    return {"device": place.device, "empty": not (list(place.folder.iterdir()))}


def failing(place: Place) -> dict[str, Any]:
    sys.stdout.write("before it fails\n")
    raise ValueError("no such kernel")


def dying(place: Place) -> dict[str, Any]:
    sys.exit("the run could not be measured")


def skipping(place: Place) -> dict[str, Any]:
    raise Skipped("no such package")


def endless(place: Place) -> dict[str, Any]:
    """With a process of its own, whose number it writes beside its folder."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (place.folder.parent / "child").write_text(str(child.pid))
    time.sleep(600)
    return {}


def meeting(place: Place) -> dict[str, Any]:
    """Whether another part runs at the same time. It waits for it for up to a tenth of its time."""
    (place.folder.parent / f"runs {place.folder.name}").touch()
    try:
        eventually(lambda: len(list(place.folder.parent.glob("runs *"))) == 2, place.seconds / 10)
    except AssertionError:
        (place.folder.parent / f"runs {place.folder.name}").unlink()
        return {"met": False}
    return {"met": True}


def run(folder: Path, *parts: Part, seconds: float = 60.0, at_once: int = 1) -> list[Outcome]:
    found: list[Outcome] = []
    Schedule(folder, time.monotonic() + seconds, at_once, found.append).run(parts, "cpu", True)
    return found


def test_a_part_that_fails_is_recorded_and_the_next_one_runs(tmp_path: Path) -> None:
    works = (failing, dying, skipping, passing)
    failed, died, skipped, passed = run(tmp_path, *(Part(work.__name__, work, 60) for work in works))
    assert failed.status == "failed" and failed.reason == "its process ended with 1: ValueError: no such kernel"
    assert failed.output is not None and failed.output.startswith("before it fails\n") and "Traceback" in failed.output
    assert died.status == "failed" and died.reason == "its process ended with 1: the run could not be measured"
    assert (skipped.status, skipped.reason) == ("skipped", "no such package")
    assert (passed.status, passed.reason, passed.output) == ("passed", None, None)
    assert passed.figures == {"device": "cpu", "empty": False}  # its log is there


@pytest.mark.slow  # waits for its limit; the budget below cuts a part in the same way
def test_gpu_suite_part_past_its_time_ends_with_its_children(tmp_path: Path) -> None:
    cut, after = run(tmp_path, Part("endless", endless, 8), Part("passing", passing, 60))
    assert cut.status == "cut" and cut.reason == "not over after 8 s" and after.status == "passed"
    child = Path("/proc") / (tmp_path / "child").read_text()
    deadline = time.monotonic() + 30
    while child.exists() and "\nState:\tZ" not in (child / "status").read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not child.exists() or "\nState:\tZ" in (child / "status").read_text()


def test_gpu_suite_omits_parts_beyond_the_budget(tmp_path: Path) -> None:
    parts = (Part("endless", endless, 60), Part("passing", passing, 60))
    cut, left_out = run(tmp_path, *parts, seconds=3)
    assert cut.status == "cut" and cut.limit_s <= 3
    assert (left_out.status, left_out.reason) == ("left_out", "the time budget was spent")


@pytest.mark.slow  # waits for its limit
def test_shared_parts_run_side_by_side_and_others_alone(tmp_path: Path) -> None:
    parts = [Part(f"shared {n}", meeting, 600, shared=True) for n in range(2)]
    alone = [Part(f"alone {n}", meeting, 10) for n in range(2)]
    for shared, of_kind in ((True, parts), (False, alone)):
        found = run(tmp_path / str(shared), *of_kind, seconds=600, at_once=2)
        assert [outcome.figures["met"] for outcome in found] == [shared, shared]


def pytest_on(folder: Path, seconds: float, **files: str) -> Outcome:
    """The part that runs pytest, on test files with that text."""
    (folder / "files").mkdir()
    for name, text in files.items():
        (folder / "files" / f"test_{name}.py").write_text(text)
    (outcome,) = run(folder, Part("tests", partial(pytest_part, (str(folder / "files"),)), seconds))
    return outcome


def test_tests_that_fail_fail_their_part_which_names_them(tmp_path: Path) -> None:
    one = "def test_right(): pass\ndef test_wrong(): assert False, 'no such kernel'"
    outcome = pytest_on(tmp_path, 60, one=one, other="import no_such_package\ndef test_never(): pass")
    assert (outcome.status, outcome.reason) == ("failed", "2 tests failed")
    assert outcome.figures["passed"] == 1 and len(outcome.figures["failed"]) == 2
    assert any("test_wrong" in name for name in outcome.figures["failed"])
    assert outcome.output is not None and "no such kernel" in outcome.output and "no_such_package" in outcome.output


@pytest.mark.slow  # waits for its limit
def test_tests_out_of_time_report_those_that_were_run(tmp_path: Path) -> None:
    text = "import time\ndef test_quick(): pass\ndef test_endless(): time.sleep(600)"
    outcome = pytest_on(tmp_path, 16, one=text)
    assert (outcome.status, outcome.reason) == ("failed", "not all tests were run within 16 s")
    assert outcome.figures["begun"] == 2 and outcome.figures["failed"] == []


def test_gpu_suite_uses_the_gpu_if_the_machine_part_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record(None, 9, False)
    record.take(Outcome("environment", "cut", reason="not over after 60 s"))
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert record.device == "cuda"
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert record.device == "cpu"


def test_the_spec_of_every_option_is_valid_on_a_gpu(tmp_path: Path) -> None:
    for option in OPTIONS:
        JobSpec.model_validate(option_spec(option, tmp_path, "cuda", rehearsal=False))


@pytest.mark.slow  # trains ten small models, as tests of the trainer do
def test_a_rehearsal_runs_every_part_that_a_cpu_can(tmp_path: Path) -> None:
    target = tmp_path / "gpu.json"
    command = [sys.executable, "-m", "benchmarks.gpu_suite", "--rehearse", "--json", str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(target.read_text())
    parts = {part["name"]: part for part in found["parts"]}
    assert done.returncode == 0 and found["rehearsed"] and found["budget_s"] == 540
    assert set(found["summary"]) == {"passed", "skipped"}, done.stderr
    absent = [option for option in OPTIONS if not option.rehearsed or not all(map(find_spec, option.needs))]
    skipped = {option.name for option in absent} | {"trl 0.5b"}
    assert set(found["summary"]["skipped"]) == skipped
    assert {"environment", "demo", "0.5b", "7b-lora", "tests", "asynchronous", "8-bit Adam"} <= set(parts)
    for name in ("0.5b", "7b-lora"):
        figures = parts[name]["figures"]
        measured = ("tokens_per_s", "decode_share", "train_share", "train_tflops", "iteration_s", "peak_rss_mib")
        assert all(figures[figure] > 0 and math.isfinite(figures[figure]) for figure in measured)
        assert set(figures["memory"]["phases"]) == {"rollout", "score", "train"}
    assert parts["environment"]["figures"]["missing"] == []
    assert parts["tests"]["figures"]["passed"] == 4
    assert parts["graphs and slices"]["figures"]["passed"] > 20
    assert 0 <= parts["demo"]["figures"]["summary"]["win_rate"] <= 1
    assert parts["asynchronous"]["figures"]["last"]["objective/kl"] != 0


def test_gpu_suite_has_a_part_for_graph_pools_and_slices() -> None:
    """The tests that need a GPU are run by a part of their own, which the time of all other tests cannot cut."""
    (part,) = [part for part in parts_of(rehearsal=False) if part.name == "graphs and slices"]
    paths = [ROOT / path for path in part.work.args[0]]  # type: ignore[attr-defined]
    assert all("torch.cuda.is_available()" in path.read_text() for path in paths)


def test_gpu_suite_without_packages_lists_the_missing_ones(tmp_path: Path) -> None:
    """-S leaves out site-packages. The other parts then fail, each recorded."""
    target = tmp_path / "gpu.json"
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from benchmarks.gpu_suite.__main__ import main; main()"
    command = [sys.executable, "-S", "-c", code, "--rehearse", "--minutes", "0.2", "--json", str(target)]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    environment, _, models, *_ = json.loads(target.read_text())["parts"]
    assert environment["figures"]["missing"] == [
        "torch",
        "transformers",
        "accelerate",
        "peft",
        "pydantic",
        "safetensors",
    ]
    assert models["status"] == "failed" and "No module named 'pydantic'" in models["reason"]
