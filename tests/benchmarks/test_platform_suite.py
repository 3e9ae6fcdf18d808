"""The platform suite: its JSON, and a rehearsal of every measurement."""

import json
from pathlib import Path

import pytest

from benchmarks.measuring.schedule import Outcome
from benchmarks.platform_suite.__main__ import LONG_PARTS, PARTS, figures, main


def test_figures_are_by_name_with_failed_parts_listed() -> None:
    found = figures([Outcome("a", "passed", figures={"x_ms": 1.5}), Outcome("b", "failed", reason="no server")])
    assert found["x_ms"] == 1.5
    assert [(part["name"], part["status"]) for part in found["parts"]] == [("a", "passed"), ("b", "failed")]


@pytest.mark.slow
def test_rehearsal_runs_every_part_and_writes_json(tmp_path: Path) -> None:
    names = [part.name for part in (*PARTS, *LONG_PARTS)]
    main(["--rehearse", "--json", str(tmp_path / "figures.json"), "--only", *names])
    found = json.loads((tmp_path / "figures.json").read_text())
    assert [part["status"] for part in found["parts"]] == ["passed"] * len(names), found["parts"]
    assert {"get_job_ms", "list_ms", "chart_query_ms", "ingest_rows_per_second"} <= found.keys()
