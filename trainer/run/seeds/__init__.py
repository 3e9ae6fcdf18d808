"""One job, several seeds: each a whole run in a folder of its own, and what they say together."""

from trainer.run.seeds.several import run_each

__all__ = ["run_each"]
