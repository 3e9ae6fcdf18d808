"""One command that tests the GPU path: `python -m benchmarks.gpu_suite --json FILE`.

docs/how-to/prove-the-gpu-path.md describes how to run it. Each part runs in a process of its own. A part that fails is
recorded and does not end the others.
"""
