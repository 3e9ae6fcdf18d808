"""One table names every metric: what the stages report and what the dashboard charts are both in it."""

import re
from pathlib import Path

import pytest

from trainer.metrics import METRICS
from trainer.spec import STAGES

CATALOG = Path(__file__).parents[3] / "frontend" / "src" / "features" / "run" / "model" / "catalog.ts"
TABLE = {(metric.stage, metric.name) for metric in METRICS}
_NAME = re.compile(r'\bname: "([^"]+)"|\bone\(\s*"[^"]*",\s*"([^"]+)"')


def charted() -> dict[str, list[str]]:
    """The metric names of the dashboard's charts, by stage."""
    shared, _, table = CATALOG.read_text(encoding="utf-8").partition("const CHARTS")
    for_all = names_in(shared.partition("const optimiser")[2])
    found: dict[str, list[str]] = {}
    for section in re.split(r"\n  (?=\w+: \[)", table.partition("\n};")[0])[1:]:
        stage = section.partition(":")[0]
        found[stage] = names_in(section) + (for_all if "...optimiser" in section else [])
    return found


def names_in(text: str) -> list[str]:
    return [first or second for first, second in _NAME.findall(text)]


def test_the_catalogue_is_read_whole() -> None:
    """Else the next test would look at nothing."""
    text = CATALOG.read_text(encoding="utf-8").partition("const CHARTS")[2].partition("\n};")[0]
    charts = charted()
    assert set(charts) == set(STAGES) - {"evaluation"}
    assert len(names_in(text)) == text.count('name: "') + text.count("one(") > 40
    assert charts["sft"][-2:] == ["lr", "grad_norm"]


@pytest.mark.parametrize("stage", sorted(charted()))
def test_every_charted_metric_is_in_the_table(stage: str) -> None:
    assert [name for name in charted()[stage] if (stage, name) not in TABLE] == []
