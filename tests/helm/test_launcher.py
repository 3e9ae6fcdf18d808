"""A worker that creates Jobs has the rights that its launcher needs, in one namespace, and no others."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from core.kubernetes.client import Forbidden, Resource
from core.kubernetes.namespace import checked
from core.kubernetes.objects import labels_of
from core.settings import KubernetesSettings
from tests.helm.chart import Release, Renderer, merged
from tests.helm.test_values import settings_of
from tests.helm.value_sets import VALUE_SETS

ROOT = Path(__file__).parents[2]
RULES = [
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "delete"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "delete"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["get"]},
]
OF_SEVERAL_MACHINES = [
    {"apiGroups": ["trainer.kubeflow.org"], "resources": ["trainjobs"], "verbs": ["create", "get", "delete"]},
    {"apiGroups": ["trainer.kubeflow.org"], "resources": ["trainingruntimes"], "verbs": ["get"]},
]
OF_A_QUEUE = [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["localqueues"], "verbs": ["get"]}]
RUNTIME = {"PROXIMAL_KUBERNETES_MACHINES": 2, "PROXIMAL_KUBERNETES_RUNTIME": "proximal"}
QUEUE = {"PROXIMAL_KUBERNETES_QUEUE": "team"}


class Namespace:
    """An API server with the rights of one Role. It has every object, and accepts every Job."""

    namespace, server = "rlhf", "https://kubernetes.example"

    def __init__(self, rules: list[dict[str, Any]]) -> None:
        self._rules = rules

    def version(self) -> str:
        return "v1.37.0"

    def may(self, verb: str, resource: Resource) -> bool:
        asked = (resource.group, resource.plural, verb)
        return any(
            asked == (group, plural, allowed)
            for rule in self._rules
            for group in rule["apiGroups"]
            for plural in rule["resources"]
            for allowed in rule["verbs"]
        )

    def get(self, resource: Resource, name: str) -> dict[str, Any]:
        if resource.namespaced and not self.may("get", resource):
            raise Forbidden(f"{resource.plural} {name!r} is forbidden")
        return runtime() if resource.plural == "trainingruntimes" else {"spec": {"accessModes": ["ReadWriteMany"]}}

    def create(self, resource: Resource, manifest: dict[str, Any], *, trial: bool = False) -> dict[str, Any]:
        assert trial and self.may("create", resource)
        return manifest


def runtime() -> dict[str, Any]:
    """The example, with the Secret that the pods read."""
    found = yaml.safe_load((ROOT / "examples" / "kubernetes" / "training-runtime.yaml").read_text())
    (job,) = found["spec"]["template"]["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    container["envFrom"] = [{"secretRef": {"name": "trackers"}}]
    return found


@pytest.fixture
def release(helm: Renderer) -> Release:
    return helm.render(VALUE_SETS["Jobs"])


@pytest.fixture
def of_machines(helm: Renderer) -> Release:
    return helm.render(merged(VALUE_SETS["Jobs"], {"worker": {"kubernetes": RUNTIME | QUEUE}}))


def test_the_role_has_exactly_these_rules(release: Release, of_machines: Release) -> None:
    assert release.named("Role", "worker")["rules"] == RULES
    assert of_machines.named("Role", "worker")["rules"] == RULES + OF_SEVERAL_MACHINES + OF_A_QUEUE


def test_the_launcher_needs_every_rule(of_machines: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's own check of its namespace finds nothing with the Role, and a missing right without one of its verbs."""
    settings = settings_of(of_machines.environment("worker"), monkeypatch)
    rules = of_machines.named("Role", "worker")["rules"]
    namespace, problem = checked(settings, Namespace(rules))
    assert namespace and problem is None
    for place, rule in enumerate(
        rules[: -len(OF_A_QUEUE)]
    ):  # a worker that may not look at queues leaves them to Kueue
        for verb in rule["verbs"]:
            fewer = {**rule, "verbs": [one for one in rule["verbs"] if one != verb]}
            _, problem = checked(settings, Namespace([*rules[:place], fewer, *rules[place + 1 :]]))
            assert problem and f"may not {verb} {rule['resources'][0]} in the namespace" in problem


def test_the_role_is_bound_to_the_workers_account_alone(release: Release) -> None:
    kinds = {one["kind"] for one in release.objects}
    assert not {"ClusterRole", "ClusterRoleBinding"} & kinds
    assert len(release.of_kind("Role")) == len(release.of_kind("RoleBinding")) == 1
    binding = release.named("RoleBinding", "worker")
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "demo-proximal-worker"}
    assert binding["roleRef"] == role and binding["metadata"]["namespace"] == "rlhf"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "demo-proximal-worker", "namespace": "rlhf"}]


def test_only_workers_get_a_token(release: Release) -> None:
    tokens = {name: pod["spec"]["automountServiceAccountToken"] for name, pod in release.pods().items()}
    assert tokens == {"api": False, "worker": True, "data-worker": False, "sweeper": False, "migration": False}
    assert release.pods()["worker"]["spec"]["serviceAccountName"] == "demo-proximal-worker"
    assert release.named("ServiceAccount", "trainer")["automountServiceAccountToken"] is False


def test_workers_and_jobs_share_a_claim(release: Release, helm: Renderer) -> None:
    claim = release.named("PersistentVolumeClaim", "runs")
    assert claim["spec"] == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "50Gi"}}}
    assert "volumeClaimTemplates" not in release.named("StatefulSet", "worker")["spec"]
    volumes = {one["name"]: one for one in release.pods()["worker"]["spec"]["volumes"]}
    assert volumes["runs"]["persistentVolumeClaim"] == {"claimName": "demo-proximal-runs"}
    existing = helm.render(merged(VALUE_SETS["Jobs"], {"worker": {"runs": {"existingClaim": "nfs"}}}))
    assert existing.environment("worker")["PROXIMAL_KUBERNETES_CLAIM"] == "nfs"


def test_the_launcher_reads_what_the_chart_sets(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(release.environment("worker"), monkeypatch)
    found: dict[str, Any] = {name: getattr(settings, name) for name in KubernetesSettings.model_fields}
    defaults = {name: field.default for name, field in KubernetesSettings.model_fields.items()}
    assert found == defaults | {
        "launcher": "kubernetes",
        "kubernetes_namespace": "rlhf",
        "kubernetes_image": "registry.example/proximal-worker:0.1.0",
        "kubernetes_claim": "demo-proximal-runs",
        "kubernetes_models_claim": "hub",
        "kubernetes_pull_secrets": ["registry", "mirror"],
        "kubernetes_secrets": ["trackers"],
        "kubernetes_service_account": "demo-proximal-trainer",
        "kubernetes_user": 10001,
        "kubernetes_gpus": 8,
        "kubernetes_memory_gib": 400,
    }


def test_the_settings_of_jobs_reach_workers_only(release: Release) -> None:
    having = {name for name in release.containers() if "PROXIMAL_LAUNCHER" in release.environment(name)}
    assert having == {"worker"}


def test_the_image_of_jobs_may_differ_from_the_workers(helm: Renderer) -> None:
    image = {"worker": {"kubernetes": {"PROXIMAL_KUBERNETES_IMAGE": "registry.example/cuda:1"}}}
    release = helm.render(merged(VALUE_SETS["Jobs"], image))
    assert release.environment("worker")["PROXIMAL_KUBERNETES_IMAGE"] == "registry.example/cuda:1"
    assert release.containers()["worker"]["image"] == "registry.example/proximal-worker:0.1.0"


def test_network_policy_holds_for_the_pods_of_jobs(helm: Renderer) -> None:
    policies = helm.render(merged(VALUE_SETS["network rules"], VALUE_SETS["Jobs"])).of_kind("NetworkPolicy")
    (spec,) = [one["spec"] for one in policies if one["metadata"]["name"] == "demo-proximal-trainer"]
    labels = {"app.kubernetes.io/name": "proximal-trainer"}
    trainers = {"podSelector": {"matchLabels": labels}}
    assert labels.items() <= labels_of("job_a", 1).items()
    assert spec["podSelector"] == trainers["podSelector"]
    assert spec["ingress"] == [{"from": [trainers]}]
    assert spec["egress"] == [{"to": [trainers]}, *VALUE_SETS["network rules"]["networkPolicy"]["egress"]]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
