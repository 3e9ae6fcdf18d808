"""Runs the peer's script, unchanged, on a GPU: `python on_gpu.py SCRIPT ARG ...` in the peer's virtual environment.

The script asks TRL for the CPU; this wrapper overrides that one argument.
"""

import inspect
import runpy
import sys
from typing import Any


def main() -> None:
    from trl.experimental import ppo  # type: ignore[import-not-found]  # the peer's environment has it, ours need not

    config = ppo.PPOConfig

    def on_gpu(*args: Any, **options: Any) -> Any:
        return config(*args, **{**options, "use_cpu": False})

    on_gpu.__signature__ = inspect.signature(config)  # type: ignore[attr-defined]  # the script asks which fields there are
    ppo.PPOConfig = on_gpu
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
