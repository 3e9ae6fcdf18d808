"""The models that the PPO benchmarks give to both systems."""

import shutil
from dataclasses import replace
from pathlib import Path

from benchmarks.ppo import corpus
from benchmarks.ppo.sizes import SIZES, Shape, Size
from benchmarks.ppo.variants import make
from trainer.session import manifest
from trainer.session.damaged import refuse_damaged_model

TINY = replace(SIZES["3m"], shape=Shape(16, 1, 2, 32), trained=False)


def folder_of(size: Size, path: Path) -> Path:
    corpus.write(path / "data", (1,), texts=20, pairs=2)
    (path / "size.json").write_text(size.to_json())
    return path


def test_changed_models_of_a_run_are_not_refused(tmp_path: Path) -> None:
    """They are checkpoints with a manifest. The benchmark changes the EOS in their files."""
    random = folder_of(TINY, tmp_path / "random")
    make(random)
    trained = folder_of(replace(TINY, trained=True), tmp_path / "trained")
    for model, saved in (("policy", "run-sft/checkpoints/sft"), ("reward", "run-reward/checkpoints/reward_model")):
        shutil.copytree(random / f"{model}-natural", trained / saved)
        (trained / saved / "stage.json").write_text("{}")
        manifest.write(trained / saved)
    make(trained)
    for name in ("policy-natural", "policy-full", "reward-natural", "reward-full"):
        refuse_damaged_model(trained / name)
        assert (trained / name / "model.safetensors").is_file()
