"""One command that measures the platform: `python -m benchmarks.platform_suite --json FILE`.

Each measurement is a function that gets its `Place` and returns figures by name. It starts what it needs with
`local_platform`, and runs in a process of its own. To add one, write the function in a module of its own and add a `Part`
to `PARTS` in `__main__.py`.
"""
