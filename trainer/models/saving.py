"""A stage's result as a folder that anybody can load."""

import json
from copy import deepcopy
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification

from trainer.models.heads import Model
from trainer.models.roles import Role

ADAPTER = "adapter"
"""Folder beside merged weights with the adapter that was merged into them: with it the run goes on without rounding."""


def save_result(model: Model, folder: Path) -> None:
    """Save a plain transformers folder. Of a role the adapter is merged in, and kept beside it in `adapter/`; without
    `model.lora.merge`, and on a quantized backbone, where nothing can be merged, the folder is the adapter's."""
    if isinstance(model, Role) and model.backbone.spec.merge and not model.backbone.quantized:
        _save_merged(model, folder)
        model.save_pretrained(folder / ADAPTER)
    else:
        model.save_pretrained(folder)


def _save_merged(role: Role, folder: Path) -> None:
    """In float32: rounded to the backbone's type, most of what a small learning rate taught would be gone."""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / "merged.scratch"
    state, plain = role.backbone.merged(role.adapter_name, scratch), role.backbone.model
    if role.score is not None:
        plain = _empty_scorer(role)
        names = plain.state_dict().keys()
        state = {key: value for key, value in state.items() if key in names}
        state["score.weight"] = role.score.weight.detach().float()
    plain.save_pretrained(folder, state_dict={key: value.contiguous() for key, value in state.items()})
    scratch.unlink(missing_ok=True)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"dtype": "float32"}, indent=2))


def _empty_scorer(role: Role) -> Model:
    """The architecture's reward model, without memory: it lends its names and its configuration."""
    config = deepcopy(role.config)
    config.num_labels = 1
    with torch.device("meta"):
        return AutoModelForSequenceClassification.from_config(config)
