"""The Python packages of the trackers, which are installed on demand."""

import importlib.util

_MODULES = {"tensorboard": "tensorboard", "wandb": "wandb", "mlflow": "mlflow", "trackio": "trackio"}


def missing_package(tracker: str) -> str | None:
    """How to install the tracker's package, as a sentence; None if it is installed. Imports nothing."""
    if importlib.util.find_spec(_MODULES[tracker]) is not None:
        return None
    return f"Install it beside the trainer: pip install 'proximal[{tracker}]'."
