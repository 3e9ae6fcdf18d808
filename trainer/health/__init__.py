"""Health rules over the metrics of a run. Torch-free."""

from trainer.health.history import Point
from trainer.health.monitor import Action, HealthFinding, Monitor, gravest

__all__ = ["Action", "HealthFinding", "Monitor", "Point", "gravest"]
