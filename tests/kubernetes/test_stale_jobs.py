"""Jobs of attempts that ended while no worker followed them, and a following thread that crashes."""

from pathlib import Path

import pytest

from core.db import session_scope
from core.settings import Settings
from tests.core.factories import make_job
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.conftest import Start
from tests.waiting import eventually
from worker.jobs.launch.followed import write_record
from worker.jobs.launch.kubernetes import trainer as kubernetes_trainer
from worker.jobs.launch.kubernetes.trainer import RECORD
from worker.jobs.launch.kubernetes.watch import delete_stale_jobs
from worker.jobs.workspace import Workspace


def test_stale_jobs_alone_are_deleted_when_a_worker_starts(settings: Settings, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "node", settings.data_dir, scripted=True)
    cluster.start()
    settings = settings.model_copy(update={"kubernetes_config": str(cluster.config_file)})
    with session_scope() as session:
        job_id = make_job(session).id
    for attempt, uid in ((1, "uid-1"), (2, "uid-of-another")):
        job = {"kind": "Job", "metadata": {"name": f"job-{attempt}", "uid": uid}, "spec": {"suspend": True}}
        cluster.api.put("jobs", job)
        workspace = Workspace(settings.data_dir / "runs" / job_id / f"attempt-{attempt}")
        workspace.folder.mkdir(parents=True)
        write_record(workspace, RECORD, {"job": f"job-{attempt}", "uid": f"uid-{attempt}", "kind": "Job"})
    with session_scope() as session:
        delete_stale_jobs(session, settings)
    names = [job["metadata"]["name"] for job in cluster.jobs]
    cluster.stop()
    assert names == ["job-2"] and not list(settings.data_dir.rglob(RECORD))


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
