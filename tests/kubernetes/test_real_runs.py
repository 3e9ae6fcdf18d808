"""Runs of the real trainer, in processes that are started as the manifests say."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.settings import get_settings
from proximal.sdk.spec_files import read_spec
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.conftest import TINY, make_run
from trainer.events import Metrics, RunStarted, RunStopped, read
from worker.jobs.launch.kubernetes.trainer import KubernetesTrainer
from worker.jobs.workspace import Workspace

HOSTILE = '$(touch x); "'
PPO = {
    "stages": ["sft", "ppo"],
    "sft": read_spec(TINY)["sft"] | {"epochs": 1},
    "rewards": [{"type": "length", "target": 3}],
    "ppo": read_spec(TINY)["ppo"] | {"steps": 8, "eval_every": 100, "save_every": 3, "max_new_tokens": 8},
    "name": HOSTILE,
}


def events(workspace: Workspace) -> list[Any]:
    return [event for event, _ in read(workspace.events)] if workspace.events.exists() else []


def steps(workspace: Workspace) -> dict[tuple[str, int], dict[str, float]]:
    """The metrics of each step without clock readings. A repeated step has the later ones."""
    return {
        (event.stage, event.step): {
            name: value for name, value in event.values.items() if not name.startswith(("time/", "memory/"))
        }
        for event in events(workspace)
        if isinstance(event, Metrics)
    }


def weights(workspace: Workspace) -> dict[str, bytes]:
    """The files of the final models of PPO."""
    final = workspace.folder / "checkpoints" / "ppo"
    return {str(file.relative_to(final)): file.read_bytes() for file in final.rglob("*.safetensors")}


def followed(cluster: Cluster, trainer: KubernetesTrainer) -> int:
    cluster.until(lambda: trainer.poll() is not None)
    trainer.close()
    status = trainer.poll()
    assert status is not None
    return status


def test_evicted_run_resumes_bit_for_bit_in_its_folder(real_cluster: Cluster) -> None:
    """One run is evicted in the middle of PPO, the other is not. Their name is hostile."""
    whole, evicted = (make_run(get_settings(), attempt, **PPO) for attempt in (1, 2))
    assert followed(real_cluster, KubernetesTrainer(whole)) == 0
    assert real_cluster.environments.popitem()[1].keys() == {
        "PYTHONUNBUFFERED", "HOME", "LOGNAME", "HF_HOME", "PATH", "PYTHONPATH",
    }  # fmt: skip
    trainer = KubernetesTrainer(evicted)
    real_cluster.until(lambda: ("ppo", 4) in steps(evicted.workspace))
    real_cluster.evict()
    assert followed(real_cluster, trainer) == 0
    assert trainer.engine_end() is None
    starts = [event.resumed_stage for event in events(evicted.workspace) if isinstance(event, RunStarted)]
    stops = [event.reason for event in events(evicted.workspace) if isinstance(event, RunStopped)]
    assert (starts, stops) == ([None, "ppo"], ["signal"])
    assert steps(evicted.workspace) == steps(whole.workspace) and ("ppo", 8) in steps(whole.workspace)
    assert weights(evicted.workspace) == weights(whole.workspace) != {}
    assert not list(real_cluster.claim.rglob("x")) and not Path("x").exists()


@pytest.mark.slow
def test_stop_by_the_platform_saves_and_reports_it(real_cluster: Cluster) -> None:
    run = make_run(get_settings(), **PPO)
    trainer = KubernetesTrainer(run)
    real_cluster.until(lambda: ("ppo", 2) in steps(run.workspace))
    trainer.ask_to_end()
    assert followed(real_cluster, trainer) == 75
    assert events(run.workspace)[-1].type == "run_stopped"
    assert trainer.engine_end() is None and real_cluster.jobs == []


def test_failed_run_ends_with_the_trainers_status(real_cluster: Cluster) -> None:
    run = make_run(get_settings(), **PPO)
    spec = json.loads(run.workspace.spec.read_text())
    run.workspace.spec.write_text(json.dumps(spec | {"stages": ["nope"]}))
    trainer = KubernetesTrainer(run)
    assert followed(real_cluster, trainer) == 2
    assert "is not a valid spec" in run.workspace.log.read_text() and len(real_cluster.pods) <= 1


@pytest.mark.slow
def test_two_nodes_train_as_one(real_cluster: Cluster) -> None:
    """Two launchers with the variables that Kubeflow's policy `torch` gives to the nodes of a TrainJob."""
    settings = get_settings().model_copy(update={"kubernetes_machines": 2, "kubernetes_runtime": "proximal"})
    run = make_run(settings, **PPO, resources={"machines": 2, "processes": 1})
    trainer = KubernetesTrainer(run)
    real_cluster.until(lambda: real_cluster.api.objects("trainjobs"))
    real_cluster.create_nodes()
    real_cluster.until(lambda: ("ppo", 4) in steps(run.workspace))
    real_cluster.evict()
    status = followed(real_cluster, trainer)
    end = trainer.engine_end()
    assert status == 75 and end is not None and "EvictionByEvictionAPI" in end.reason
    assert events(run.workspace)[-1].type == "run_stopped"
