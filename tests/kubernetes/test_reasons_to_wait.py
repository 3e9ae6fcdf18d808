"""Why a Job waits or is refused, in the words of Kubernetes. The pods start no process."""

from typing import Any

import pytest

from tests.kubernetes.api_server import NAMESPACE
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.conftest import NAME, Start, ended, waits_for
from tests.waiting import eventually


def test_suspension_by_kueue_is_a_reason_to_wait(cluster: Cluster, start: Start) -> None:
    trainer = start({"kubernetes_queue": "team"})
    cluster.until(cluster.runs_a_pod)
    (job,) = cluster.jobs
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
    job["spec"]["suspend"] = True
    cluster.api.put("jobs", job)
    waits_for(cluster, trainer, "Kueue has suspended Job")
    cluster.until(lambda: cluster.pods == [])
    job["spec"]["suspend"] = False
    cluster.api.put("jobs", job)
    cluster.until(lambda: cluster.runs_a_pod() and trainer.waiting is None)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (
            {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
                    }
                ]
            },
            f"Job {NAME} waits for a node: Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        ),
        (
            {
                "containerStatuses": [
                    {
                        "name": "node",
                        "state": {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x"'}},
                    }
                ]
            },
            f'The image of Job {NAME} cannot be pulled (ImagePullBackOff): Back-off pulling image "x".',
        ),
        (
            {
                "containerStatuses": [
                    {
                        "name": "node",
                        "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "no Secret wandb"}},
                    }
                ]
            },
            "cannot start (CreateContainerConfigError): no Secret wandb.",
        ),
    ],
)
def test_pod_that_cannot_start_is_a_reason_to_wait(
    problem: dict[str, Any], reason: str, cluster: Cluster, start: Start
) -> None:
    cluster.pod_problem = problem
    waits_for(cluster, start(), reason)


def test_claim_that_a_node_cannot_mount_is_a_reason(cluster: Cluster, start: Start) -> None:
    cluster.pod_problem = {
        "containerStatuses": [{"name": "node", "state": {"waiting": {"reason": "ContainerCreating"}}}]
    }
    trainer = start()
    cluster.until(lambda: cluster.pods)
    (pod,) = cluster.pods
    pod["spec"]["nodeName"] = "n1"
    cluster.api.put("pods", pod)
    about = {"involvedObject": {"uid": pod["metadata"]["uid"]}}
    old = {"reason": "FailedScheduling", "message": "0/3 nodes are available", **about}
    cluster.api.put("events", {"metadata": {"name": "one"}, **old})
    failed = {"reason": "FailedMount", "message": 'MountVolume.SetUp failed for volume "data": timed out', **about}
    cluster.api.put("events", {"metadata": {"name": "two"}, **failed})
    waits_for(cluster, trainer, 'cannot prepare its pod: MountVolume.SetUp failed for volume "data": timed out.')


def test_pod_that_a_node_refuses_is_a_reason_to_wait(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    cluster.creates_pods = False  # the controller waits before it creates another one
    (pod,) = cluster.pods
    # The kubelet of a node that is full: there was no container, so no rule for exit codes fits.
    pod["status"] = {"phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu"}
    cluster.api.put("pods", pod)
    eventually(lambda: "(OutOfcpu: Node didn't have enough resource: cpu)" in (trainer.waiting or ""))
    assert trainer.poll() is None


def test_quota_of_pods_is_a_reason_to_wait(cluster: Cluster, start: Start) -> None:
    cluster.creates_pods = False
    trainer = start()
    cluster.until(lambda: cluster.jobs)
    message = f'Error creating: pods "{NAME}-x" is forbidden: exceeded quota: team, requested: cpu=8'
    event = {
        "reason": "FailedCreate",
        "message": message,
        "involvedObject": {"uid": cluster.jobs[0]["metadata"]["uid"]},
    }
    cluster.api.put("events", {"metadata": {"name": "one"}, **event})
    waits_for(cluster, trainer, "exceeded quota: team, requested: cpu=8. It tries again.")


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (403, 'jobs.batch "x" is forbidden: exceeded quota: team', "The quota of the namespace has no room for Job"),
        (403, 'jobs.batch is forbidden: User "worker" cannot create', "The worker's account has no right: jobs.batch"),
        (404, 'namespaces "research" not found', f'Job {NAME} cannot be created: namespaces "{NAMESPACE}" not found'),
        (503, "apiserver is shutting down", "does not respond: apiserver is shutting down."),
    ],
)
def test_refused_creation_is_a_reason_to_wait(
    status: int, message: str, reason: str, cluster: Cluster, start: Start
) -> None:
    cluster.api.fault = lambda method, plural: (status, message) if (method, plural) == ("post", "jobs") else None
    trainer = start()
    waits_for(cluster, trainer, reason)
    cluster.api.fault = lambda method, plural: None
    trainer._hurry()
    cluster.until(lambda: cluster.runs_a_pod() and trainer.waiting is None)


@pytest.mark.parametrize("plural", ["jobs", "configmaps"])
def test_conflict_at_a_quota_is_tried_again(plural: str, cluster: Cluster, start: Start) -> None:
    conflicts = [(409, 'Operation cannot be fulfilled on resourcequotas "team": the object has been modified')]
    cluster.api.fault = lambda method, found: (
        conflicts.pop() if conflicts and (method, found) == ("post", plural) else None
    )
    trainer = start()
    cluster.until(lambda: cluster.runs_a_pod() or trainer.refused)
    assert trainer.refused is None and not conflicts


def test_job_without_its_config_map_can_be_ended(cluster: Cluster, start: Start) -> None:
    full = (403, "configmaps is forbidden: exceeded quota: team")
    cluster.api.fault = lambda method, plural: full if (method, plural) == ("post", "configmaps") else None
    trainer = start()
    waits_for(cluster, trainer, "The namespace's quota has no room")
    trainer.ask_to_end()
    assert ended(cluster, trainer) == -15 and cluster.jobs == []


def test_expired_credentials_are_read_again(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    first = trainer._api
    cluster.api.fault = lambda method, plural: (401, "Unauthorized")
    waits_for(cluster, trainer, "Unauthorized")
    cluster.api.fault = lambda method, plural: None
    trainer._hurry()
    cluster.until(lambda: trainer.waiting is None)
    assert trainer._api is not first


def test_invalid_job_fails_with_the_servers_words(cluster: Cluster, start: Start) -> None:
    refusals = [(422, "spec.template.spec.containers[0].resources: Invalid value")]
    cluster.api.fault = lambda method, plural: refusals.pop() if refusals and plural == "jobs" else None
    trainer = start()
    cluster.until(lambda: trainer.refused)
    assert trainer.refused is not None and "resources: Invalid value. Change `resources`" in trainer.refused


def test_refused_settings_wait_for_the_operator(cluster: Cluster, start: Start) -> None:
    cluster.api.fault = lambda method, plural: (422, "image: Invalid value") if plural == "jobs" else None
    waits_for(cluster, start(), "Kubernetes refuses the worker's settings: image: Invalid value.")


def test_spec_above_the_limit_of_a_config_map_is_refused(cluster: Cluster, start: Start) -> None:
    trainer = start(description="x" * 1024 * 1024)
    cluster.until(lambda: trainer.refused)
    assert trainer.refused is not None and "at most 1048576 in a ConfigMap" in trainer.refused
    assert cluster.jobs == []


def test_lost_server_leaves_the_run_and_is_named(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    cluster.api.hang_up()
    eventually(lambda: f"Job {NAME} is followed by its events alone." in (trainer.waiting or ""))
    assert trainer.poll() is None
    cluster.api.listen()
    cluster.until(lambda: trainer.waiting is None)
    cluster.end_pod(0)
    assert ended(cluster, trainer) == 0
