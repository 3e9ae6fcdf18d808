"""The pods have no more rights than they need, and secrets are in Secrets only."""

import base64
from typing import Any

import pytest

from tests.helm.chart import Renderer, expanded
from tests.helm.value_sets import HOSTILE, VALUE_SETS

each_set = pytest.mark.parametrize("name", VALUE_SETS)
OTHER_SECRETS = {
    "PROXIMAL_BLOB_ACCESS_KEY_ID",
    "PROXIMAL_BLOB_SECRET_ACCESS_KEY",
    "PROXIMAL_BLOB_SESSION_TOKEN",
    "PROXIMAL_S3_ACCESS_KEY_ID",
    "PROXIMAL_S3_SECRET_ACCESS_KEY",
    "PROXIMAL_METRICS_TOKEN",
    "PROXIMAL_JOIN_DATABASE_URL",
    "PROXIMAL_JOIN_REDIS_URL",
}


def strings(value: Any) -> list[str]:
    """Every text and number in an object."""
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    return [text for part in value for text in strings(part)] if isinstance(value, list) else [str(value)]


@each_set
def test_pods_fulfil_the_restricted_standard(helm: Renderer, name: str) -> None:
    """The Pod Security Standard `restricted`, and a read-only root file system."""
    pods = helm.render(VALUE_SETS[name]).pods()
    assert len(pods) == 5
    for pod in pods.values():
        assert pod["spec"]["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "fsGroup": 10001,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & pod["spec"].keys()
        assert not any("hostPath" in volume for volume in pod["spec"]["volumes"])
        (container,) = pod["spec"]["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@each_set
def test_secrets_are_in_secrets_only(helm: Renderer, name: str) -> None:
    """No other object, and no text for the terminal, holds a password or a key, neither as it is nor in base64."""
    release = helm.render(VALUE_SETS[name])
    others = [one for one in release.objects if one["kind"] != "Secret"]
    shown = "\n".join([*strings(others), release.notes])
    encoded = {value for secret in release.of_kind("Secret") for value in secret["data"].values()}
    assert bool(encoded) == (name != "secrets by name")
    assert [value for value in encoded if value in shown or base64.b64decode(value).decode() in shown] == []
    assert {one["kind"] for one in others} & {"ConfigMap"} == set()


def test_chart_makes_no_secret_of_secrets_by_name(helm: Renderer) -> None:
    release = helm.render(VALUE_SETS["secrets by name"])
    assert release.of_kind("Secret") == []
    for component, container in release.containers().items():
        sources = {one["name"]: one["valueFrom"].get("secretKeyRef") for one in container["env"] if "valueFrom" in one}
        assert sources["DATABASE_URL"] == {"name": "pg-app", "key": "uri"}
        assert sources["REDIS_URL"] == {"name": "redis-address", "key": "REDIS_URL"}
        optional = {key for key, source in sources.items() if source and source["name"] == "proximal-secrets"}
        of_workers = {"HF_TOKEN"} if component in ("worker", "data-worker") else set()
        assert optional == (set() if component == "migration" else of_workers | OTHER_SECRETS)
        trackers = [{"secretRef": {"name": "trackers"}}] if component in ("worker", "data-worker") else None
        assert container.get("envFrom") == trackers
    assert {tuple(pod["spec"]["imagePullSecrets"][0].items()) for pod in release.pods().values()} == {
        (("name", "registry"),)
    }


def test_the_hub_token_reaches_workers_only(helm: Renderer) -> None:
    release = helm.render(VALUE_SETS["a bucket"])
    having = {name for name in release.containers() if "HF_TOKEN" in release.environment(name)}
    assert having == {"worker", "data-worker"}


def test_no_service_of_the_namespace_becomes_a_setting(helm: Renderer) -> None:
    """Kubernetes would set PROXIMAL_HOSTS_PORT and the like for a Service called proximal-hosts."""
    for pod in helm.render({}).pods().values():
        assert pod["spec"]["enableServiceLinks"] is False


def test_without_the_launcher_nothing_has_a_token(helm: Renderer) -> None:
    release = helm.render({})
    assert release.of_kind("Role") == release.of_kind("RoleBinding") == []
    for pod in release.pods().values():
        assert pod["spec"]["automountServiceAccountToken"] is False
    for account in release.of_kind("ServiceAccount"):
        assert account["automountServiceAccountToken"] is False


@each_set
def test_every_account_that_a_pod_names_is_made(helm: Renderer, name: str) -> None:
    release = helm.render(VALUE_SETS[name])
    made = {account["metadata"]["name"] for account in release.of_kind("ServiceAccount")}
    assert {pod["spec"]["serviceAccountName"] for pod in release.pods().values()} <= made


def test_hostile_texts_arrive_as_they_are(helm: Renderer) -> None:
    release = helm.render(VALUE_SETS["hostile texts"])
    for component in ("api", "worker", "data-worker", "sweeper", "migration"):
        variables = release.environment(component)
        assert variables["PROXIMAL_TRACKING"] == HOSTILE
        assert variables["DATABASE_URL"] == f"postgresql://u:{HOSTILE}@h/d"
        assert variables["PROXIMAL_MAX_UPLOAD_BYTES"] == "68719476736"
        assert release.pods()[component]["metadata"]["annotations"]["note"] == HOSTILE
    assert release.environment("worker")["HF_TOKEN"] == f"hf {HOSTILE}"
    assert release.pods()["worker"]["spec"]["nodeSelector"] == {"note": HOSTILE}
    for kind in ("Service", "Ingress"):
        (one,) = release.of_kind(kind)
        assert one["metadata"]["annotations"]["note"] == HOSTILE


def test_expansion_is_that_of_the_kubelet() -> None:
    """From the examples of Kubernetes: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/."""
    assert expanded("$$(VAR_NAME)") == "$(VAR_NAME)"
    assert expanded("a $ b") == "a $ b"
    with pytest.raises(AssertionError, match="inserts a variable"):
        expanded("x $(VAR_NAME)")


def test_commands_hold_no_value(helm: Renderer) -> None:
    plain = helm.render({}).containers()
    hostile = helm.render(VALUE_SETS["hostile texts"]).containers()
    for component, container in plain.items():
        assert (container["command"], container.get("args")) == (hostile[component]["command"], None)
