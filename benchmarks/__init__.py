"""How fast a run is, against a peer and against the machine. Each file with a `main` is a command: `python benchmarks/ppo.py`."""
