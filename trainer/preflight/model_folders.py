"""Where models lie on this machine. Nothing is downloaded: a preflight may not take an hour, nor a network."""

import json
from pathlib import Path
from typing import Any

from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError, safe_open
from transformers import AutoConfig

from trainer.errors import ModelError
from trainer.models import adapters
from trainer.models.vetting import vet
from trainer.spec.local_paths import is_hub_id


def local(path: str) -> Path | None:
    """The folder of a model: itself, or its newest snapshot in the hub's cache; None for one that is not here.

    Raises ModelError for a path that can be no hub id.
    """
    if Path(path).is_dir():
        return Path(path)
    if not is_hub_id(path):
        raise ModelError(f"There is no folder {path} on this machine.")
    cached = try_to_load_from_cache(path, "config.json")
    return Path(cached).parent if isinstance(cached, str) else None


def config_of(folder: Path) -> Any:
    """The model's transformers configuration; of an adapter, its base's. Raises ModelError."""
    if adapters.is_adapter(folder):
        base = local(adapters.base_of(folder))
        if base is None:
            raise ModelError(f"{folder} is an adapter on {adapters.base_of(folder)}, which is not on this machine.")
        return config_of(base)
    vet(folder)
    try:
        return AutoConfig.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{folder} has no usable config.json: {str(error).splitlines()[0]}") from error


def has_weights(folder: Path) -> bool:
    """Whether there are any: a configuration and a tokenizer are enough to work out how much memory a run takes."""
    return any(folder.glob("*.safetensors"))


def weights_of(folder: Path) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights in a folder, read off the files' heads. Raises ModelError where there are none."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelError(f"{folder} holds no weights as safetensors.")
    found: dict[str, tuple[int, ...]] = {}
    for file in files:
        try:
            with safe_open(file, "pt") as content:
                found |= {name: tuple(content.get_slice(name).get_shape()) for name in content.keys()}  # noqa: SIM118 no dict
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{file} cannot be read: {error}") from error
    missing = _index(folder) - {file.name for file in files}
    if missing:
        raise ModelError(f"{folder} lacks the files {', '.join(sorted(missing))} that its index names.")
    return found


def _index(folder: Path) -> set[str]:
    index = folder / "model.safetensors.index.json"
    return set(json.loads(index.read_text())["weight_map"].values()) if index.exists() else set()
