"""The `proximal` command as a person types it."""

import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from typer import BadParameter
from typer.testing import CliRunner

from proximal import cli
from proximal.commands import job_metrics
from proximal.commands.job_set import KNOBS, assignment
from proximal.commands.job_telemetry import summary
from proximal.commands.jobs import _in_words
from proximal.errors import ApiError, ClientError
from proximal.terminal import age, list_of, plain
from tests.api.test_run_data import TOLD
from tests.proximal.conftest import Up
from trainer.events import Event
from trainer.spec import knobs as spec_knobs


@pytest.fixture
def run(up: Up, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Without --url and --key: both are found in the data folder."""
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))

    def run(*arguments: str, columns: int = 200) -> Result:
        width = {"COLUMNS": str(columns)}
        result = CliRunner().invoke(cli.app, arguments, env=width, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return run


def test_submit_list_show_cancel_events(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"prompt": "p", "chosen": "a", "rejected": "b"}) + "\n")
    (tmp_path / "job.toml").write_text('name = "mine"\nmodel = "m"\n[data]\npreferences = "pairs.jsonl"\n[ppo]\n')
    job_id = run("jobs", "submit", str(tmp_path / "job.toml")).output.strip()
    assert job_id.startswith("job_")
    assert "mine" in run("jobs", "list").output
    shown = run("jobs", "show", job_id).output
    assert re.search(r"status +queued", shown) and re.search(r"queue_position +\d", shown)
    assert run("jobs", "pause", job_id, "--reason", "Until tonight.").output == "paused\n"
    assert "Until tonight." in run("jobs", "show", job_id).output
    assert run("jobs", "resume", job_id).output == "queued\n"
    run("jobs", "set", job_id, "--name", "mine too", "--tag", "Base", "--tag", "old", "--metadata", "team=a")
    assert run("jobs", "set", job_id, "--untag", "OLD", "--note", "Kept.", "-q").output.strip() == job_id
    allowed = json.loads(run("jobs", "set", job_id, "--preemptible", "--output", "json").output)
    assert allowed["preemptible"]
    run("jobs", "set", job_id, "--no-preemptible", "--if-match", allowed["etag"])
    for command in (("jobs", "set", job_id, "--name", "late"), ("jobs", "delete", job_id)):
        with pytest.raises(ApiError, match="has changed since you read it"):
            run(*command, "--if-match", allowed["etag"])
    with pytest.raises(ClientError, match="knobs and requests have no ETag"):
        run("jobs", "set", job_id, "kl_coef=0.1", "--if-match", "x")
    filters = ("--tag", "base", "--text", "kept mine", "--model", "m", "--created-after", "2026-01-01")
    assert run("jobs", "list", *filters, "-q").output.strip() == job_id
    assert run("jobs", "list", "--tag", "old", "-q").output == ""
    assert "Kept." in run("jobs", "show", job_id).output
    assert run("jobs", "cancel", job_id).output == "cancelled\n"
    assert "cancelled: Cancelled by its owner." in run("jobs", "events", job_id).output
    assert run("jobs", "retry", job_id).output == "queued\n"
    clone = run("jobs", "clone", job_id, "--set", "name=copy", "--set", "ppo.steps=7", "--output", "json").output
    made = json.loads(clone)
    assert (made["name"], made["spec"]["ppo"]["steps"]) == ("copy", 7)
    assert (made["parent"]["job"], made["parent"]["relation"]) == (job_id, "clone")
    assert run("jobs", "list", "--parent", job_id, "-q").output.strip() == made["id"]


def test_templates_sweeps_and_groups_from_the_command_line(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"prompt": "p", "chosen": "a", "rejected": "b"}) + "\n")
    (tmp_path / "base.toml").write_text('model = "m"\n[ppo]\nsteps = 5\n')
    (tmp_path / "data.json").write_text('{"data": {"preferences": "pairs.jsonl"}}')
    base, data = str(tmp_path / "base.toml"), str(tmp_path / "data.json")
    template = run(
        "templates", "create", "base", base, "--set", "ppo.kl.coef=0.1", "--description", "Short."
    ).output.strip()
    assert template.startswith("tpl_") and "Short." in run("templates", "list").output
    assert re.search(r"ppo\.kl\.coef +0\.1", run("templates", "show", "base").output)
    group = run("groups", "create", "pair", "--max-parallel", "1").output.strip()
    submit = ("jobs", "submit", data, "--set", "ppo.steps=6", "--group", group, "--output", "json")
    jobs = [json.loads(run(*submit, "--template", name).output) for name in ("base", template)]
    assert [(job["name"], job["spec"]["ppo"]["steps"], job["spec"]["ppo"]["kl"]["coef"]) for job in jobs] == [
        ("base", 6, 0.1)
    ] * 2
    assert [job["status"] for job in jobs] == ["queued", "paused"]
    assert group in run("groups", "list", "-q").output.split()
    assert "paused" in run("groups", "show", group).output
    assert run("groups", "cancel", group).output.count("cancelled") == 2
    read = json.loads(run("templates", "show", "base", "--output", "json").output)
    run("templates", "change", "base", "--set", "ppo.kl.coef=0.2", "--description", "Long.", "--if-match", read["etag"])
    changed = json.loads(run("templates", "show", "base", "--output", "json").output)
    assert (changed["description"], changed["spec"]["ppo"]) == ("Long.", {"steps": 5, "kl": {"coef": 0.2}})
    with pytest.raises(ApiError, match="has changed"):
        run("templates", "change", "base", "--name", "other", "--if-match", read["etag"])
    with pytest.raises(ClientError, match="--patch, --set, --name or --description"):
        run("templates", "change", "base")
    assert run("templates", "delete", "base").output == f"{template}  deleted\n"
    with pytest.raises(ClientError, match="no template 'base'"):
        run("templates", "show", "base")
    spec = {"model": "m", "data": {"preferences": "pairs.jsonl"}, "ppo": {}}
    (tmp_path / "sweep.json").write_text(json.dumps({"name": "s", "spec": spec, "parameters": {"seed": [1, 2]}}))
    sweep = str(tmp_path / "sweep.json")
    assert "s 2: seed=2" in run("sweeps", "validate", sweep).output
    assert run("sweeps", "submit", sweep, "--force", "-q").stdout.count("job_") == 2


def test_usage_telemetry_and_extend_of_a_queued_job(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"prompt": "p", "chosen": "a", "rejected": "b"}) + "\n")
    (tmp_path / "job.toml").write_text('model = "m"\n[data]\npreferences = "pairs.jsonl"\n[ppo]\n')
    job_id = run("jobs", "submit", str(tmp_path / "job.toml"), "--set", "name=longer").output.strip()
    assert re.search(r"stored data.*GiB", run("usage").output)
    assert json.loads(run("usage", "--output", "json").output)["used"]["open_jobs"] >= 1
    assert run("jobs", "telemetry", job_id).output == "The job has no measurements.\n"
    clone = run("jobs", "clone", job_id).output.strip()
    shown = run("jobs", "show", clone).output
    assert re.search(rf'origin +Cloned from "longer" \({job_id}\)', shown)
    assert re.search(r"data.preferences +\S.*, version 1 \(ds_", shown)
    assert re.search(r"made from it +1 by clone", run("jobs", "show", job_id).output)
    assert run("jobs", "metrics", job_id, "--names", "lr").output == "seed,stage,metric,step,value\n"
    with pytest.raises(ApiError, match=f"{job_id} is queued"):
        run("jobs", "extend", job_id, "--steps", "200", "--force")


def test_telemetry_is_summed_up_by_measurement() -> None:
    """(10 × 1 + 40 × 3) / 4 = 32.5; the gap counts nowhere. 2^31 bytes are 2 GiB."""
    series = {"gpu/1/power": [10.0, 40.0, None], "cpu/percent": [None] * 3, "memory/rss": [None, None, 2.0**31]}
    units = {"gpu/<n>/power": "watts", "memory/rss": "bytes"}
    found: Any = {
        "seconds": [1.0, 3.0, 2.0],
        "series": [{"name": name, "values": values} for name, values in series.items()],
        "measurements": [{"name": name, "unit": unit} for name, unit in units.items()],
    }
    assert list(summary(found)) == [
        ("gpu/1/power", "40", "32.5", "40", "watts"),
        ("memory/rss", "2", "2", "2", "GiB"),
    ]


def test_metrics_csv_has_a_line_for_each_seed_and_step() -> None:
    def series(seed: int | None, steps: list[int], values: list[float] | None, mean: list[float] | None = None) -> Any:
        return {"seed": seed, "stage": "ppo", "name": "objective/kl", "steps": steps, "values": values, "mean": mean}

    found: Any = {"series": [series(4, [1, 2], [0.5, 0.25]), series(5, [4], None, [2.0]), series(None, [1], [1.0])]}
    assert list(job_metrics.lines(found)) == [
        "seed,stage,metric,step,value",
        "4,ppo,objective/kl,1,0.5", "4,ppo,objective/kl,2,0.25", "5,ppo,objective/kl,4,2.0", ",ppo,objective/kl,1,1.0",
    ]  # fmt: skip


def test_metrics_of_a_thinned_job_come_with_a_remark() -> None:
    assert job_metrics.thinned("2026-11-28T10:00:05.123Z") == (
        "The platform thinned these metrics on 2026-11-28 10:00:05 UTC: a line is the mean of 4 steps or more."
    )


def test_show_has_each_seed_and_labelled_means() -> None:
    seed: Any = {
        "seed": 5,
        "status": "collapsed",
        "stage": "evaluation",
        "step": 1,
        "total_steps": 1,
        "why": "It lost.",
    }
    assert job_metrics.seed_result(seed | {"summary": {"win_rate": 0.25, "best_step": 6.0}}) == (
        "collapsed, win_rate 0.25, best_step 6, It lost."
    )
    counts = {"seeds": 3.0, "collapsed_seeds": 1.0, "failed_seeds": 1.0, "best_seed": 4.0}
    job: Any = {"summary": None, "seeds_summary": {"kl": 1.5, "kl_low": 1.0, "kl_high": 2.0, "x": 3.0} | counts}
    assert job_metrics.summary_rows(job) == [
        ("kl", "1.5 (mean of 2, 95 % interval 1 to 2)"), ("x", "3 (mean of 2)"),
        ("seeds", "3"), ("collapsed_seeds", "1"), ("failed_seeds", "1"), ("best_seed", "4"),
    ]  # fmt: skip


def test_cli_prints_names_without_markup_and_whole_ids(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "p.jsonl").write_text(json.dumps({"prompt": "p", "chosen": "a", "rejected": "b"}) + "\n")
    spec = {"name": "[/b] :smile:", "model": "m", "data": {"preferences": "p.jsonl"}, "ppo": {}}
    (tmp_path / "job.json").write_text(json.dumps(spec))
    job_id = run("jobs", "submit", str(tmp_path / "job.json")).output.strip()
    assert job_id in run("jobs", "list", columns=80).output
    assert "[/b] :smile:" in run("jobs", "show", job_id, columns=80).output
    run("datasets", "upload", str(tmp_path / "p.jsonl"), "--kind", "preferences", "--name", "[/b] pairs")
    assert re.search(r"(?m)^ds_\w{24,} ", run("datasets", "list", columns=80).output)


def printed_list(width: int | None, *rows: tuple[str, ...]) -> list[str]:
    console = Console(width=width or 80, file=io.StringIO())
    cells = [[plain(cell) for cell in row] for row in rows]
    console.print(list_of(["id", "name", "state", "labels"], cells, width, ids=True), crop=width is not None)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_list_folds_its_widest_columns_only() -> None:
    """The columns take 28 + 27 + 8 + 11 characters, with gaps 80. One character less folds the name."""
    row = (f"job_{'a' * 24}", "a name of three more words.", "cordoned", "eu and fast")
    whole = f"job_{'a' * 24}  a name of three more words.  cordoned  eu and fast"
    assert printed_list(80, row)[1:] == [whole]
    assert printed_list(79, row)[1:] == [
        f"job_{'a' * 24}  a name of three more        cordoned  eu and fast",
        f"{'':28}  words.",
    ]
    lines = printed_list(66, (f"{row[0]}\n  job_{'b' * 24}", *row[1:]))
    assert lines[1].startswith(f"{row[0]}    a name") and lines[2].startswith(f"  job_{'b' * 24}  ")
    assert all("cordoned" in line or line.startswith(" ") for line in lines[1:])
    assert printed_list(None, (*row[:3], "x" * 60))[1:] == [f"{whole.removesuffix('eu and fast')}{'x' * 60}"]


def test_age_of_a_timestamp_has_one_unit() -> None:
    now = datetime(2026, 3, 31, 12, tzinfo=UTC)
    then = {59: "59 s ago", 60: "1 min ago", 7199: "1 h ago", 90000: "1 d ago", 30 * 86400: "2026-03-01", -5: "0 s ago"}
    for seconds, text in then.items():
        assert age((now - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z"), now) == text


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert plain("a\x1b[2Jb\nc").plain == "a\N{REPLACEMENT CHARACTER}[2Jb\nc"


def test_cli_prints_errors_without_markup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["proximal", "--url", "http://elsewhere/[/b]", "jobs", "list"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "http://elsewhere/[/b]" in capsys.readouterr().err


def test_datasets_are_uploaded_and_listed(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "p"}\n')
    upload = ("datasets", "upload", str(file), "--kind", "prompts", "--external-id", "ci/7")
    made = json.loads(run(*upload, "--name", "few", "--output", "json").output)
    assert (made["external_id"], made["rows"]) == ("ci/7", 1)
    assert "few" in run("datasets", "list", "--kind", "prompts").output
    with pytest.raises(ApiError) as refusal:
        run(*upload)
    assert refusal.value.code == "external_id_taken"
    with pytest.raises(ApiError, match="has changed since you read it"):
        run("datasets", "change", made["id"], "--name", "many", "--if-match", "stale")


def test_a_new_key_opens_the_door(run) -> None:  # type: ignore[no-untyped-def]
    key = run("keys", "create", "ada").output.strip()
    assert json.loads(run("--key", key, "keys", "list", "--output", "json").output)[0]["name"] == "ada"


def test_cli_without_a_key_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(tmp_path))
    with pytest.raises(ClientError, match="--key"):
        CliRunner().invoke(cli.app, ["jobs", "list"], catch_exceptions=False)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://elsewhere.example"])
def test_the_local_key_is_not_sent_elsewhere(url: str, run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("PROXIMAL_URL", url)
    with pytest.raises(ClientError, match=f"No API key for {url}"):
        run("jobs", "list")


def test_the_local_address_may_be_spelt_out(run, up: Up) -> None:  # type: ignore[no-untyped-def]
    run("--url", f"{up.url}/", "jobs", "list")


@pytest.mark.parametrize("told", TOLD, ids=lambda told: told.type)
def test_every_kind_of_event_has_a_line(told: Event) -> None:
    data = told.model_dump(mode="json", exclude={"type", "at"})
    assert _in_words({"type": told.type, "data": data}).strip()  # type: ignore[typeddict-item]


@pytest.mark.parametrize("given", ["kl_coef", "kl_coef=a", "=1", "batch_size=3"])
def test_assignment_that_is_no_knob_is_refused(given: str) -> None:
    with pytest.raises(BadParameter):
        assignment(given)


def test_assignment_names_a_knob_of_the_spec() -> None:
    assert assignment("kl_coef=1e-2") == ("kl_coef", 0.01)
    assert set(KNOBS) == set(spec_knobs.KNOBS)
