"""`make setup`: what it decides, without installing anything."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

SETUP = Path(__file__).parents[1] / ".setup"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SETUP))
    import steps

    return steps


def test_a_step_is_done_once_for_the_same_inputs(steps: ModuleType, tmp_path: Path) -> None:
    done: list[str] = []
    stamp, result = tmp_path / "stamps" / "step", tmp_path

    for key in ("a", "a", "b"):
        steps.once(stamp, key, result, lambda key=key: done.append(key))
    assert done == ["a", "b"]


def test_a_step_that_failed_is_done_again(steps: ModuleType, tmp_path: Path) -> None:
    stamp = tmp_path / "step"
    steps.once(stamp, "old", tmp_path, lambda: None)

    def fail() -> None:
        raise steps.SetupError("no")

    with pytest.raises(steps.SetupError):
        steps.once(stamp, "new", tmp_path, fail)
    assert not stamp.exists()


def test_a_step_whose_result_was_deleted_is_done_again(steps: ModuleType, tmp_path: Path) -> None:
    stamp, result = tmp_path / "step", tmp_path / "result"
    steps.once(stamp, "key", result, result.touch)
    result.unlink()
    steps.once(stamp, "key", result, result.touch)
    assert result.exists()


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("write failed: No space left on device (os error 28)", "The disk is full"),
        ("Failed to fetch: https://example.org/simple/", "Check the network"),
        ("error: command 'gcc' failed\nFailed to build thing", "compiler"),
        ("something new", "The whole output is in"),
    ],
)
def test_setup_failure_names_the_remedy(steps: ModuleType, said: str, advice: str, tmp_path: Path) -> None:
    with pytest.raises(steps.SetupError, match=advice) as caught:
        steps.run("step", [sys.executable, "-c", f"import sys; sys.exit({said!r})"], tmp_path / "log")
    assert said.splitlines()[0] in str(caught.value)


@pytest.mark.parametrize(
    ("version", "good"),
    [("v20.18.3", False), ("v20.19.0", True), ("v21.7.0", False), ("v22.11.0", False), ("v24.0.1", True), ("", False)],
)
def test_which_node_will_do(steps: ModuleType, version: str, good: bool) -> None:
    import dashboard

    assert dashboard._new_enough(version, "/usr/bin/npm") is good
    assert not dashboard._new_enough(version, None)
