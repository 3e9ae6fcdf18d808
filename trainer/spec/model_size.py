"""The size of a new model by arithmetic from its `model.config`, without building it.

The parameters are those of the matrices: embeddings, attention, feed-forward parts, experts and output layer. Biases, norms
and routers are left out, which is less than 1 % of a model with a width of 512. Defaults are those of transformers 5.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trainer.spec.section import LARGEST_NUMBER

MOST_LAYERS = 10_000
MOST_PARAMETERS = 10**13
_ALIASES = {
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "key_heads": ("num_key_value_heads", "num_kv_heads"),
    "head": ("head_dim",),
    "feed": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "positions": ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"),
    "experts": ("num_experts", "num_local_experts"),
    "expert_feed": ("moe_intermediate_size",),
    "shared_feed": ("shared_expert_intermediate_size",),
    "expansion": ("expansion_ratio",),
    "projection": ("word_embed_proj_dim",),
}
_COUNTS = (
    *(name for names in _ALIASES.values() for name in names if name not in ("num_experts", "num_local_experts")),
    *("decoder_sparse_step", "no_rope_layer_interval", "sliding_window_pattern", "num_experts_per_tok"),
)
"""Keys whose value is at least 1. Most of them divide a size."""


@dataclass(frozen=True)
class _Defaults:
    """The sizes that an architecture has where its configuration gives none, and its form."""

    hidden: int
    layers: int
    heads: int
    key_heads: int | None = None
    """None: as many as heads."""
    head: int | None = None
    """None: hidden / heads."""
    feed: int | None = None
    """None: four times the hidden size."""
    positions: int = 2048
    tied: bool = False
    """Whether the output layer shares the embeddings."""
    gated: bool = True
    """Whether the feed-forward part has three matrices rather than two."""
    more: dict[str, int] = field(default_factory=dict)
    learned_positions: bool = False
    square_mask: bool = False
    """Whether each layer holds a mask of positions²."""


_DEFAULTS = {
    "arcee": _Defaults(2560, 32, 32, feed=18432, positions=4096, gated=False),
    "bloom": _Defaults(64, 2, 8, tied=True, gated=False),
    "codegen": _Defaults(4096, 28, 16, gated=False),
    "cohere": _Defaults(8192, 40, 64, feed=22528, positions=8192, tied=True),
    "cohere2": _Defaults(8192, 40, 64, feed=22528, positions=8192, tied=True),
    "diffllama": _Defaults(2048, 16, 32, feed=8192),
    "exaone4": _Defaults(4096, 32, 32, 32, feed=16384),
    "falcon": _Defaults(4544, 32, 71, tied=True, gated=False),
    "gemma": _Defaults(3072, 28, 16, 16, 256, 24576, 8192, tied=True),
    "gemma2": _Defaults(2304, 26, 8, 4, 256, 9216, 8192, tied=True),
    "gemma3_text": _Defaults(2304, 26, 8, 4, 256, 9216, 131072, tied=True),
    "glm": _Defaults(4096, 40, 32, 2, 128, 13696, 131072),
    "glm4": _Defaults(4096, 40, 32, 2, 128, 13696, 131072),
    "gpt2": _Defaults(768, 12, 12, positions=1024, tied=True, gated=False, learned_positions=True),
    "gpt_bigcode": _Defaults(768, 12, 12, positions=1024, tied=True, gated=False, learned_positions=True),
    "gpt_neo": _Defaults(2048, 24, 16, tied=True, gated=False, learned_positions=True, square_mask=True),
    "gpt_neox": _Defaults(6144, 44, 64, feed=24576, gated=False),
    "gptj": _Defaults(4096, 28, 16, gated=False),
    "granite": _Defaults(4096, 32, 32, feed=11008),
    "helium": _Defaults(2560, 24, 20, 20, 128, 7040, 4096),
    "llama": _Defaults(4096, 32, 32, feed=11008),
    "ministral": _Defaults(4096, 32, 32, 8, feed=14336, positions=131072),
    "mistral": _Defaults(4096, 32, 32, 8, feed=14336, positions=131072),
    "mixtral": _Defaults(4096, 32, 32, 8, feed=14336, positions=131072, more={"experts": 8}),
    "mpt": _Defaults(2048, 24, 16, tied=True, gated=False, more={"expansion": 4}),
    "nemotron": _Defaults(6144, 32, 48, feed=24576, positions=4096, gated=False),
    "olmo": _Defaults(4096, 32, 32, feed=11008),
    "olmo2": _Defaults(4096, 32, 32, feed=11008),
    "olmo3": _Defaults(4096, 32, 32, feed=11008),
    "opt": _Defaults(768, 12, 12, feed=3072, tied=True, gated=False, learned_positions=True),
    "persimmon": _Defaults(4096, 36, 64, feed=16384, positions=16384, gated=False),
    "phi": _Defaults(2048, 24, 32, feed=8192, gated=False),
    "phi3": _Defaults(3072, 32, 32, feed=8192, positions=4096),
    "qwen2": _Defaults(4096, 32, 32, 32, feed=22016, positions=32768),
    "qwen2_moe": _Defaults(
        2048, 24, 16, 16, feed=5632, positions=32768, more={"experts": 60, "expert_feed": 1408, "shared_feed": 5632}
    ),
    "qwen3": _Defaults(4096, 32, 32, 32, 128, 22016, 32768),
    "qwen3_moe": _Defaults(2048, 24, 32, 4, feed=6144, positions=32768, more={"experts": 128, "expert_feed": 768}),
    "seed_oss": _Defaults(4096, 64, 80, 8, 128, 27648, 524288),
    "smollm3": _Defaults(2048, 36, 16, 4, feed=11008, positions=32768, tied=True),
    "stablelm": _Defaults(2560, 32, 32, 32, feed=6912, positions=4096),
    "starcoder2": _Defaults(3072, 30, 24, 2, feed=12288, positions=4096, tied=True, gated=False),
}


@dataclass(frozen=True)
class ModelSize:
    """The figures of a model that a platform limits."""

    parameters: int
    layers: int
    hidden: int
    attention: int
    """Width of the queries of all heads together."""
    feed: int
    """Width of the feed-forward part, or of one expert, whichever is larger."""
    heads: int
    positions: int
    experts: int


def size_of(config: dict[str, Any], vocabulary: int) -> ModelSize:
    """The size of the model that transformers makes from a `model.config` with a known `model_type`.

    `vocabulary`: the rows of the embeddings. A number that cannot be a size counts as left out.
    """
    form = _DEFAULTS[config["model_type"]]
    given = {name: _given(config, names) for name, names in _ALIASES.items()}
    numbers = {name: given[name] or form.more.get(name, 0) for name in given}
    hidden, layers = given["hidden"] or form.hidden, given["layers"] or form.layers
    heads = given["heads"] or form.heads
    head = given["head"] or form.head or hidden // heads
    keys = _key_heads(config, given["key_heads"], form, heads) * head
    feed = given["feed"] or (numbers["expansion"] * hidden if numbers["expansion"] else form.feed or 4 * hidden)
    positions = given["positions"] or form.positions
    matrices = 3 if form.gated else 2
    sparse, experts = _sparse_layers(config, layers), numbers["experts"]
    experts_feed = experts * (numbers["expert_feed"] or feed) + numbers["shared_feed"] if experts else feed
    embedding = numbers["projection"] or hidden
    parameters = layers * hidden * 2 * (heads * head + keys)
    parameters += hidden * matrices * (sparse * experts_feed + (layers - sparse) * feed)
    tied = config.get("tie_word_embeddings", form.tied) is not False
    parameters += vocabulary * embedding * (1 if tied else 2)
    parameters += 2 * hidden * embedding if embedding != hidden else 0
    parameters += positions * hidden if form.learned_positions else 0
    parameters += layers * positions**2 // 4 if form.square_mask else 0  # a byte each, against four of a parameter
    widest = max(feed, numbers["expert_feed"], numbers["shared_feed"])
    return ModelSize(parameters, layers, max(hidden, embedding), heads * head, widest, heads, positions, experts)


def key_of(config: dict[str, Any], figure: str) -> str:
    """The key of the configuration that gives a figure, such as `n_layer` for `layers`."""
    names = _ALIASES[figure]
    return next((name for name in names if config.get(name) is not None), names[0])


def absurd(config: dict[str, Any]) -> Iterator[str]:
    """Yield the numbers that no model on any machine has, so that nothing is computed with them."""
    small = [name for name in _COUNTS if isinstance(config.get(name), int | float) and config[name] < 1]
    for name in small:
        yield f"`{name}` must be at least 1"
    large = [name for name, value in config.items() if any(abs(n) > LARGEST_NUMBER for n in _integers(value))]
    for name in large:
        yield f"`{name}` is too large: the largest number is {LARGEST_NUMBER:,}"
    if small or large:
        return
    repeated = sum(_integers(config.get("attention_types", [])))
    size = size_of(config, 0)
    if max(size.layers, repeated) > MOST_LAYERS:
        yield f"a model has at most {MOST_LAYERS:,} layers, not {max(size.layers, repeated):,}"
    elif size.parameters > MOST_PARAMETERS:
        yield f"a model has at most {MOST_PARAMETERS:,} parameters, not {size.parameters:,}"


def _given(config: dict[str, Any], names: tuple[str, ...]) -> int:
    """The largest size that the configuration gives under one of the names; 0 without one."""
    values = [config.get(name) for name in names]
    return max((int(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool) and v >= 1), default=0)


def _key_heads(config: dict[str, Any], given: int, form: _Defaults, heads: int) -> int:
    kind = config["model_type"]
    if kind == "falcon" and not config.get("new_decoder_architecture", False):
        return 1 if config.get("multi_query", True) else heads
    if kind == "gpt_bigcode":
        return 1 if config.get("multi_query", True) else heads
    return given or form.key_heads or heads


def _sparse_layers(config: dict[str, Any], layers: int) -> int:
    """The number of layers with experts, in an architecture that has experts."""
    dense = config.get("mlp_only_layers")
    step = config.get("decoder_sparse_step")
    step = step if isinstance(step, int) and step >= 1 else 1
    listed = {n for n in dense if isinstance(n, int) and 0 <= n < layers} if isinstance(dense, list) else set()
    return layers // step - sum((n + 1) % step == 0 for n in listed)


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _integers(item)
    elif isinstance(value, dict):
        yield from _integers(list(value.values()))
