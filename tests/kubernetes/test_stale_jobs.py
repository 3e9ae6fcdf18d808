"""Jobs of attempts that ended while no worker followed them, and a following thread that crashes."""

from pathlib import Path

import pytest

from core.db import session_scope
from core.kubernetes.objects import object_name
from core.settings import Settings
from tests.core.factories import make_job
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.conftest import Start
from tests.waiting import eventually
from worker.jobs.launch.followed import write_record
from worker.jobs.launch.kubernetes import trainer as kubernetes_trainer
from worker.jobs.launch.kubernetes.launcher import KubernetesLauncher
from worker.jobs.launch.kubernetes.trainer import RECORD
from worker.jobs.launch.kubernetes.watch import delete_stale_jobs
from worker.jobs.launch.watch import EngineWatch
from worker.jobs.workspace import Workspace


def test_stale_jobs_alone_are_deleted_when_a_worker_starts(settings: Settings, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "node", settings.data_dir, scripted=True)
    cluster.start()
    settings = settings.model_copy(update={"kubernetes_config": str(cluster.config_file)})
    with session_scope() as session:
        job_id = make_job(session).id
    for attempt, uid in ((1, "uid-1"), (2, "uid-of-another"), (3, "uid-3")):
        name = object_name(job_id, attempt)
        job = {"kind": "Job", "metadata": {"name": name, "uid": uid}, "spec": {"suspend": True}}
        cluster.api.put("jobs", job)
        workspace = Workspace(settings.data_dir / "runs" / job_id / f"attempt-{attempt}")
        workspace.folder.mkdir(parents=True)
        write_record(workspace, RECORD, {"uid": f"uid-{attempt}", "kind": "Job"})
    (workspace.folder / RECORD).write_text('{"uid": ')  # its disk was full
    with session_scope() as session:
        delete_stale_jobs(session, settings)
    names = [job["metadata"]["name"] for job in cluster.jobs]
    cluster.stop()
    assert names == [object_name(job_id, 2)] and not list(settings.data_dir.rglob(RECORD))


def test_damaged_record_attaches_to_the_job_of_its_name(cluster: Cluster, start: Start) -> None:
    trainer = start()
    cluster.until(cluster.runs_a_pod)
    trainer.leave()
    for text in ("", "[]", '{"uid": 3'):
        (trainer._run.workspace.folder / RECORD).write_text(text)
        launcher = KubernetesLauncher(EngineWatch("Kubernetes", lambda: (None, None)))
        assert launcher.has_started(trainer._run.workspace)
        again = launcher.attach(trainer._run)
        cluster.until(lambda again=again: again._uid)
        again.leave()
    assert len(cluster.jobs) == 1


def test_crash_of_the_thread_reaches_the_worker(
    cluster: Cluster, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_trainer, "job_view", lambda found: found["no such key"])
    trainer = start()

    def crashes() -> bool:
        try:
            return trainer.poll() is not None
        except KeyError:
            return True

    eventually(crashes)
    with pytest.raises(KeyError, match="no such key"):
        trainer.poll()
