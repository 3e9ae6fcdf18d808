"""`docs/reference/metrics.md`: every metric of a run."""

from schemas import one_line

from core.jobs.run.telemetry import MEASUREMENTS
from trainer.metrics import METRICS, Metric
from trainer.spec import STAGES

METRICS_INTRODUCTION = """\
# Metrics

<!-- Written by docs/generate from trainer/metrics/: change it there, then run `make reference`. -->

This page lists every number that a run reports. The dashboard shows the same texts, and `GET /v1/reference/metrics` returns
them. Names follow TRL and the N+ implementation details paper. Means over tokens include response tokens only, never padding.
A healthy range is a rule of thumb. Metrics under `time/` are clock readings. All others are bit-identical when a CPU run is
repeated or resumed.
"""

TELEMETRY_INTRODUCTION = """\
The worker measures its machine every `PROXIMAL_TELEMETRY_SECONDS` while a job runs. `GET /v1/jobs/{id}/telemetry` returns the
series. `<n>` is the number of a GPU."""


def metrics_page() -> str:
    return "\n".join([METRICS_INTRODUCTION, *(_stage_metrics(stage) for stage in STAGES), _telemetry()])


def _telemetry() -> str:
    rows = [f"| `{one.name}` | {one.unit} | {one.meaning} |" for one in MEASUREMENTS]
    head = ["## Telemetry of the machine", "", TELEMETRY_INTRODUCTION, "", "| name | unit | meaning |", "|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def _stage_metrics(stage: str) -> str:
    rows = [_metric_row(metric) for metric in METRICS if metric.stage == stage]
    return "\n".join(
        [f"## `{stage}`", "", "| metric | formula | unit | meaning | healthy |", "|---|---|---|---|---|", *rows, ""]
    )


def _metric_row(metric: Metric) -> str:
    meaning = one_line(f"{metric.meaning} {metric.advice}")
    name, formula = f"`{metric.name}`<br>{metric.label}", one_line(metric.formula)
    return f"| {name} | {formula} | {metric.unit} | {meaning} | {_range(metric.healthy)} |"


def _range(healthy: tuple[float | None, float | None] | None) -> str:
    if healthy is None:
        return ""
    low, high = healthy
    return f"≤ {high:g}" if low is None else f"≥ {low:g}" if high is None else f"{low:g} to {high:g}"
