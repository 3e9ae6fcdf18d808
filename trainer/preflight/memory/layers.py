"""The kinds of layers of an architecture, and the same architecture with fewer layers.

Layers of one kind have equal weights and take equal memory. The estimate therefore builds a few layers of each kind and
multiplies. Kinds differ by lists with one item per layer, such as `layer_types`, by the layers that have experts, and by
the first layers of a critic that are frozen.
"""

import copy
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from trainer.spec.architectures import ARCHITECTURES

_INDEX = re.compile(r"(?:^|\.)(\d+)\.")


def has_known_kinds(config: Any) -> bool:
    """Whether `layer_kinds` covers all differences between layers, as for each type that `model.config` may name."""
    return config.get_text_config().model_type in ARCHITECTURES


def layer_kinds(config: Any, frozen: int = 0) -> tuple[Hashable, ...]:
    """The kind of each layer, in their order. `frozen`: the number of first layers that do not learn."""
    text = config.get_text_config()
    lists = [getattr(text, name) for name in _per_layer(text)]
    return tuple(
        (_has_experts(text, layer), *(repr(values[layer]) for values in lists), *(["frozen"] if layer < frozen else []))
        for layer in range(int(text.num_hidden_layers))
    )


def one_of_each(config: Any, frozen: int = 0) -> list[int]:
    """The first layer of each kind."""
    kinds = layer_kinds(config, frozen)
    return [kinds.index(kind) for kind in dict.fromkeys(kinds)]


def with_layers(config: Any, layers: Sequence[int]) -> Any:
    """A copy of the configuration with these layers, by their index in it. A layer may come more than once."""
    config = copy.deepcopy(config)
    text = config.get_text_config()
    lists = {name: [getattr(text, name)[layer] for layer in layers] for name in _per_layer(text)}
    if hasattr(text, "decoder_sparse_step"):
        dense = [index for index, layer in enumerate(layers) if not _has_experts(text, layer)]
        text.decoder_sparse_step, text.mlp_only_layers = 1, dense
    text.num_hidden_layers = len(layers)
    for name, values in lists.items():
        setattr(text, name, values)
    return config


def fewer_layers(config: Any, frozen: int = 0) -> list[int] | None:
    """One layer of each kind, by their index; None if the model has no more layers, or unknown kinds."""
    chosen = one_of_each(config, frozen)
    few = has_known_kinds(config) and len(chosen) < int(config.get_text_config().num_hidden_layers)
    return chosen if few else None


def shortened(config: Any) -> Any:
    """The configuration with one layer of each kind, or itself if it has no more layers or unknown kinds."""
    chosen = fewer_layers(config)
    return config if chosen is None else with_layers(config, chosen)


def layer_counts(config: Any, frozen: int = 0) -> list[int]:
    """For each layer of the shortened configuration, the number of layers that it stands for."""
    kinds = layer_kinds(config, frozen)
    return [1] * len(kinds) if fewer_layers(config, frozen) is None else list(Counter(kinds).values())


def layer_of(name: str) -> int | None:
    """The index of the layer that a weight or module belongs to, by its name; None outside of the layers."""
    match = _INDEX.search(f"{name}.")
    return int(match[1]) if match else None


def _per_layer(text: Any) -> list[str]:
    """Names of the lists with one item per layer."""
    layers = int(text.num_hidden_layers)
    return [
        name
        for name, value in vars(text).items()
        if isinstance(value, list | tuple) and len(value) == layers and _is_per_layer(name)
    ]


def _is_per_layer(name: str) -> bool:
    return not name.startswith("_") and "token" not in name and name not in ("mlp_only_layers", "architectures")


def _has_experts(text: Any, layer: int) -> bool:
    """Whether the layer has experts, where an architecture has experts in some layers only (qwen2_moe, qwen3_moe)."""
    step = getattr(text, "decoder_sparse_step", None)
    if step is None:
        return False
    return layer not in (text.mlp_only_layers or ()) and (layer + 1) % step == 0
