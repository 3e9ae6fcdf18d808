"""One command that proves the GPU path: `python -m benchmarks.gpu_suite --json FILE`. docs/how-to/prove-the-gpu-path.md says how to run it.

Each part runs in a process of its own; a part that fails is recorded and does not end the others.
"""
