"""The objects are valid for Kubernetes, and mirror docker-compose.yml."""

import json
import re
import tomllib
from functools import cache
from typing import Any

import pytest
import yaml
from kubernetes_validate import ValidationError, validate
from kubernetes_validate.utils import all_versions, major_minor

from tests.compose.compose_file import FILLED_IN, example, services
from tests.helm.chart import CHART, ROOT, Renderer
from tests.helm.value_sets import VALUE_SETS

VERSIONS = sorted({major_minor(version) for version in all_versions()}, key=lambda text: int(text.split(".")[1]))[-3:]
COMPONENTS = {
    "api": "api",
    "worker": "worker",
    "data-worker": "data-worker",
    "sweeper": "sweeper",
    "migration": "migrate",
}
"""Each component with its service in docker-compose.yml."""


@pytest.fixture(scope="module")
def composed() -> dict[str, Any]:
    return services(example() | FILLED_IN)


@cache
def validated(one: str, version: str) -> str:
    """The version against whose schemas an object was checked. Most objects are the same for several values."""
    return validate(json.loads(one), version, strict=True)


@pytest.mark.parametrize("name", VALUE_SETS)
def test_objects_are_valid_for_three_versions(helm: Renderer, name: str) -> None:
    objects = helm.render(VALUE_SETS[name]).objects
    assert len(VERSIONS) == 3 and len(objects) > 10
    for one in objects:
        for version in VERSIONS:
            assert validated(json.dumps(one), version) == version


def test_schemas_refuse_a_misspelt_field(helm: Renderer) -> None:
    deployment = helm.render({}).named("Deployment", "api")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["readinesProbe"] = container.pop("readinessProbe")
    with pytest.raises(ValidationError, match="readinesProbe"):
        validate(deployment, VERSIONS[-1], strict=True)


def test_names_are_unique_and_in_the_namespace(helm: Renderer) -> None:
    for values in VALUE_SETS.values():
        objects = helm.render(values).objects
        names = [(one["kind"], one["metadata"]["name"]) for one in objects]
        assert len(names) == len(set(names))
        assert {one["metadata"]["namespace"] for one in objects} == {"rlhf"}


def test_the_guide_names_the_tested_versions() -> None:
    guide = (ROOT / "docs" / "how-to" / "use-helm.md").read_text()
    assert f"Kubernetes {VERSIONS[0]}, {VERSIONS[1]} and {VERSIONS[2]}" in " ".join(guide.split())
    assert "**No real cluster was tried.**" in guide


def test_helm_lint_finds_nothing(helm: Renderer) -> None:
    assert [(one["path"], one["error"]) for one in helm.lint()] == [("Chart.yaml", "icon is recommended")]


def test_chart_has_the_version_of_the_project() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)


def test_commands_and_checks_are_those_of_compose(helm: Renderer, composed: dict[str, Any]) -> None:
    containers = helm.render({}).containers()
    assert containers.keys() == COMPONENTS.keys()
    for component, service in COMPONENTS.items():
        assert containers[component]["command"] == composed[service]["command"]
    for component in ("worker", "data-worker", "sweeper"):
        _, *check = composed[component]["healthcheck"]["test"]
        assert containers[component]["readinessProbe"]["exec"]["command"] == check
        liveness = containers[component].get("livenessProbe")
        assert liveness is None or liveness["exec"]["command"] == check


def test_the_api_is_probed_at_its_health_routes(helm: Renderer) -> None:
    api = helm.render({}).containers()["api"]
    paths = {kind: api[kind]["httpGet"]["path"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert api["ports"] == [{"name": "http", "containerPort": int(api["command"][-1])}]


def test_a_failing_database_restarts_no_trainer(helm: Renderer) -> None:
    """`python -m worker check` reads the database, so it must not decide whether a worker is killed."""
    assert "livenessProbe" not in helm.render({}).containers()["worker"]


def test_folders_of_compose_are_mounted(helm: Renderer, composed: dict[str, Any]) -> None:
    pods = helm.render({}).pods()
    for component in ("api", "worker", "data-worker", "sweeper"):
        (container,) = pods[component]["spec"]["containers"]
        mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
        assert {volume.split(":")[1] for volume in composed[component]["volumes"]} | {"/tmp", "/data"} <= mounted.keys()
        claimed = {"runs"} if component == "worker" else set()
        assert set(mounted.values()) == {volume["name"] for volume in pods[component]["spec"]["volumes"]} | claimed


def test_a_bucket_needs_no_shared_folder(helm: Renderer) -> None:
    release = helm.render(VALUE_SETS["a bucket"])
    assert release.of_kind("PersistentVolumeClaim") == []
    for pod in release.pods().values():
        assert not any("persistentVolumeClaim" in volume for volume in pod["spec"]["volumes"])


def test_the_blobs_survive_an_uninstallation(helm: Renderer) -> None:
    claim = helm.render({}).named("PersistentVolumeClaim", "blobs")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert claim["spec"] == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "100Gi"}}}


def test_each_worker_keeps_its_name_and_its_folder(helm: Renderer) -> None:
    spec = helm.render({"worker": {"replicas": 2}}).named("StatefulSet", "worker")["spec"]
    (name,) = [one for one in spec["template"]["spec"]["containers"][0]["env"] if one["name"] == "PROXIMAL_WORKER_NAME"]
    assert name["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "runs" and claim["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_a_worker_has_time_to_save_and_to_store(helm: Renderer, composed: dict[str, Any]) -> None:
    pod = helm.render({}).pods()["worker"]["spec"]
    assert composed["worker"]["stop_grace_period"] == "3m" and pod["terminationGracePeriodSeconds"] == 180
    longer = helm.render({"worker": {"stopSeconds": 300, "uploadSeconds": 200}})
    assert longer.pods()["worker"]["spec"]["terminationGracePeriodSeconds"] == 500
    assert longer.environment("worker")["PROXIMAL_STOP_SECONDS"] == "300"


def test_gpus_are_limits_beside_the_other_resources(helm: Renderer) -> None:
    containers = helm.render(VALUE_SETS["GPUs"]).containers()
    assert containers["worker"]["resources"]["limits"] == {"memory": "200Gi", "nvidia.com/gpu": 2}
    assert containers["data-worker"]["resources"]["limits"] == {"nvidia.com/gpu": 1}
    assert "limits" not in helm.render({}).containers()["worker"]["resources"]


def test_migration_runs_before_everything_else(helm: Renderer) -> None:
    """A hook runs before the objects of the release exist. So all that its pod names are hooks as well."""
    release = helm.render({})
    hooks = {one["kind"]: one["metadata"]["annotations"] for one in release.objects if "hook" in str(one["metadata"])}
    assert hooks.keys() == {"Job", "Secret", "ServiceAccount"}
    assert {one["helm.sh/hook"] for one in hooks.values()} == {"pre-install,pre-upgrade"}
    assert [int(hooks[kind]["helm.sh/hook-weight"]) for kind in ("ServiceAccount", "Secret", "Job")] == [-10, -10, 0]
    pod = release.pods()["migration"]["spec"]
    named = set(re.findall(r"'name': '(demo-[^']+)'", str(pod))) | {pod["serviceAccountName"]}
    assert named == {"demo-proximal-migration"}


def test_disruption_budgets_take_one_pod_at_a_time(helm: Renderer) -> None:
    release = helm.render({})
    budgets = {one["metadata"]["name"]: one["spec"] for one in release.of_kind("PodDisruptionBudget")}
    assert budgets.keys() == {f"demo-proximal-{name}" for name in ("api", "worker", "data-worker")}
    for name, spec in budgets.items():
        labels = release.pods()[name.removeprefix("demo-proximal-")]["metadata"]["labels"]
        assert spec["maxUnavailable"] == 1
        assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert helm.render({"podDisruptionBudget": {"enabled": False}}).of_kind("PodDisruptionBudget") == []


def test_ingress_does_not_buffer_and_lets_uploads_through(helm: Renderer) -> None:
    release = helm.render(VALUE_SETS["an ingress"])
    (ingress,) = release.of_kind("Ingress")
    annotations = {name.rpartition("/")[2]: value for name, value in ingress["metadata"]["annotations"].items()}
    assert annotations == {
        "proxy-buffering": "off",
        "proxy-request-buffering": "off",
        "proxy-http-version": "1.1",
        "proxy-read-timeout": "60",
        "proxy-body-size": "128m",
    }
    assert ingress["spec"]["tls"] == [{"hosts": ["rlhf.example.org"], "secretName": "rlhf-tls"}]
    (rule,) = ingress["spec"]["rules"]
    assert rule["http"]["paths"][0]["backend"] == {"service": {"name": "demo-proximal-api", "port": {"name": "http"}}}
    assert "https://rlhf.example.org" in release.notes


def test_network_policy_admits_requests_to_the_api_only(helm: Renderer) -> None:
    release = helm.render(VALUE_SETS["network rules"])
    everything, api = (release.named("NetworkPolicy", name)["spec"] for name in ("", "api"))
    assert "ingress" not in everything and everything["policyTypes"] == ["Ingress", "Egress"]
    for pod in release.pods().values():
        assert everything["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert api["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "api"
    assert api["ingress"][0]["ports"] == [{"port": "http", "protocol": "TCP"}]
    assert api["ingress"][0]["from"] == VALUE_SETS["network rules"]["networkPolicy"]["apiFrom"]
    assert helm.render({}).of_kind("NetworkPolicy") == []


def test_a_changed_secret_replaces_the_pods(helm: Renderer) -> None:
    sums = [
        {name: pod["metadata"].get("annotations") for name, pod in helm.render({"redis": {"url": url}}).pods().items()}
        for url in ("redis://a", "redis://b")
    ]
    for component in ("api", "worker", "data-worker", "sweeper"):
        assert sums[0][component]["checksum/secret"] != sums[1][component]["checksum/secret"]


def test_notes_name_commands_for_this_release(helm: Renderer) -> None:
    notes = helm.render({}).notes
    assert "kubectl -n rlhf exec deploy/demo-proximal-api -- python -m core keys create admin --operator" in notes
    assert "kubectl -n rlhf port-forward service/demo-proximal-api 8000:80" in notes
