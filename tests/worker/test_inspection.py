"""`python -m worker inspect`: one line for each check of a machine."""

import socket
import time
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.jobs.queue.workers import MachineReport, report_worker
from core.scheduling.matching import Capacity
from core.settings import Settings
from core.storage_probe import expected_probe
from worker.inspection import clock_finding, findings, inspect


@pytest.fixture
def probe(settings: Settings) -> str:
    return expected_probe(blob_store(settings))


def states(settings: Settings, probe: str | None) -> dict[str, tuple[str, str]]:
    return {one.check: (one.state, one.detail) for one in findings(settings, probe)}


def test_a_machine_that_fits_passes_every_check(
    settings: Settings, probe: str, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inspect(settings, probe) == 0
    lines = capsys.readouterr().out.splitlines()
    checks = ["packages", "database", "clock", "name", "redis", "storage", "disk", "hardware"]
    assert [line.split()[1] for line in lines] == checks
    assert [path.name for path in settings.blob_dir.rglob("*") if path.is_file()] == ["probe"]


def test_a_store_of_another_platform_is_found(settings: Settings, probe: str, session: Session, tmp_path: Path) -> None:
    other = settings.model_copy(update={"blob_url": (tmp_path / "other").as_uri()})
    state, detail = states(other, probe)["storage"]
    assert state == "failed" and "not the platform's store" in detail
    expected_probe(blob_store(other))
    assert states(other, probe)["storage"][0] == "failed"
    assert states(other, None)["storage"][0] == "ok"


def test_a_store_that_cannot_be_written_is_found(settings: Settings, session: Session, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    state, detail = states(settings.model_copy(update={"blob_url": file.as_uri()}), None)["storage"]
    assert state == "failed" and "cannot be read and written" in detail


def test_servers_that_do_not_respond_are_named(settings: Settings, probe: str) -> None:
    away = {"database_url": "postgresql+psycopg://u:secret@127.0.0.1:9/x", "redis_url": "redis://127.0.0.1:9"}
    found = states(settings.model_copy(update=away), probe)
    assert found["database"][0] == found["redis"][0] == "failed"
    assert "127.0.0.1:9 does not respond" in found["database"][1] and "secret" not in found["database"][1]
    assert "clock" not in found and "name" not in found
    assert found["storage"][0] == "ok"


def test_a_name_of_an_online_worker_is_taken(settings: Settings, probe: str, session: Session) -> None:
    named = settings.model_copy(update={"worker_name": "seven"})
    assert states(named, probe)["name"] == ("ok", "seven")
    report_worker(session, "wrk_1", "elsewhere", None, MachineReport(Capacity(0, 0, 0, 2), name="seven"))
    session.commit()
    state, detail = states(named, probe)["name"]
    assert state == "failed" and "online on elsewhere" in detail and "PROXIMAL_WORKER_NAME" in detail


def test_workers_for_slurm_share_a_name_on_one_machine(
    settings: Settings, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    slurm = settings.model_copy(update={"worker_name": "seven", "launcher": "slurm"})
    machine = MachineReport(Capacity(0, 0, 0, 2), name="seven")
    report_worker(session, "wrk_1", socket.gethostname(), None, machine)
    session.commit()
    assert states(slurm, None)["name"][0] == "ok"
    assert states(slurm, None)["slurm"][0] == "failed" and "sbatch" in states(slurm, None)["slurm"][1]
    report_worker(session, "wrk_2", "elsewhere", None, machine)
    session.commit()
    assert states(slurm, None)["name"][0] == "failed"


@pytest.mark.parametrize(
    ("skew", "state", "said"),
    [(1.9, "ok", "1.9 s ahead of"), (-20, "warning", "20.0 s behind"), (61, "failed", "61.0 s ahead of")],
)
def test_a_clock_is_judged_by_its_distance(skew: float, state: str, said: str) -> None:
    found = clock_finding(skew)
    assert found.state == state and said in found.detail
    assert ("NTP" in found.detail) == (state != "ok")


def test_a_clock_of_another_hour_is_found(
    settings: Settings, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time
    monkeypatch.setattr("worker.inspection.time.time", lambda: now() - 3600)
    state, detail = states(settings, None)["clock"]
    assert state == "failed" and "behind" in detail
