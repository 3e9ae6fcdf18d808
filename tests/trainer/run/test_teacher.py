"""Distillation as whole runs: without rewards, killed and resumed, with adapters, and on two processes."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests import tolerance
from tests.trainer.distributed.tools import STAGES, assert_like, start, statuses
from tests.trainer.distributed.tools import write_spec as write_shared_spec
from tests.trainer.run.tools import LORA, PPO, contents, crashing, run
from tests.trainer.running import metrics_of
from trainer.cli import load_spec
from trainer.errors import ModelError
from trainer.run.process import run_in_process

ALONE = {"advantage": {"estimator": "sequence", "normalize": "none"}, "kl": {"coef": 0.0}}


def distil(folder: Path, teacher: Path, stages: list[str] | None = None, **changes: Any) -> None:
    """The tiny student learns from the policy of another run's SFT, whose tokenizer it has."""
    ppo = PPO | ALONE | {"teacher": {"path": str(teacher)}}
    run(folder, stages or ["sft", "ppo"], **{"ppo": ppo, "rewards": []} | changes)


@pytest.fixture(scope="module")
def whole(first: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    distil(folder, first / "sft", sft={"epochs": 1, "learning_rate": 1e-3})
    return folder


def test_distillation_runs_without_rewards_and_saves_no_teacher(whole: Path) -> None:
    steps = metrics_of(whole)
    assert all(math.isfinite(steps["ppo", step]["objective/teacher_kl"]) for step in range(1, 5))
    assert {"eval/teacher_kl"} <= steps["ppo", 0].keys() & steps["ppo", 4].keys()
    models = sorted(path.parent.name for path in (whole / "checkpoints" / "ppo").rglob("model.safetensors"))
    assert models == ["ppo"]  # neither a critic nor the teacher


def test_killed_distillation_resumes_to_the_same_bits(
    whole: Path, first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(whole / "checkpoints" / "sft", tmp_path / "checkpoints" / "sft")
    options: dict[str, Any] = {"sft": {"epochs": 1, "learning_rate": 1e-3}}
    with crashing(monkeypatch, "ppo", 3):
        distil(tmp_path, first / "sft", **options)
    distil(tmp_path, first / "sft", **options)
    assert contents(tmp_path) == contents(whole)
    assert metrics_of(tmp_path)["ppo", 4] == metrics_of(whole)["ppo", 4]


def test_adapters_learn_from_a_teacher_on_its_own_backbone(first: Path, tmp_path: Path) -> None:
    model = {"path": str(first / "sft"), "lora": LORA}
    distil(tmp_path / "itself", first / "sft", ["ppo"], model=model)
    found = metrics_of(tmp_path / "itself")["ppo", 1]["objective/teacher_kl"]
    assert found == pytest.approx(0.0, abs=1e-6)  # the policy begins as its teacher


def test_two_processes_distil_like_one(first: Path, tmp_path: Path) -> None:
    ppo = ALONE | {"critic": {}, "teacher": {"path": str(first / "sft")}}
    changes: dict[str, Any] = {"stages": ["sft", "ppo"], "ppo": STAGES["ppo"] | ppo, "rewards": []}
    one, two = tmp_path / "one", tmp_path / "two"
    run_in_process(load_spec(write_shared_spec(one, **changes)), one)
    assert statuses(start(write_shared_spec(two, **changes), two)) == [0, 0]
    assert_like(two, one, ("sft", "ppo"))
    left = tolerance.summed(8 * math.log(512))
    for step, values in metrics_of(one).items():
        assert metrics_of(two)[step] == pytest.approx(values, rel=1e-5, abs=left), step


def test_run_refuses_a_teacher_with_another_tokenizer(pretrained: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has another tokenizer than the policy"):
        distil(tmp_path, pretrained)
