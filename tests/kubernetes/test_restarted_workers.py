"""A worker that starts again, with other settings or after it has asked a trainer to end, follows the same Job."""

from dataclasses import replace

from tests.kubernetes.api_server import NAMESPACE
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.conftest import NAME, Start, ended, saved
from worker.jobs.launch.kubernetes.launcher import KubernetesLauncher
from worker.jobs.launch.kubernetes.trainer import KubernetesTrainer
from worker.jobs.launch.watch import EngineWatch


def attached(trainer: KubernetesTrainer, **settings: object) -> KubernetesTrainer:
    """The trainer of the next process of the worker."""
    trainer.leave()
    run = replace(trainer._run, settings=trainer._run.settings.model_copy(update=settings))
    launcher = KubernetesLauncher(EngineWatch("Kubernetes", lambda: (None, None)))
    again = launcher.attach(run)
    assert isinstance(again, KubernetesTrainer)
    return again


def test_worker_with_another_namespace_follows_the_old_one(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    again = attached(trainer, kubernetes_namespace="another")
    cluster.until(lambda: again._has_spec)
    assert again.poll() is None and cluster.jobs[0]["metadata"]["namespace"] == NAMESPACE
    cluster.end_pod(0)
    assert ended(cluster, again) == 0
    again.close()
    cluster.work()
    assert cluster.jobs == []


def test_deletion_by_an_earlier_process_is_not_a_persons(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    cluster.stop_status = 0  # the trainer still saves
    trainer.ask_to_end()
    cluster.until(lambda: cluster.api.deletions)
    trainer.leave()
    saved(trainer)
    cluster.stop_status = 75
    cluster.until(lambda: not cluster.jobs)
    again = attached(trainer)
    assert ended(cluster, again) == 75
    assert again.engine_end() is None


def test_job_deleted_by_a_person_during_a_restart_is_named(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    trainer.leave()
    cluster.api.remove("jobs", NAME)
    cluster.until(lambda: not cluster.pods)
    again = attached(trainer)
    ended(cluster, again)
    end = again.engine_end()
    assert end is not None and end.by_a_person
