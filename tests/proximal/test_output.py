"""The options of all commands: formats of results, exit statuses, lazy imports; and `doctor` and `keys`."""

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from core.db import session_scope
from core.jobs.queue.workers import MachineReport, report_worker, sign_off
from core.scheduling.matching import EVERYTHING
from proximal import cli
from proximal.commands import groups, jobs
from proximal.data_folder import DataFolder
from proximal.errors import ApiError, ClientError, JobNotSucceeded
from proximal.local.services import postgres
from proximal.sdk import Client
from tests.proximal.conftest import Up

Run = Callable[..., Result]
HEAVY = {"httpx", "pydantic", "trainer", "core", "data", "plotext", "proximal.sdk"}


@pytest.fixture
def run(up: Up, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command on the local platform. `status`: the expected exit status."""
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))

    def run(*arguments: str, status: int = 0) -> Result:
        result = CliRunner().invoke(cli.app, arguments, env={"COLUMNS": "200"}, catch_exceptions=False)
        assert result.exit_code == status, result.output
        return result

    return run


@pytest.fixture
def job(client: Client, tmp_path: Path) -> str:
    file = tmp_path / "pairs.jsonl"
    file.write_text(json.dumps({"prompt": "p", "chosen": "a", "rejected": "b"}) + "\n")
    dataset = client.upload_dataset(file, "preferences")
    return client.create_job({"name": "mine", "model": "m", "data": {"preferences": dataset["id"]}, "ppo": {}})["id"]


def leaves(command: Any, path: str = "proximal") -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from leaves(inner, f"{path} {name}")


def test_commands_all_take_output_and_quiet() -> None:
    without = [
        path
        for path, command in leaves(cli.whole_command())
        if not {"--output", "--quiet"} <= {name for one in command.params for name in one.opts}
    ]
    assert without == ["proximal up", "proximal open", "proximal demo"]


def test_cli_help_imports_no_group_and_no_client() -> None:
    code = "import sys\ntry:\n    import proximal.cli; proximal.cli.app(['--help'])\nfinally:\n    print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Submit, follow and control jobs." in output
    assert HEAVY.isdisjoint(output.splitlines()[-1].split())


@pytest.mark.parametrize("name", cli.GROUPS)
def test_group_has_the_help_text_of_its_module(name: str) -> None:
    assert importlib.import_module(f"proximal.commands.{name}").app.info.help == cli.GROUPS[name]


def test_cli_unknown_command_names_the_nearest(run: Run) -> None:
    assert "Did you mean 'jobs'?" in run("job", status=2).output


def test_list_output_json_is_the_platforms_items(run: Run, client: Client, job: str) -> None:
    printed = json.loads(run("jobs", "list", "--output", "json", "--limit", "1").output)
    assert printed == [next(client.list_jobs())] and printed[0]["id"] == job


def test_list_quiet_prints_ids_only(run: Run, job: str) -> None:
    assert run("jobs", "list", "-q", "--limit", "1").output == f"{job}\n"


def test_list_is_sorted_by_a_column(run: Run, client: Client, job: str) -> None:
    other = client.create_job(client.get_job(job)["spec"] | {"name": "zebra"})["id"]
    assert run("jobs", "list", "-q", "--sort", "-name", "--limit", "1").output == f"{other}\n"
    assert "gpu_hours" not in run("jobs", "list", "--sort", "-name").output
    for column in jobs.SORTED_COLUMNS:
        assert column in run("jobs", "list", "--sort", f"-{column}").output


def test_list_says_that_a_figure_is_a_mean_over_seeds() -> None:
    def columns(summary: dict[str, float] | None) -> list[object]:
        job = {"summary": summary, "latest_metrics": {"objective/kl": 0.5}}
        return [jobs.SORTED_COLUMNS[name](job) for name in ("win_rate", "kl", "judge")]

    assert columns({"win_rate": 0.4583, "kl": 1.24, "seeds": 3.0, "failed_seeds": 1.0}) == [
        "0.4583 (mean of 2 seeds)",
        "1.24 (mean of 2 seeds)",
        None,
    ]
    assert columns({"win_rate": 0.75, "judge_after": 2.0}) == ["0.75", "0.5", "2"]
    assert columns(None) == [None, "0.5", None]


def test_output_before_the_command_counts_too(run: Run, job: str) -> None:
    assert json.loads(run("--output", "json", "jobs", "show", job).output)["name"] == "mine"


def test_events_output_json_is_one_event_per_line(run: Run, client: Client, job: str) -> None:
    client.cancel_job(job)
    lines = run("jobs", "events", job, "--output", "json").output.splitlines()
    assert [json.loads(line)["data"]["to"] for line in lines] == ["queued", "cancelled"]


@pytest.mark.parametrize("command", [["jobs", "events", "--follow"], ["jobs", "watch"]])
def test_followed_job_that_is_cancelled_exits_with_5(
    command: list[str],
    up: Up,
    client: Client,
    job: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.cancel_job(job)
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))
    monkeypatch.setattr("sys.argv", ["proximal", *command, job])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 5
    assert "is cancelled" in capsys.readouterr().err


def test_job_that_failed_sets_status_4_and_says_why() -> None:
    error = JobNotSucceeded(
        {"id": "job_1", "status": "failed", "status_reason": "", "error": {"code": "oom", "message": "Too big."}}
    )
    assert (error.exit_status, str(error)) == (4, "job_1 is failed (oom): Too big.")


def test_unreachable_platform_exits_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["proximal", "--url", "http://127.0.0.1:9", "--key", "k", "jobs", "list"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3


def test_doctor_without_a_worker_fails_that_check_only(run: Run) -> None:
    found = json.loads(run("doctor", "--output", "json", status=1).output)
    assert [one["check"] for one in found if not one["ok"]] == ["workers"]
    assert {"connection", "key", "services"} <= {one["check"] for one in found}


def test_doctor_names_the_version_of_another_platform(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proximal.commands.doctor.metadata.version", lambda _: "0.0.9")
    found = json.loads(run("doctor", "--output", "json", status=1).output)
    (version,) = [one for one in found if one["check"] == "version"]
    assert not version["ok"] and version["detail"].startswith("the client is 0.0.9 and the platform 0.1.0")


def test_doctor_without_a_platform_fails_the_connection(run: Run) -> None:
    found = json.loads(run("--url", "http://127.0.0.1:9", "--key", "k", "doctor", "--output", "json", status=1).output)
    assert [one["check"] for one in found if not one["ok"]] == ["connection"]


def test_keys_are_created_listed_and_revoked(run: Run, up: Up) -> None:
    made = json.loads(run("keys", "create", "grace", "--scope", "read", "--scope", "submit", "--output", "json").output)
    assert (made["prefix"], made["scopes"]) == (f"{made['text'][:8]}…", ["read", "submit"])
    (line,) = [line for line in run("keys", "list").output.splitlines() if "grace" in line]
    assert line.split()[:2] == [made["id"], "grace"] and "read, submit" in line and "active" in line
    run("keys", "revoke", made["id"])
    with Client(up.url, made["text"]) as revoked, pytest.raises(ApiError, match="revoked"):
        revoked.who_am_i()


def test_key_is_rotated_with_an_overlap_and_without(run: Run, up: Up) -> None:
    old = json.loads(run("keys", "create", "rota", "--expires-at", "2199-01-31", "--output", "json").output)
    first = run("keys", "rotate", old["id"], "--overlap-hours", "2")
    assert f"The old key {old['prefix']} stays valid until" in first.stderr and "UTC." in first.stderr
    text = first.stdout.strip()
    with Client(up.url, text) as new, Client(up.url, old["text"]) as replaced:
        assert new.who_am_i()["key"]["name"] == replaced.who_am_i()["key"]["name"] == "rota"
        second = run("--key", text, "keys", "rotate", new.who_am_i()["key"]["id"], "--overlap-hours", "0", "--quiet")
        with pytest.raises(ApiError, match="revoked"):
            new.who_am_i()
    assert second.stdout.startswith("prx_") and second.stderr == ""


def test_revoked_key_names_the_keys_it_made(run: Run) -> None:
    maker = json.loads(run("keys", "create", "maker", "--output", "json").output)
    run("--key", maker["text"], "keys", "create", "child")
    assert "stay valid: child" in run("keys", "revoke", maker["id"]).stderr
    assert run("keys", "revoke", maker["id"], "--and-made").stderr == ""


def test_wrong_end_of_a_key_is_explained(run: Run) -> None:
    with pytest.raises(ClientError, match="--expires-at tomorrow: write 2027-01-31"):
        run("keys", "create", "k", "--expires-at", "tomorrow")


def test_members_come_change_and_go(run: Run, up: Up) -> None:
    user, text = run("members", "add", "Vera", "--role", "viewer").output.split()
    with Client(up.url, text) as vera:
        assert vera.who_am_i()["role"] == "viewer"
        assert run("members", "set-role", user, "annotator").output.split() == [user, "annotator"]
        assert vera.who_am_i()["role"] == "annotator"
        assert any("Vera" in line and "annotator" in line for line in run("members", "list").output.splitlines())
        other = run("keys", "create", "tablet", "--member", user).output.strip()
        run("members", "remove", user)
        for gone in (text, other):
            with Client(up.url, gone) as client, pytest.raises(ApiError, match="revoked"):
                client.who_am_i()


def test_null_of_a_sweep_is_printed_as_null() -> None:
    assert groups.JOB_COLUMNS["values"]({"values": {"a": None, "b": "auto", "c": True}}) == "a=null, b=auto, c=true"


def test_version_is_printed(run: Run) -> None:
    assert run("--version").output == "proximal 0.1.0\n"


def test_worker_is_cordoned_drained_and_uncordoned(run: Run, up: Up) -> None:
    with session_scope(postgres(DataFolder(up.folder)).url) as session:
        report_worker(session, "wrk_of_this_test", "host", None, MachineReport(EVERYTHING))
    printed = [run("workers", change, "wrk_of_this_test").output for change in ("cordon", "drain", "uncordon")]
    with session_scope(postgres(DataFolder(up.folder)).url) as session:
        sign_off(session, "wrk_of_this_test")
    assert [line.split()[-1] for line in printed] == ["cordoned", "draining", "online"]


def test_operator_lists_projects_and_sets_limits(run: Run, up: Up) -> None:
    with up.client() as client:
        project = client.get_project()["id"]
    assert any(project in line for line in run("admin", "projects").output.splitlines())
    shown = run("admin", "set-quotas", project, "gpus=8", "stored_bytes=none").output.splitlines()
    assert [line.split() for line in shown if line.startswith(("gpus", "stored_bytes"))] == [
        ["gpus", "8"],
        ["stored_bytes", "none"],
    ]
    assert any(line.startswith("open_jobs") and line.endswith("(default)") for line in shown)
    run("admin", "set-quotas", project)
    with up.client() as client:
        assert {one["id"]: one["own_limits"] for one in client.list_projects()}[project] == []
    assert run("admin", "jobs", "--project", "prj_nope", "--quiet").output == ""
    for wrong in ("gpu=8", "gpus=many", "gpus"):
        with pytest.raises(ClientError, match=f"{wrong}:"):
            run("admin", "set-quotas", project, wrong)
