"""Adapter folders: peft's own format (adapter_config.json, adapter_model.safetensors), and `role.json` beside it.

`role.json` holds the bias and scale of a scalar head, for which peft's files have no fields. It also holds the base as a
path relative to the folder, so that a run folder can be moved.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from trainer import allowed_paths
from trainer.errors import ModelError
from trainer.models.members import Level
from trainer.models.value_units import BIAS

if TYPE_CHECKING:
    from peft import LoraConfig

_CONFIG, _WEIGHTS, _ROLE = "adapter_config.json", "adapter_model.safetensors", "role.json"
_PREFIX = "base_model.model."


@dataclass(frozen=True)
class Adapter:
    """The contents of an adapter folder. `weights` includes `score.weight` where there is a scalar head.

    It includes `score.bias` where that of a critic learns in units of its returns (trainer/models/value_units.py).
    """

    weights: dict[str, Tensor]
    score_bias: float = 0.0
    score_scale: float = 1.0
    levels: tuple[Level, ...] = ()
    """Those of the members of an ensemble (trainer/models/members.py); empty for a scalar head."""
    step_delimiter: str | None = None
    """That of a reward model which scores the steps of a response (trainer/models/step_scores.py)."""


def is_adapter(path: str | Path) -> bool:
    return (Path(path) / _CONFIG).is_file()


def base_of(folder: str | Path) -> str:
    """The base model of the adapter: a folder, or a hub id.

    Raises ModelError where the files name none, and SpecError for a folder that this process may not read.
    """
    folder = Path(folder)
    relative = _role(folder).get("base")
    if isinstance(relative, str):
        beside = os.path.normpath(folder / relative)
        if allowed_paths.permits(beside) and Path(beside).is_dir():
            return str(Path(beside).resolve())
    named = json.loads((folder / _CONFIG).read_text(encoding="utf-8")).get("base_model_name_or_path")
    if not named:
        raise ModelError(f"{folder} is an adapter, but its {_CONFIG} names no base model.")
    if Path(named).is_absolute() and not allowed_paths.permitted_folder(named).is_dir():
        raise ModelError(f"{folder} is an adapter for {named}, and there is no such folder on this machine.")
    return str(named)


def write(folder: Path, adapter: Adapter, config: "LoraConfig", base: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    scores = "score.weight" in adapter.weights
    config.task_type, config.modules_to_save = ("SEQ_CLS", ["score"]) if scores else ("CAUSAL_LM", None)
    config.base_model_name_or_path = str(Path(base).resolve()) if Path(base).is_dir() else base
    config.inference_mode = True
    config.save_pretrained(str(folder))
    weights = {f"{_PREFIX}{_on_disk(name)}": value.detach().contiguous() for name, value in adapter.weights.items()}
    save_file(weights, folder / _WEIGHTS, metadata={"format": "pt"})
    role: dict[str, object] = {"score_bias": adapter.score_bias, "score_scale": adapter.score_scale} if scores else {}
    if adapter.levels:
        role["reward_members"] = [list(level) for level in adapter.levels]
    if adapter.step_delimiter is not None:
        role["step_delimiter"] = adapter.step_delimiter
    if Path(base).is_dir():
        role["base"] = os.path.relpath(Path(base).resolve(), folder.resolve())
    (folder / _ROLE).write_text(json.dumps(role, indent=2))


def read(folder: Path) -> Adapter:
    """Read an adapter folder. Raises ModelError where there are no safetensors."""
    require_safetensors(folder)
    weights = {_in_memory(key): value for key, value in load_file(folder / _WEIGHTS).items()}
    role = _role(folder)
    levels = tuple((float(bias), float(scale)) for bias, scale in role.get("reward_members", ()))
    bias, scale = float(role.get("score_bias", 0.0)), float(role.get("score_scale", 1.0))
    return Adapter(weights, bias, scale, levels, role.get("step_delimiter"))


def step_delimiter_of(folder: Path) -> str | None:
    """The step delimiter of the reward model in an adapter folder; None where it scores whole responses."""
    return _role(folder).get("step_delimiter")


def outputs_of(folder: Path) -> int | None:
    """The number of outputs of the head in an adapter folder; None without a head."""
    head = read(folder).weights.get("score.weight")
    return None if head is None else len(head)


def has_bias(folder: Path) -> bool:
    """Whether the head in an adapter folder has a bias."""
    return BIAS in read(folder).weights


def require_safetensors(folder: Path) -> None:
    """Raise ModelError where they are missing, because peft would read a pickle file instead."""
    if not (folder / _WEIGHTS).is_file():
        raise ModelError(f"{folder} holds no {_WEIGHTS}: an adapter's weights must be safetensors.")


def _role(folder: Path) -> Mapping[str, Any]:
    path = folder / _ROLE
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return config


def _on_disk(name: str) -> str:
    return name if name.endswith(".weight") or name == BIAS else f"{name}.weight"


def _in_memory(key: str) -> str:
    name = key.removeprefix(_PREFIX)
    return name if name in ("score.weight", BIAS) else name.removesuffix(".weight")
