"""The stops that a model's own files name, and those of a run written back to the models that it saves."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer.errors import ModelError
from trainer.models import adapters
from trainer.models.folders import located
from trainer.models.heads import Model
from trainer.text.codec import Tokenizer
from trainer.text.stops import Stops

_FILE = "generation_config.json"


def load_stops(tokenizer: Tokenizer, path: str | Path | None, strings: Sequence[str] = ()) -> Stops:
    """The tokenizer's EOS, the spec's `strings`, and the stops in the files of the model at `path`, where there is one.

    These are `eos_token_id` and `stop_strings` of generation_config.json; without that file, `eos_token_id` of config.json.
    Raises ModelError for a file that cannot be read.
    """
    if path is None:
        return Stops.of(tokenizer, (), strings)
    settings = _settings(path)
    ids = _listed(path, "eos_token_id", settings.get("eos_token_id"), int)
    texts = _listed(path, "stop_strings", settings.get("stop_strings"), str)
    # transformers writes a negative id for none
    return Stops.of(tokenizer, [number for number in ids if number >= 0], (*strings, *filter(None, texts)))


def set_stops(model: Model, stops: Stops) -> Model:
    """Let the folders to which the model is saved name these stops, for transformers and for later runs."""
    generation = getattr(model, "generation_config", None)
    if generation is not None and stops.ids:
        generation.eos_token_id = stops.ids[0] if len(stops.ids) == 1 else list(stops.ids)
        generation.stop_strings = list(stops.strings) or None
    return model


def _settings(path: str | Path) -> dict[str, Any]:
    """An adapter without a file of its own has its base's."""
    folder = located(path)
    if (folder / _FILE).is_file():
        return _read(folder / _FILE)
    if adapters.is_adapter(folder):
        return _settings(adapters.base_of(folder))
    config = _read(folder / "config.json") if (folder / "config.json").is_file() else {}
    nested = config.get("text_config")
    return {
        "eos_token_id": config.get("eos_token_id", nested.get("eos_token_id") if isinstance(nested, dict) else None)
    }


def _read(file: Path) -> dict[str, Any]:
    """The object in a file that is known to hold JSON."""
    settings = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(settings, dict):
        raise ModelError(f"{file} must hold a JSON object.")
    return settings


def _listed(path: str | Path, name: str, value: object, kind: type) -> list[Any]:
    """One value or a list of them, or nothing, as a list."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(type(one) is kind for one in values):
        what = "an integer or a list of integers" if kind is int else "a text or a list of texts"
        raise ModelError(f"{path}: `{name}` of its generation settings must be {what}; found {value!r}.")
    return values
