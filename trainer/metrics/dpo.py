"""Direct preference optimisation."""

from trainer.metrics.base import Metric

DPO: list[Metric] = []
