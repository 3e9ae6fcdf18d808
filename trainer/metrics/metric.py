"""What a metric is."""

from dataclasses import dataclass

from trainer.spec import StageName


@dataclass(frozen=True)
class Metric:
    """One metric. `healthy` is (low, high), either side None where open; None where there is no general rule."""

    stage: StageName
    name: str
    label: str
    formula: str
    meaning: str
    healthy: tuple[float | None, float | None] | None = None
    advice: str = ""


def optimiser(stage: StageName) -> list[Metric]:
    return [
        Metric(stage, "lr", "Learning rate", "schedule(step)", "Learning rate of this step."),
        Metric(
            stage,
            "grad_norm",
            "Gradient norm",
            "‖g‖₂ before clipping",
            "Global L2 norm of the gradient, before it is clipped.",
            None,
            "A norm far above `max_grad_norm` at every step means the learning rate is set by the clipping: lower it.",
        ),
        Metric(stage, "time/step", "Seconds per step", "wall clock", "How long the step took."),
    ]
