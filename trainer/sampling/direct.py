"""Decode steps of common decoders without the overhead of transformers' forward pass, on a CPU in float32.

A decode step of a small model also builds masks, looks up attention functions and converts types that are right already.
The steps here call the model's own linear layers and rotary embedding, and compute the rest themselves. They serve decoders
built as Llama is: RMSNorm, rotary attention and a gated feed-forward part, with residual connections. A model is served if
its type is in `ARCHITECTURES` and a trial gives the logits of its own forward pass.

Shapes: B live rows, H hidden size, K key heads, G query heads per key head, D head size, W columns in use, V tokens.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trainer.distributed.sharding import is_sharded
from trainer.models import Model
from trainer.models.heads import underlying
from trainer.sampling.cache import InPlaceLayer
from trainer.sampling.decoding import Progress, Step, eager, read_prompts, takes_ready_masks
from trainer.sampling.engine import SamplingOptions
from trainer.text.stops import NO_STOPS

ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")
"""Model types that are tried. Others differ in ways that a trial with small weights may not show, such as a capped logit."""
_SAME = 1e-4
"""The relative difference that is allowed: rounding gives about 1e-6, another operation far more."""
_PROBE = ([5, 3], [3, 1, 4, 1, 5])
_NEXT = [9, 2]
_MISFIT = (TypeError, AttributeError, ValueError, RuntimeError, IndexError, KeyError)
"""Errors of a trial on an architecture that is built otherwise."""


def steps(model: Model, progress: Progress) -> Step:
    """Direct steps where the model allows them, else steps by its own forward pass."""
    return direct(model, progress) if _serves(model, progress) else eager(model, progress)


def direct(model: Model, progress: Progress) -> Step:
    """Steps over the columns in use. Requires a model that has passed the trial."""
    whole, cache = underlying(model), progress.cache
    decoder, window = whole.model, cache.window
    kept = (layer for layer in cache.layers if isinstance(layer, InPlaceLayer))  # the cache has no others
    layers = list(zip(decoder.layers, kept, strict=True))

    def step(tokens_B: Tensor) -> Tensor:
        live = window.live
        hidden_BH = decoder.embed_tokens(tokens_B)
        positions_B1 = (window.at - progress.starts_B[:live])[:, None]
        cos_B1D, sin_B1D = decoder.rotary_emb(hidden_BH[:, None], positions_B1)
        seen_BW = progress.mask_BW[:live, window.first : window.at + 1]
        mask_B1W = torch.zeros(seen_BW.shape).masked_fill_(~seen_BW, -torch.inf)[:, None]
        for layer, kept_layer in layers:
            normed_BH = _rms_norm(layer.input_layernorm, hidden_BH)
            hidden_BH = hidden_BH + _attend(layer.self_attn, normed_BH, kept_layer, (cos_B1D, sin_B1D), mask_B1W)
            normed_BH, mlp = _rms_norm(layer.post_attention_layernorm, hidden_BH), layer.mlp
            hidden_BH = hidden_BH + mlp.down_proj(mlp.act_fn(mlp.gate_proj(normed_BH)).mul_(mlp.up_proj(normed_BH)))
        logits_BV: Tensor = whole.lm_head(_rms_norm(decoder.norm, hidden_BH))
        return logits_BV

    return step


def _attend(
    attention: Any, normed_BH: Tensor, kept: InPlaceLayer, rotary: tuple[Tensor, Tensor], mask_B1W: Tensor
) -> Tensor:
    """The layer's attention of the newest token over the columns in use, which it joins."""
    live, window, size = len(normed_BH), kept.window, attention.head_dim
    query, key = (
        _rotated(states if norm is None else _rms_norm(norm, states), rotary)
        for states, norm in (
            (attention.q_proj(normed_BH).view(live, -1, size), getattr(attention, "q_norm", None)),
            (attention.k_proj(normed_BH).view(live, -1, size), getattr(attention, "k_norm", None)),
        )
    )
    kept.keys[:live, :, window.at] = key
    kept.values[:live, :, window.at] = attention.v_proj(normed_BH).view(live, -1, size)
    heads = kept.keys.shape[1]
    keys, values = (
        states[:live].flatten(0, 1)[:, window.first : window.at + 1] for states in (kept.keys, kept.values)
    )  # (B·K, W, D)
    query = query.view(live * heads, -1, size)  # (B·K, G, D)
    mask = mask_B1W.repeat_interleave(heads, dim=0)
    scores = torch.baddbmm(mask, query, keys.transpose(1, 2), alpha=attention.scaling)
    seen: Tensor = attention.o_proj(torch.bmm(torch.softmax(scores, -1), values).view(live, -1))
    return seen


def _rotated(states_BKD: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary position embedding (Su et al. 2021), in the layout of Llama: pairs are (i, i + D/2)."""
    cos_B1D, sin_B1D = rotary
    first, second = states_BKD.chunk(2, dim=-1)
    return torch.addcmul(states_BKD * cos_B1D, torch.cat((-second, first), dim=-1), sin_B1D)


def _rms_norm(norm: nn.Module, states: Tensor) -> Tensor:
    weight: Any = norm.weight
    return F.rms_norm(states, weight.shape, weight, norm.variance_epsilon)  # type: ignore[arg-type]


def _serves(model: Model, progress: Progress) -> bool:
    """Whether direct steps compute what the model does. The trial is made once per model."""
    if progress.draws_BR.device.type != "cpu" or torch.is_autocast_enabled("cpu") or underlying(model) is not model:
        return False
    if (
        model.config.model_type not in ARCHITECTURES
        or not takes_ready_masks(model, progress.cache)
        or is_sharded(model)
    ):
        return False
    found: bool | None = getattr(model, "_decodes_directly", None)
    if found is None:
        found = model._decodes_directly = _agrees(model)
    return found


def _agrees(model: Model) -> bool:
    """Whether two steps after prompts of different lengths give the logits of the model's own forward pass."""
    try:
        own_BV, direct_BV = (_trial(model, way) for way in (eager, direct))
    except _MISFIT:
        return False
    return bool((own_BV - direct_BV).norm() <= _SAME * own_BV.norm())


@torch.no_grad()
def _trial(model: Model, way: Callable[[Model, Progress], Step]) -> Tensor:
    """(2·B, V) logits of two steps."""
    vocabulary = model.config.get_text_config().vocab_size
    prompts = [[token % vocabulary for token in ids] for ids in _PROBE]
    progress = Progress.begin(
        model, prompts, torch.zeros(len(prompts), 3), SamplingOptions(NO_STOPS, 0, 1.0, torch.device("cpu"))
    )
    read_prompts(model, progress, prompts, pad_id=0)
    step, found = way(model, progress), []
    for _ in range(2):
        progress.cache.window.at += 1
        found.append(step(torch.tensor([token % vocabulary for token in _NEXT])))
    return torch.cat(found)
