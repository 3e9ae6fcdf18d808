"""Killed anywhere and run again, a CPU run ends with the same bits as one that was left alone."""

import hashlib
import signal
from pathlib import Path

import pytest

from tests.trainer.running import at, events_of, metrics_of, run, signal_when, start, write_spec
from trainer.events import RunFinished, RunStarted


def weights_of(run_dir: Path) -> dict[str, str]:
    finals = ("sft", "reward_model", "ppo")
    return {
        stage: hashlib.sha256((run_dir / "checkpoints" / stage / "model.safetensors").read_bytes()).hexdigest()
        for stage in finals
    }


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert run(write_spec(folder), folder) == (0, "")
    return folder


def test_run_killed_in_every_stage_resumes_to_the_same_bits(uninterrupted: Path, tmp_path: Path) -> None:
    spec = write_spec(tmp_path)
    for stage, step in (("sft", 5), ("sft", 33), ("reward_model", 11), ("ppo", 3), ("ppo", 5)):
        status = signal_when(start(spec, tmp_path), tmp_path, at(stage, step), signal.SIGKILL)
        assert status == -signal.SIGKILL
    assert run(spec, tmp_path) == (0, "")
    assert weights_of(tmp_path) == weights_of(uninterrupted)
    assert metrics_of(tmp_path) == metrics_of(uninterrupted)
    starts = [e for e in events_of(tmp_path) if isinstance(e, RunStarted)]
    assert [(e.resumed_stage, e.resumed_step) for e in starts] == [
        (None, None), (None, None), ("sft", 20), ("reward_model", 8), ("ppo", 2), ("ppo", 4)
    ]  # fmt: skip


def test_sigterm_finishes_the_step_saves_and_can_be_resumed(uninterrupted: Path, tmp_path: Path) -> None:
    spec = write_spec(tmp_path, ppo={"save_every": 100})
    assert signal_when(start(spec, tmp_path), tmp_path, at("ppo", 2), signal.SIGTERM) == 75
    stopped = events_of(tmp_path)[-1]
    assert (stopped.type, stopped.stage) == ("run_stopped", "ppo")  # type: ignore[union-attr]
    assert (tmp_path / "checkpoints" / f"ppo-{stopped.step:06d}").is_dir()  # type: ignore[union-attr]
    assert run(spec, tmp_path) == (0, "")
    assert weights_of(tmp_path) == weights_of(uninterrupted)


@pytest.mark.slow
def test_resume_from_copied_checkpoints_gives_same_bits(uninterrupted: Path, tmp_path: Path) -> None:
    import shutil

    for name in ("sft", "reward_model", "ppo-000004"):
        shutil.copytree(uninterrupted / "checkpoints" / name, tmp_path / "checkpoints" / name)
    assert run(write_spec(tmp_path), tmp_path) == (0, "")
    assert weights_of(tmp_path)["ppo"] == weights_of(uninterrupted)["ppo"]
    finished = [[e for e in events_of(f) if isinstance(e, RunFinished)][-1].summary for f in (tmp_path, uninterrupted)]
    assert finished[0] == finished[1]


@pytest.mark.slow
def test_another_seed_gives_other_weights(uninterrupted: Path, tmp_path: Path) -> None:
    assert run(write_spec(tmp_path, seed=1), tmp_path) == (0, "")
    assert not set(weights_of(tmp_path).values()) & set(weights_of(uninterrupted).values())


@pytest.mark.slow
def test_masters_and_8_bit_moments_are_restored_exactly(tmp_path: Path) -> None:
    """Killed after a checkpoint of PPO, with weights in bfloat16 whose masters only the optimizer has."""
    small = {"optimizer": "adamw_8bit"}
    changes = {
        "model": {"dtype": "bfloat16", "trained_weights": "bfloat16"},
        "sft": small,
        "reward_model": small,
        "ppo": small | {"micro_batch_size": 4},
    }
    whole, killed = write_spec(tmp_path / "whole", **changes), write_spec(tmp_path / "killed", **changes)
    assert run(whole, tmp_path / "whole") == (0, "")
    process = start(killed, tmp_path / "killed")
    assert signal_when(process, tmp_path / "killed", at("ppo", 5), signal.SIGKILL) == -signal.SIGKILL
    assert run(killed, tmp_path / "killed") == (0, "")
    assert weights_of(tmp_path / "killed") == weights_of(tmp_path / "whole")
    assert metrics_of(tmp_path / "killed") == metrics_of(tmp_path / "whole")
