"""`proximal doctor` on the machine of a worker for Slurm."""

import pytest

from proximal.local.launcher_checks import check_slurm
from tests.slurm.cluster import SlurmCluster

pytestmark = [pytest.mark.slow, pytest.mark.slurm]


def test_doctor_names_partition_and_controller(cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(check_slurm()) == []  # the worker of this machine does not submit to Slurm
    monkeypatch.setenv("PROXIMAL_LAUNCHER", "slurm")
    assert list(check_slurm()) == [("slurm", True, "cluster trial, partition main with 2 nodes")]
    monkeypatch.setenv("PROXIMAL_SLURM_PARTITION", "nope")
    [(_, ok, detail)] = check_slurm()
    assert not ok and "no partition 'nope' (PROXIMAL_SLURM_PARTITION). It has main, urgent." in detail
    cluster.stop_controller()
    [(_, ok, detail)] = check_slurm()
    cluster.start_controller()
    assert not ok and "The controller of Slurm does not respond" in detail


def test_doctor_names_missing_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIMAL_LAUNCHER", "slurm")
    monkeypatch.setenv("PATH", "/nowhere")
    [(_, ok, detail)] = check_slurm()
    assert not ok and detail.startswith("`sbatch` is not on the PATH of the worker. Install Slurm's commands")
