"""AdamW (fused, with 8-bit moments, in host memory, or with fp32 masters), the learner and micro-batches."""

from trainer.optim.adamw import Optimizer, optimizer_for
from trainer.optim.learner import clip_gradients

__all__ = ["Optimizer", "clip_gradients", "optimizer_for"]
