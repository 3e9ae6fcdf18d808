"""`proximal doctor` and the watch of a worker: rights, claims and objects that are missing, with what to change."""

from collections.abc import Callable

import pytest

from core.kubernetes.namespace import checked
from core.settings import get_kubernetes_settings, get_settings
from proximal.local.kubernetes_check import check_kubernetes
from tests.kubernetes.api_server import NAMESPACE
from tests.kubernetes.cluster import Cluster
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
