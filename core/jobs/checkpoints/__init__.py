"""The checkpoints of jobs: recorded, pruned, checked for damage."""
