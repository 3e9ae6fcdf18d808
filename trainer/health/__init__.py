"""What a run watches in itself. Torch-free."""

from trainer.health.history import Point
from trainer.health.monitor import Action, Finding, Monitor, gravest

__all__ = ["Action", "Finding", "Monitor", "Point", "gravest"]
