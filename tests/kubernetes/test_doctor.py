"""`proximal doctor` and the watch of a worker: rights, claims and objects that are missing, with what to change."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from kubernetes.config import ConfigException

from core.kubernetes import client
from core.kubernetes.namespace import checked
from core.settings import KubernetesSettings, get_kubernetes_settings, get_settings
from proximal.local.launcher_checks import check_kubernetes
from tests.kubernetes.api_server import NAMESPACE
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.test_manifests import RUNTIME
from tests.waiting import eventually
from worker.inspection import _kubernetes
from worker.jobs.launch.kubernetes.launcher import KubernetesLauncher
from worker.jobs.launch.kubernetes.watch import watching_kubernetes


def problem(monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    """The detail of the failed check with these settings."""
    for name, value in variables.items():
        monkeypatch.setenv(f"PROXIMAL_KUBERNETES_{name}", value)
    [(check, ok, detail)] = check_kubernetes()
    assert (check, ok) == ("kubernetes", False), detail
    return detail


def test_doctor_names_version_and_namespace(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    [(check, ok, detail)] = check_kubernetes()
    assert (check, ok) == ("kubernetes", True), detail
    assert detail.startswith("v1.") and detail.endswith(f"http://127.0.0.1:{cluster.api.port}, namespace {NAMESPACE}")
    assert cluster.jobs == []  # a trial stores nothing
    finding = _kubernetes(get_settings())
    assert (finding.check, finding.state) == ("kubernetes", "ok")
    monkeypatch.setenv("PROXIMAL_LAUNCHER", "local")
    assert list(check_kubernetes()) == []


def test_doctor_lists_the_missing_rights(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.api.denied = {("create", "jobs"), ("list", "events")}
    text = problem(monkeypatch)
    assert f"may not create jobs, list events in the namespace {NAMESPACE!r}. Bind it to a Role" in text


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"NAMESPACE": "nope"}, "There is no namespace 'nope' (PROXIMAL_KUBERNETES_NAMESPACE). `kubectl create"),
        ({"CLAIM": "nope"}, "has no PersistentVolumeClaim 'nope' (PROXIMAL_KUBERNETES_CLAIM,"),
        ({"CLAIM": "single"}, "The claim 'single' has the access mode ReadWriteOnce: the worker and its pods need"),
        ({"PRIORITY_CLASS": "nope"}, "There is no priority class 'nope' (PROXIMAL_KUBERNETES_PRIORITY_CLASS)"),
        ({"QUEUE": "nope"}, "There is no local queue of Kueue 'nope' (PROXIMAL_KUBERNETES_QUEUE)"),
        ({"RUNTIME": "nope", "MACHINES": "2"}, "There is no TrainingRuntime of Kubeflow 'nope'"),
        ({"IMAGE": ""}, "PROXIMAL_LAUNCHER=kubernetes needs PROXIMAL_KUBERNETES_IMAGE"),
    ],
)
def test_doctor_names_what_the_settings_lack(
    changed: dict[str, str], part: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = {"metadata": {"name": "single"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    cluster.api.put("persistentvolumeclaims", claim)
    assert part in problem(monkeypatch, **changed)


def refuse(method: str, plural: str, *, status: int, message: str) -> Callable[[str, str], tuple[int, str] | None]:
    return lambda given, resource: (status, message) if (given, resource) == (method, plural) else None


def test_runtime_must_have_what_a_train_job_cannot_set(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = yaml.safe_load(RUNTIME.read_text())
    cluster.api.put("trainingruntimes", runtime)
    cluster.api.put("priorityclasses", {"metadata": {"name": "low"}})
    monkeypatch.setenv("PROXIMAL_KUBERNETES_MACHINES", "2")
    monkeypatch.setenv("PROXIMAL_KUBERNETES_RUNTIME", "proximal")
    assert checked(get_kubernetes_settings())[1] is None
    text = problem(monkeypatch, PRIORITY_CLASS="low", SECRETS="wandb")
    assert (
        "lacks `priorityClassName: low`, `envFrom` with the Secrets of PROXIMAL_KUBERNETES_SECRETS for its job" in text
    )
    pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["priorityClassName"] = "low"
    pod["containers"][0]["envFrom"] = [{"secretRef": {"name": "wandb"}}]
    del pod["automountServiceAccountToken"]
    cluster.api.put("trainingruntimes", runtime)
    assert "lacks `automountServiceAccountToken: false` for its job 'node'" in problem(monkeypatch)


def test_worker_in_a_pod_uses_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kubernetes.config import incluster_config

    for name, content in {"token": "a-token", "ca.crt": "a certificate", "namespace": "of-the-pod"}.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setattr(client, "_NAMESPACE_FILE", tmp_path / "namespace")
    monkeypatch.setattr(
        "kubernetes.client.ApiClient", lambda configuration: SimpleNamespace(configuration=configuration)
    )
    found = client.connect(KubernetesSettings())
    assert (found.server, found.namespace) == ("https://10.0.0.1:443", "of-the-pod")


def test_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    assert "pip install 'proximal-rlhf[kubernetes]'" in (checked(KubernetesSettings())[1] or "")


def test_doctor_passes_on_the_refusal_of_a_trial(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.api.fault = refuse("post", "jobs", status=422, message="spec.template: Invalid value")
    assert "refuses the worker's settings: spec.template: Invalid value." in problem(monkeypatch)


def test_account_may_lack_rights_on_the_whole_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.api.fault = lambda method, plural: (403, "no") if plural in ("namespaces", "priorityclasses") else None
    monkeypatch.setenv("PROXIMAL_KUBERNETES_PRIORITY_CLASS", "low")
    assert checked(get_kubernetes_settings())[1] is None


def test_doctor_names_a_lost_server_and_no_configuration(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.api.hang_up()
    assert "The API server of Kubernetes does not respond" in problem(monkeypatch)
    assert "There is no configuration for Kubernetes" in problem(monkeypatch, CONFIG="/nowhere")


@pytest.mark.parametrize(
    "text",
    [
        "contexts: [",
        "contexts: 3",
        "[]",
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://x', certificate-authority-data: '!x'}}]\nusers: [{name: u, user: {token: t}}]",
    ],
)
def test_doctor_names_a_damaged_kube_config_file(
    text: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "kube-config"
    file.write_text(text)
    assert f"the kube-config file is not valid ({file})" in problem(monkeypatch, CONFIG=str(file))


def test_token_file_that_is_empty_is_no_crash(cluster: Cluster) -> None:
    def read_token(_: object) -> None:
        raise ConfigException("Token file exists but empty.")

    api = client.connect(get_kubernetes_settings())
    api._client.configuration.refresh_api_key_hook = read_token
    with pytest.raises(client.NoConfiguration, match="Token file exists but empty"):
        api.version()


def test_worker_reports_the_problem_of_its_namespace(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with watching_kubernetes(get_settings()) as watch:
        launcher = KubernetesLauncher(watch)
        report = launcher.engine_report()
        assert report.problem is None
        assert report.cluster == {"engine": "kubernetes", "name": NAMESPACE, "partitions": []}
        cluster.api.denied = {("create", "jobs")}
        watch.look()
        assert "may not create jobs" in (launcher.engine_report().problem or "")
        cluster.api.hang_up()
        watch.look()
        assert launcher.engine_report().cluster == report.cluster
        cluster.api.listen()
        cluster.api.denied = set()
        eventually(lambda: watch.look() and launcher.engine_report().problem is None)
