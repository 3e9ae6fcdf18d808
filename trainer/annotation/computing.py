"""Models for looking only: on the device, with all that their architecture needs."""

import sys
from pathlib import Path

import torch

from trainer import threads
from trainer.annotation.requests import CompletionRequest, JudgeRequest
from trainer.models import Maker, Model, maker_for
from trainer.spec import ModelSpec

Request = CompletionRequest | JudgeRequest


def maker(request: Request, path: str) -> Maker:
    """For a frozen model."""
    wanted = request.device != "cpu" and torch.cuda.is_available()
    device = torch.device("cuda" if wanted else "cpu")
    return maker_for(ModelSpec(path=path, dtype=request.dtype), device, lambda part: 0)


def place_of(base: Path, value: str) -> str:
    """A folder beside the request, or else what it is: a path of its own, or a hub id."""
    return str(base / value) if (base / value).is_dir() else value


def context_of(model: Model) -> int:
    """How many tokens it can read."""
    return getattr(model.config.get_text_config(), "max_position_embeddings", None) or sys.maxsize


def spare_threads(model: Model) -> None:
    """For a small model a second thread only costs."""
    torch.set_num_threads(1 if model.num_parameters() < threads.SMALL else threads.available_cores())
