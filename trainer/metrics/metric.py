"""The row type of the metric table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from trainer.spec import StageName


@dataclass(frozen=True)
class Chart:
    """The dashboard's chart of a metric. Metrics of one stage with the same title are lines of one chart."""

    title: str
    order: int
    """Charts of a stage, and the lines of a chart, are sorted by it."""
    line: str = ""
    """The line's name in the legend; empty for the only line."""
    scale: Literal["left", "right"] = "left"
    """The axis that the line is measured on. "right" is for a line whose values differ in kind from its neighbours'."""


@dataclass(frozen=True)
class Metric:
    """One metric. A name that holds `<name>` stands for many metrics, such as `reward/<name>` for `reward/length`."""

    stage: StageName
    name: str
    label: str
    formula: str
    meaning: str
    healthy: tuple[float | None, float | None] | None = None
    """The range of a healthy run, either side None where open; None where there is no general rule."""
    advice: str = ""
    """The change to make outside that range."""
    unit: str = ""
    """The unit; empty for a number without one."""
    chart: Chart | None = None
    """None for a metric that is only in the dashboard's list of all metrics."""


def held_out(training: Sequence[Metric], name: str, meaning: str, **changes: Any) -> Metric:
    """The training metric `name` on held-out prompts, as `eval/<name>`. Its chart line follows that of training."""
    metric = next(metric for metric in training if metric.name == name)
    label = metric.label if metric.label.isupper() else f"{metric.label[0].lower()}{metric.label[1:]}"
    chart = metric.chart and replace(metric.chart, order=metric.chart.order + 1, line="held out")
    found = replace(metric, name=f"eval/{name}", label=f"Held-out {label}", formula=f"as {name}", chart=chart)
    return replace(found, **{"meaning": meaning, "healthy": None, "advice": "", **changes})


def held_out_rows(stage: StageName) -> Metric:
    """The number of rows behind the held-out figures of a stage that learns from rows."""
    meaning = f"Number of rows behind the held-out figures of this step. On the way these are at most `{stage}.eval_rows`, always the same ones. At the end of the stage all held-out rows are used."
    if stage == "reward_model":
        meaning += " All pairs of a ranking count as one."
    return Metric(stage, "eval/rows", "Held-out rows", "rows evaluated", meaning, unit="rows")


def loss_scale_metrics(stage: StageName, critic: bool = False) -> list[Metric]:
    """The metrics of dynamic loss scaling. `critic`: those of a critic that learns apart."""
    prefix, whose, order = ("critic_", "Critic ", 921) if critic else ("", "", 920)
    line = ("critic" if critic else "policy") if stage == "ppo" else ""
    return [
        Metric(
            stage,
            f"{prefix}loss_scale",
            f"{whose}loss scale".capitalize(),
            "s ÷ 2 after an overflow, 2·s after 2,000 steps without one",
            'The factor of the loss in the backward pass, with `model.dtype` = "float16". Gradients are divided by it.',
            advice="Falling step by step: gradients overflow at each scale. A gradient that is not finite at 1 ends the run. Set "
            '`model.dtype` = "bfloat16" or "float32".',
        ),
        Metric(
            stage,
            f"{prefix}overflows",
            f"{whose}overflows".capitalize(),
            "steps left out so far",
            "Optimizer steps that were left out because the gradient overflowed in float16. Each halves the loss scale.",
            advice='One in 2,000 steps is usual, and up to 16 when a stage begins. More: set `model.dtype` = "bfloat16" or "float32".',
            unit="steps",
            chart=Chart("Overflows", order, line),
        ),
    ]


def optimizer_metrics(stage: StageName, charts: bool = True) -> list[Metric]:
    """The metrics of every stage with an optimizer. With `charts`, learning rate and gradient norm are its last charts."""
    return [
        Metric(
            stage,
            "lr",
            "Learning rate",
            "schedule(step)",
            "Learning rate of this step.",
            chart=Chart("Learning rate", 900) if charts else None,
        ),
        Metric(
            stage,
            "grad_norm",
            "Gradient norm",
            "‖g‖₂ before clipping",
            "Global L2 norm of the gradient, before it is clipped.",
            advice="A norm far above `max_grad_norm` at every step means the learning rate is set by the clipping: lower it.",
            chart=Chart("Gradient norm", 910) if charts else None,
        ),
        *loss_scale_metrics(stage),
        Metric(stage, "time/step", "Seconds per step", "wall clock", "How long the step took.", unit="seconds"),
    ]
