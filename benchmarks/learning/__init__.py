"""Whether PPO learns as much as TRL's from equal samples: `python -m benchmarks.learning`."""
