"""The objects of an attempt against literals, and against the schemas of Kubernetes and the models of Kubeflow."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubeflow_trainer_api.models import TrainerV1alpha1TrainingRuntime

from core.errors import SettingsError
from core.kubernetes.objects import JOB, config_map, job, object_name, sample_job, train_job
from core.kubernetes.pods import Folder, PodRequest, command
from core.settings import KubernetesSettings, get_kubernetes_settings
from tests.kubernetes.api_server import check_manifest

RUNTIME = Path(__file__).parents[2] / "examples" / "kubernetes" / "training-runtime.yaml"
SMALL: dict[str, Any] = {"kubernetes_image": "worker:1", "kubernetes_claim": "data"}
FULL = SMALL | {
    "kubernetes_queue": "team",
    "kubernetes_priority_class": "low",
    "kubernetes_service_account": "trainer",
    "kubernetes_pull_secrets": "registry",
    "kubernetes_secrets": "wandb",
    "kubernetes_user": 10001,
    "kubernetes_node_selector": "gpu=h100",
    "kubernetes_tolerations": '[{"key": "nvidia.com/gpu", "operator": "Exists"}]',
    "kubernetes_cpus_per_process": 8,
    "kubernetes_memory_gib": 64,
    "kubernetes_shared_memory_gib": 16,
    "kubernetes_gpus": 8,
    "kubernetes_models_claim": "models",
    "kubernetes_claim_folder": "shared",
    "kubernetes_minutes": 60,
    "kubernetes_machines": 4,
    "kubernetes_runtime": "proximal",
}
REQUEST = PodRequest(
    name="proximal-job-a-2",
    labels={"proximal/job": "job_a"},
    annotations={"proximal/job-name": "a name"},
    arguments=["run", "/data/runs/job_a/attempt-2/spec.json"],
    run=Folder("/data/runs/job_a/attempt-2", "runs/job_a/attempt-2"),
    others=(Folder("/data/tensorboard/job_a", "tensorboard/job_a"),),
    processes=2,
    gpus=2,
    stop_seconds=90.5,
)


def test_job_of_one_machine_is_this_object() -> None:
    assert job(REQUEST, KubernetesSettings(**FULL)) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "proximal-job-a-2",
            "labels": {"proximal/job": "job_a", "kueue.x-k8s.io/queue-name": "team"},
            "annotations": {"proximal/job-name": "a name"},
        },
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 6,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                    {
                        "action": "Count",
                        "onExitCodes": {"containerName": "node", "operator": "In", "values": [75]},
                    },
                    {
                        "action": "FailJob",
                        "onExitCodes": {"containerName": "node", "operator": "NotIn", "values": [75]},
                    },
                ]
            },
            "ttlSecondsAfterFinished": 86400,
            "activeDeadlineSeconds": 3600,
            "template": {
                "metadata": {
                    "labels": {"proximal/job": "job_a", "proximal/run": "proximal-job-a-2"},
                    "annotations": {"proximal/job-name": "a name"},
                },
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 91,
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "serviceAccountName": "trainer",
                    "priorityClassName": "low",
                    "nodeSelector": {"gpu": "h100"},
                    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                    "imagePullSecrets": [{"name": "registry"}],
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 10001,
                        "runAsGroup": 10001,
                        "fsGroup": 10001,
                        "fsGroupChangePolicy": "OnRootMismatch",
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [
                        {
                            "name": "node",
                            "image": "worker:1",
                            "command": ["python", "-m", "trainer", "run", "/data/runs/job_a/attempt-2/spec.json"],
                            "workingDir": "/data/runs/job_a/attempt-2",
                            "env": [
                                {"name": "PYTHONUNBUFFERED", "value": "1"},
                                {"name": "HOME", "value": "/tmp"},
                                {"name": "LOGNAME", "value": "proximal"},
                                {"name": "HF_HOME", "value": "/models"},
                            ],
                            "envFrom": [{"secretRef": {"name": "wandb"}}],
                            "resources": {
                                "requests": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "2"},
                                "limits": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "2"},
                            },
                            "volumeMounts": [
                                {
                                    "name": "data",
                                    "mountPath": "/data/runs/job_a/attempt-2",
                                    "subPath": "shared/runs/job_a/attempt-2",
                                },
                                {
                                    "name": "data",
                                    "mountPath": "/data/tensorboard/job_a",
                                    "subPath": "shared/tensorboard/job_a",
                                },
                                {
                                    "name": "spec",
                                    "mountPath": "/data/runs/job_a/attempt-2/spec.json",
                                    "subPath": "spec.json",
                                    "readOnly": True,
                                },
                                {"name": "temporary", "mountPath": "/tmp"},
                                {"name": "shared-memory", "mountPath": "/dev/shm"},
                                {"name": "models", "mountPath": "/models"},
                            ],
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]},
                            },
                            "terminationMessagePolicy": "FallbackToLogsOnError",
                        }
                    ],
                    "volumes": [
                        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                        {"name": "spec", "configMap": {"name": "proximal-job-a-2"}},
                        {"name": "temporary", "emptyDir": {}},
                        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
                        {"name": "models", "persistentVolumeClaim": {"claimName": "models"}},
                    ],
                },
            },
        },
    }


@pytest.mark.parametrize("values", [SMALL, FULL])
def test_manifests_fit_three_versions_and_kubeflow(values: dict[str, Any]) -> None:
    settings = KubernetesSettings(**values)
    check_manifest(job(REQUEST, settings))
    check_manifest(sample_job(settings))
    check_manifest(config_map("proximal-job-a-2", "{}", JOB, "uid-1"))
    check_manifest(train_job(REQUEST, 2, settings))


def test_unknown_field_does_not_fit_the_schemas() -> None:
    broken = sample_job(KubernetesSettings(**SMALL))
    broken["spec"]["backofLimit"] = 1
    with pytest.raises(Exception, match="backofLimit"):
        check_manifest(broken)


def test_train_job_starts_a_launcher_on_each_node() -> None:
    found = train_job(REQUEST, 4, KubernetesSettings(**FULL))["spec"]
    assert found["runtimeRef"] == {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "proximal"}
    trainer = found["trainer"]
    assert (trainer["numNodes"], trainer["numProcPerNode"], trainer["image"]) == (4, 2, "worker:1")
    assert trainer["command"][:3] == ["python", "-m", "trainer"]
    assert trainer["resourcesPerNode"]["limits"]["nvidia.com/gpu"] == "2"
    (patch,) = found["runtimePatches"]
    (replicated,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = replicated["template"]["spec"]["template"]
    assert (replicated["name"], pod["metadata"]["labels"]["proximal/run"]) == ("node", "proximal-job-a-2")
    assert pod["spec"]["securityContext"]["runAsUser"] == 10001
    assert pod["spec"]["terminationGracePeriodSeconds"] == 91


def test_runtime_of_the_example_has_the_other_fields() -> None:
    manifest = yaml.safe_load(RUNTIME.read_text())
    assert TrainerV1alpha1TrainingRuntime.from_dict(manifest).to_dict() == yaml.safe_load(RUNTIME.read_text())
    (replicated,) = manifest["spec"]["template"]["spec"]["replicatedJobs"]
    assert replicated["template"]["spec"]["backoffLimit"] == 0
    pod = replicated["template"]["spec"]["template"]["spec"]
    assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"], pod["restartPolicy"]) == (
        False,
        False,
        "Never",
    )
    assert [container["name"] for container in pod["containers"]] == ["node"]


def test_command_is_kept_from_kubernetes_own_expansion() -> None:
    request = replace(REQUEST, arguments=["run", "/data/$(HOME)/$x"])
    assert command(request, KubernetesSettings(**SMALL))[-1] == "/data/$$(HOME)/$$x"


def test_names_are_labels_of_dns() -> None:
    assert object_name("job_abcdefghijklmnopqrstuvwx", 12) == "proximal-job-abcdefghijklmnopqrstuvwx-12"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("IMAGE", "", "PROXIMAL_LAUNCHER=kubernetes needs PROXIMAL_KUBERNETES_IMAGE"),
        ("MACHINES", "2", "PROXIMAL_KUBERNETES_MACHINES needs PROXIMAL_KUBERNETES_RUNTIME"),
        ("NODE_SELECTOR", "gpu", "gpu: a label of a node is written as name=value"),
        ("PULL_SECRETS", "A_B", "A_B: the name of a Secret has small letters"),
        ("QUEUE", "$(touch x)", "String should match pattern"),
        ("CLAIM_FOLDER", "../other", "String should match pattern"),
        ("TOLERATIONS", "{", "is not JSON"),
    ],
)
def test_wrong_settings_are_refused_by_name(
    variable: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXIMAL_LAUNCHER", "kubernetes")
    for name, content in {"IMAGE": "worker:1", "CLAIM": "data", variable: value}.items():
        monkeypatch.setenv(f"PROXIMAL_KUBERNETES_{name}", content)
    with pytest.raises(SettingsError) as caught:
        get_kubernetes_settings()
    assert message in str(caught.value)
