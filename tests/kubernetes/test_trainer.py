"""The states of a Job and its pods, and what the launcher makes of them. The pods start no process."""

import time
from pathlib import Path

import pytest

from tests.kubernetes.api_server import timestamp
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.conftest import JOB_ID, NAME, Start, ended, saved, waits_for
from worker.jobs.launch.kubernetes.trainer import KubernetesTrainer

HOSTILE = "$(touch x); \"' `id` | -- \n../../etc {{ name }} ${HOME}"


def test_success_deletes_the_job_and_its_config_map(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    assert trainer.label == f"Job {NAME}" and trainer.waiting is None
    cluster.end_pod(0, "Completed")
    assert ended(cluster, trainer) == 0
    assert trainer.engine_end() is None
    trainer.close()
    cluster.work()
    assert (cluster.jobs, cluster.api.objects("configmaps")) == ([], [])


def test_hostile_name_is_an_annotation_alone(cluster: Cluster, start: Start) -> None:
    start(name=HOSTILE)
    cluster.until(cluster.runs_a_pod)
    (job,), (pod,) = cluster.jobs, cluster.pods
    assert job["metadata"]["annotations"] == {"proximal/job-name": HOSTILE}
    assert job["metadata"]["name"] == NAME
    assert HOSTILE not in str(pod["spec"]) and "touch" not in str(pod["spec"])
    assert job["metadata"]["labels"] == {
        "app.kubernetes.io/name": "proximal-trainer",
        "proximal/job": JOB_ID,
        "proximal/attempt": "1",
    }


def test_failed_trainer_ends_the_job_with_its_status(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    trainer._run.workspace.log.write_text("Traceback")
    cluster.end_pod(5, "Error", "diverged")
    assert ended(cluster, trainer) == 5
    assert trainer.engine_end() is None and len(cluster.pods) == 1


def test_evictions_are_neither_success_nor_failure(cluster: Cluster, start: Start) -> None:
    trainer = start()
    for pods in range(1, 9):  # more than the Job's limit of stops that count
        cluster.until(lambda pods=pods: cluster.runs_a_pod() and len(cluster.pods) == pods)
        cluster.stop_status = 75 if pods < 8 else 0  # the last one takes its time to save
        cluster.evict()
    waits_for(cluster, trainer, "EvictionByEvictionAPI: Eviction API: evicting")
    cluster.stop_status = 75
    cluster.until(lambda: cluster.runs_a_pod() and trainer.waiting is None)
    assert trainer.poll() is None
    cluster.end_pod(0)
    assert ended(cluster, trainer) == 0


def test_stops_without_eviction_end_the_attempt(cluster: Cluster, start: Start) -> None:
    trainer = start()

    def stopped_again() -> bool:
        if cluster.runs_a_pod():
            saved(trainer)
            cluster.end_pod(75)
        return trainer.poll() is not None

    cluster.until(stopped_again)
    end = trainer.engine_end()
    assert trainer.poll() == 75 and len(cluster.pods) == 7
    assert end is not None and "ended the pods of Job" in end.reason and not end.by_a_person


def test_deletion_by_a_person_pauses_once_the_pod_ended(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    cluster.stop_status = 0  # the trainer still saves
    cluster.api.remove("jobs", NAME)
    cluster.until(lambda: "deletionTimestamp" in cluster.pods[0]["metadata"])
    saved(trainer)
    cluster.stop_status = 75
    assert ended(cluster, trainer) == 75
    end = trainer.engine_end()
    assert end is not None and end.by_a_person and "was deleted in Kubernetes" in end.reason


def test_stop_by_the_platform_lets_the_pod_save(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    saved(trainer)
    trainer.ask_to_end()
    assert ended(cluster, trainer) == 75
    assert trainer.engine_end() is None
    (name, options), *_ = cluster.api.deletions
    assert (name, options["propagationPolicy"], options["preconditions"]) == (NAME, "Foreground", {"uid": trainer._uid})


def test_kill_by_the_platform_shortens_the_grace_time(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    cluster.stop_status = 0
    trainer.ask_to_end()
    cluster.until(lambda: cluster.api.deletions)
    trainer.kill()
    cluster.until(lambda: any(options == {"gracePeriodSeconds": 1} for _, options in cluster.api.deletions))
    cluster.stop_status = 137
    assert ended(cluster, trainer) == -9


def test_stop_before_the_job_exists_creates_none(cluster: Cluster, start: Start) -> None:
    cluster.api.hang_up()
    trainer = start()
    waits_for(cluster, trainer, "The API server of Kubernetes does not respond")
    trainer.ask_to_end()
    cluster.api.listen()
    assert ended(cluster, trainer) == 75 and cluster.jobs == []


def test_worker_that_restarts_attaches_to_the_job(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    trainer.leave()
    again = KubernetesTrainer(trainer._run, {"uid": trainer._uid})
    cluster.end_pod(0)
    assert ended(cluster, again) == 0 and len(cluster.pods) == 1
    again.leave()


def test_worker_killed_during_creation_creates_no_second_job(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    trainer.leave()
    uid = cluster.jobs[0]["metadata"]["uid"]
    again = KubernetesTrainer(trainer._run, {"uid": ""})  # the record has no uid yet
    cluster.until(lambda: again._uid == uid)
    assert len(cluster.jobs) == 1
    again.leave()


def test_lost_node_is_given_up_for_another_attempt(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    cluster.stop_status = 0  # its kubelet does not report the end
    (pod,) = cluster.pods
    pod["metadata"] |= {"deletionTimestamp": timestamp(time.time() - 3600), "deletionGracePeriodSeconds": 60}
    cluster.api.put("pods", pod)
    assert ended(cluster, trainer) == -9
    end = trainer.engine_end()
    assert end is not None and end.waits and f"lost the node n1 of Job {NAME}" in end.reason


@pytest.mark.parametrize(
    ("pod_end", "status", "part"),
    [
        ((137, "OOMKilled", ""), -9, "more memory than its pod may have (PROXIMAL_KUBERNETES_MEMORY_GIB)"),
        ((1, "Error", "No module named trainer"), -9, "did not start (Error): No module named trainer."),
        (
            (128, "StartError", 'exec: "python": not found'),
            -9,
            'did not start (StartError): exec: "python": not found.',
        ),
    ],
)
def test_end_by_kubernetes_has_a_reason(
    pod_end: tuple[int, str, str], status: int, part: str, cluster: Cluster, start: Start
) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    if pod_end[1] == "OOMKilled":
        trainer._run.workspace.log.write_text("step 1")
    cluster.end_pod(*pod_end)
    assert ended(cluster, trainer) == status
    end = trainer.engine_end()
    assert end is not None and part in end.reason


@pytest.mark.parametrize(
    ("pod_end", "status", "part"),
    [
        ((255, "Unknown", ""), -9, f"lost the container of Job {NAME}, as after a restart of its node (Unknown)"),
        ((137, "ContainerStatusUnknown", "not located"), -9, f"lost the container of Job {NAME}"),
        ((128, "StartError", "nvidia-container-cli: no GPU"), -9, "did not start (StartError): nvidia-container-cli"),
        ((143, "Error", ""), -15, "Kueue, a person or a program ended the pods"),
        ((255, "Error", "exit 255"), 255, None),
    ],
)
def test_end_of_a_pod_after_some_output_has_a_reason(
    pod_end: tuple[int, str, str], status: int, part: str | None, cluster: Cluster, start: Start
) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    trainer._run.workspace.log.write_text("step 1")
    cluster.end_pod(*pod_end)
    assert ended(cluster, trainer) == status
    end = trainer.engine_end()
    assert (end is None) if part is None else (end is not None and part in end.reason)


def test_eviction_for_local_disk_is_no_unknown_kill(cluster: Cluster, start: Start) -> None:
    """A pod above its limit of ephemeral storage: evicted without the condition DisruptionTarget."""
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    trainer._run.workspace.log.write_text("step 1")
    (pod,) = cluster.pods
    pod["status"] |= {"reason": "Evicted", "message": "Pod ephemeral local storage usage exceeds the total limit"}
    cluster.api.put("pods", pod)
    cluster.end_pod(137)
    assert ended(cluster, trainer) == -9
    end = trainer.engine_end()
    assert end is not None and "(Evicted: Pod ephemeral local storage usage exceeds the total limit)" in end.reason


def test_time_limit_is_named_and_keeps_what_was_saved(cluster: Cluster, start: Start) -> None:
    trainer = start({"kubernetes_minutes": 2})
    cluster.until(cluster.runs_a_pod)
    (job,) = cluster.jobs
    assert job["spec"]["activeDeadlineSeconds"] == 120
    saved(trainer)
    job["status"] = {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]}
    cluster.api.remove("pods", cluster.pods[0]["metadata"]["name"])
    cluster.api.put("jobs", job)
    assert ended(cluster, trainer) == 75
    end = trainer.engine_end()
    assert end is not None and "its time limit was reached" in end.reason


def test_run_folder_alone_is_mounted(cluster: Cluster, start: Start, tmp_path: Path) -> None:
    trainer = start({"kubernetes_claim_folder": "proximal/data"})
    cluster.until(lambda: cluster.jobs)
    pod = cluster.jobs[0]["spec"]["template"]["spec"]
    folder = str(trainer._run.workspace.folder)
    assert pod["containers"][0]["volumeMounts"] == [
        {"name": "data", "mountPath": folder, "subPath": f"proximal/data/runs/{JOB_ID}/attempt-1"},
        {"name": "spec", "mountPath": f"{folder}/spec.json", "subPath": "spec.json", "readOnly": True},
        {"name": "temporary", "mountPath": "/tmp"},
        {"name": "shared-memory", "mountPath": "/dev/shm"},
    ]
