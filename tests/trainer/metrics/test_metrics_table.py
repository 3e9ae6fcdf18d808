"""The metric table, from which the API, the dashboard's charts and the reference page are made."""

from collections import Counter, defaultdict

import pytest

from trainer.metrics import METRICS, Chart
from trainer.spec import STAGES


def charts(stage: str) -> dict[str, list[Chart]]:
    """The charts of a stage by title, each with its lines."""
    found: dict[str, list[Chart]] = defaultdict(list)
    for metric in METRICS:
        if metric.stage == stage and metric.chart is not None:
            found[metric.chart.title].append(metric.chart)
    return found


def test_metric_names_of_a_stage_are_unique() -> None:
    counts = Counter((metric.stage, metric.name) for metric in METRICS)
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "evaluation"])
def test_charts_have_distinct_orders_and_named_lines(stage: str) -> None:
    found = charts(stage)
    orders = [line.order for lines in found.values() for line in lines]
    assert found and len(set(orders)) == len(orders)
    for title, lines in found.items():
        assert len(lines) <= 3, title  # the dashboard draws three lines
        assert len(lines) == 1 or all(line.line for line in lines), title


def test_right_scale_is_only_beside_a_left_one() -> None:
    for stage in STAGES:
        for title, lines in charts(stage).items():
            assert any(line.scale == "left" for line in lines), title


def test_lines_on_one_scale_of_a_chart_have_one_unit() -> None:
    """A healthy range is drawn over the left scale, so that a metric on the right one has none."""
    units: dict[tuple[str, str, str], set[str]] = {}
    for metric in METRICS:
        if (chart := metric.chart) is not None:
            units.setdefault((metric.stage, chart.title, chart.scale), set()).add(metric.unit)
            assert chart.scale != "right" or metric.healthy is None, metric.name
    assert {key: found for key, found in units.items() if len(found) > 1} == {}
