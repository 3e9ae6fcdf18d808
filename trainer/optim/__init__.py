"""AdamW in the memory that there is: fused, with moments in 8 bits, in host memory, or with fp32 masters of bfloat16 weights."""

from trainer.optim.adamw import Optimizer, optimizer_for
from trainer.optim.learner import clip_gradients

__all__ = ["Optimizer", "clip_gradients", "optimizer_for"]
