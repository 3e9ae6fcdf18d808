"""Whole runs with vLLM, each in a process of its own as a user starts it."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests import tolerance
from tests.trainer.distributed.tools import start as start_several
from tests.trainer.distributed.tools import statuses
from tests.trainer.running import at, events_of, forked, metrics_of, run, signal_when, start, status_of
from tests.trainer.vllm.tools import write_spec
from trainer.errors import EngineFailed, ModelError, Stopped
from trainer.events import RunFailed, Samples

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SFT, reward model, ten steps of PPO with evaluations between them, and the evaluation."""
    folder = tmp_path_factory.mktemp("whole")
    assert run(write_spec(folder), folder / "run") == (0, "")
    return folder / "run"


def test_a_whole_run_samples_what_it_trains(whole: Path) -> None:
    metrics = metrics_of(whole)
    steps = [metrics["ppo", step] for step in range(1, 11)]
    assert all(abs(step["sampling/logp_difference/max"]) < tolerance.largest(size=8) for step in steps), steps[0]


def test_stages_before_ppo_equal_those_of_the_built_in_sampler(whole: Path, tmp_path: Path) -> None:
    """Before the first rollout the runs are equal, to the bit. After it, they have learned from other responses."""
    spec = write_spec(tmp_path, ppo=json.loads((whole.parent / "spec.json").read_text())["ppo"] | {"rollout": {}})
    assert run(spec, tmp_path / "run") == (0, "")
    theirs, ours = metrics_of(whole), metrics_of(tmp_path / "run")
    assert {key: theirs[key] for key in theirs if key[0] != "ppo" and key[0] != "evaluation"} == {
        key: ours[key] for key in ours if key[0] != "ppo" and key[0] != "evaluation"
    }
    assert theirs.keys() == ours.keys()


def test_killed_run_resumes_to_the_same_bits(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = start(write_spec(tmp_path), folder)
    assert signal_when(process, folder, at("ppo", 5), signal.SIGKILL) == -signal.SIGKILL
    assert run(tmp_path / "spec.json", folder) == (0, "")
    assert metrics_of(folder) == metrics_of(whole)


def test_stopped_run_saves_and_resumes_to_the_same_bits(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = start(write_spec(tmp_path), folder)
    assert signal_when(process, folder, at("ppo", 5), signal.SIGTERM) == Stopped.exit_status
    assert run(tmp_path / "spec.json", folder) == (0, "")
    assert metrics_of(folder) == metrics_of(whole)


def test_stop_strings_end_responses(tmp_path: Path) -> None:
    spec = write_spec(tmp_path, stages=["sft", "reward_model", "ppo"], ppo=ppo_of(tmp_path, steps=2, stop=["e"]))
    assert run(spec, tmp_path / "run") == (0, "")
    texts = [row.response for event in events_of(tmp_path / "run") if isinstance(event, Samples) for row in event.rows]
    assert texts and all("e" not in text for text in texts)


def ppo_of(folder: Path, **changes: Any) -> dict[str, Any]:
    ppo: dict[str, Any] = json.loads(write_spec(folder).read_text())["ppo"]
    return ppo | changes


def test_two_seeds_have_an_engine_each(tmp_path: Path) -> None:
    spec = write_spec(tmp_path, stages=["sft", "reward_model", "ppo"], seeds=2, ppo=ppo_of(tmp_path, steps=2))
    assert run(spec, tmp_path / "run") == (0, "")


def test_two_processes_share_the_rows_and_end_quietly(tmp_path: Path) -> None:
    spec = write_spec(tmp_path, stages=["sft", "reward_model", "ppo"], ppo=ppo_of(tmp_path, steps=3))
    errors = tmp_path / "errors"
    errors.mkdir()
    assert statuses(start_several(spec, tmp_path / "run", errors=errors), 240) == [0, 0]
    assert [path.read_text() for path in sorted(errors.iterdir())] == ["", ""]
    assert len([key for key in metrics_of(tmp_path / "run") if key[0] == "ppo" and key[1]]) == 3


def test_check_finds_a_head_size_before_anything_trains(tmp_path: Path) -> None:
    spec = write_spec(tmp_path, model=model_of(tmp_path, hidden_size=32))
    status, text = run(spec, tmp_path / "run")
    assert status == ModelError.exit_status and "the model's have 16" in text
    assert status_of(forked(["check", str(spec)]), 120) != 0
    assert [event.type for event in events_of(tmp_path / "run")] == ["message", "run_failed"]


def model_of(folder: Path, **config: Any) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(write_spec(folder).read_text())["model"]
    return model | {"config": model["config"] | config}


def test_engine_that_dies_in_the_middle_loses_nothing(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    spec = write_spec(tmp_path)
    process = forked(["run", str(spec), "--run-dir", str(folder)], on_event=lose_the_engine)
    assert status_of(process, 240) == EngineFailed.exit_status
    [failure] = [event for event in events_of(folder) if isinstance(event, RunFailed)]
    assert (failure.code, failure.stage) == ("engine_failed", "ppo") and "vLLM failed while it" in failure.message
    assert run(spec, folder) == (0, "")
    assert metrics_of(folder) == metrics_of(whole)


def lose_the_engine(event: Any) -> None:
    """After step 5, vLLM's worker has no model any more."""
    if at("ppo", 5)(event):
        from trainer.sampling.sampler import _ENGINES

        for engine in _ENGINES.values():
            engine._llm.llm_engine.model_executor.driver_worker.worker.model_runner.model = None
