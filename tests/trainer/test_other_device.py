"""A tensor that stays on the CPU would end a run on a GPU. These tests find it with a device of their own."""

import subprocess
import sys

import pytest

from tests.trainer.running import ROOT, write_spec

SMALL = {
    "sft": {"epochs": 1},
    "reward_model": {"epochs": 1},
    "ppo": {"steps": 2, "batch_size": 8, "max_new_tokens": 6, "epochs": 1},
    "evaluation": {"prompts": 4},
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> "subprocess.CompletedProcess[str]":
    """A whole run in a process of its own: the device, once made known, stays."""
    folder = tmp_path_factory.mktemp("other")
    command = [
        sys.executable,
        "-m",
        "tests.trainer.other_device",
        str(write_spec(folder, **SMALL)),
        str(folder / "run"),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_whole_run_leaves_nothing_on_the_wrong_device(said: "subprocess.CompletedProcess[str]") -> None:
    assert "on other, 1 threads" in said.stderr + said.stdout
    assert "finished in" in said.stderr + said.stdout, said.stderr


@pytest.mark.slow
def test_other_device_refuses_the_operations_that_a_gpu_would() -> None:
    code = (
        "import torch; from tests.trainer.other_device import install; there = install();"
        "print(float((torch.ones(2, device=there) * 3).sum()));"
        "torch.ones(2, device=there) + torch.ones(2)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "6.0\n" and "tensors on two devices" in done.stderr
