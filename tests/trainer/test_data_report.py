import json
from pathlib import Path

import pytest

from data.report.settings import ReportSettings
from tests.data.report.tools import plain_pairs
from trainer.cli import main
from trainer.spec import DataSpec


def written(folder: Path, settings: object, rows: str | None = None) -> list[str]:
    """The command line of a report, and the files that it names."""
    (folder / "settings.json").write_text(json.dumps(settings))
    text = "".join(json.dumps(row) + "\n" for row in plain_pairs(3)) if rows is None else rows
    (folder / "rows.jsonl").write_text(text)
    command = ["report", str(folder / "rows.jsonl"), "--settings", str(folder / "settings.json")]
    return [*command, "--out", str(folder / "report.json"), "--rows-dir", str(folder / "rows"), "--processes", "1"]


def test_data_report_is_written_with_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(written(tmp_path, {"kind": "preferences"})) == 0
    assert json.loads((tmp_path / "report.json").read_text())["summary"]["rows"] == 3
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told[0] == {"progress": 0.0, "note": "reading rows"} and told[-1]["note"] == "writing"
    assert [line["progress"] for line in told] == sorted(line["progress"] for line in told)


@pytest.mark.parametrize(
    ("settings", "rows", "status", "message"),
    [
        ({"kind": "preferences", "modle": "x"}, None, 2, "did you mean"),
        ({"kind": "poems"}, None, 2, "kind"),
        ({"kind": "preferences"}, "", 3, "the file is empty"),
        ({"kind": "preferences"}, '{"prompt": "q"}\n', 3, "line 1"),
        ({"kind": "preferences", "model": "/no/such/folder"}, None, 4, "no folder"),
    ],
)
def test_data_report_error_has_its_status_and_is_on_both_outputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: object, rows: str | None, status: int, message: str
) -> None:
    assert main(written(tmp_path, settings, rows)) == status
    told = capsys.readouterr()
    assert message in json.loads(told.out.splitlines()[-1])["error"]["message"] and message in told.err
    assert not (tmp_path / "report.json").exists()


def test_report_settings_defaults_are_those_of_a_job() -> None:
    settings = ReportSettings(kind="preferences")
    for name in ("chat_template", "max_prompt_tokens", "max_completion_tokens", "eval_fraction"):
        assert getattr(settings, name) == getattr(DataSpec(), name)
