"""Packing: attention over sequences laid end to end in one row, each attending only to itself, without padding.

The modules are transformers' own, unmodified. Each layer looks up its attention function by name. Our function computes
a call with a `layout` sequence by sequence, and any other call as PyTorch's scaled dot product attention does. An
architecture is packed only after a trial has shown that the results agree.

Shapes: B sequences, N tokens of all of them, T tokens of the longest, A query heads, K key-value heads, D head size, H
hidden size.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from inspect import signature
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.modeling_utils import AttentionInterface

from trainer.errors import ModelError
from trainer.models.heads import Model, trunk, underlying
from trainer.models.rounding import slack

Packing = bool | Literal["auto"]
NAME = "proximal_sdpa"
_ODD = ("softcap", "s_aux", "position_bias", "cache")
"""Options of some layers that the packed attention does not support."""
_PROBE = ([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9], [2, 7, 1, 8, 2, 8, 1], [1, 4, 1, 4, 2, 1])
_NEIGHBOUR = [6, 6, 2, 6, 0, 7, 0]


@dataclass(frozen=True)
class Layout:
    """The lengths of the sequences in a row, in their order."""

    lengths: tuple[int, ...]
    device: torch.device

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each sequence in the row, and N at the end."""
        found = [0]
        for length in self.lengths:
            found.append(found[-1] + length)
        return found

    @cached_property
    def position_ids_1N(self) -> Tensor:
        return self._everywhere(torch.cat([torch.arange(length) for length in self.lengths]))[None]

    @cached_property
    def no_mask(self) -> Tensor:
        """A placeholder mask. transformers passes one with four dimensions to the layers unread, and builds no N × N mask."""
        return torch.zeros(1, 1, 1, 1, device=self.device)

    @cached_property
    def borders(self) -> Tensor:
        """`starts` as an int32 tensor, for kernels with variable lengths."""
        return self._everywhere(torch.tensor(self.starts, dtype=torch.int32))

    @cached_property
    def padded_BT(self) -> Tensor:
        """Index in the row of each position of a right-padded batch. Pads repeat the last token of their sequence."""
        steps_T = torch.arange(max(self.lengths))
        rows = [start + steps_T.clamp(max=n - 1) for start, n in zip(self.starts, self.lengths, strict=False)]
        return self._everywhere(torch.stack(rows))

    @cached_property
    def unpadded_N(self) -> Tensor:
        """Index of each token of the row in such a batch, flattened."""
        width = max(self.lengths)
        return self._everywhere(torch.cat([torch.arange(n) + row * width for row, n in enumerate(self.lengths)]))

    def _everywhere(self, values: Tensor) -> Tensor:
        return values.to(self.device, non_blocking=True)


def attention_forward(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    layout: Layout | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """The function that layers call: query (B, A, T, D), key and value (B, K, T, D); the result is (B, T, A, D).

    With a `layout`, B is 1 and T is N. Raises ValueError for an option that packing does not support.
    """
    if layout is None:
        seen: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return seen
    if odd := [name for name in _ODD if options.get(name) is not None]:
        raise ValueError(f"packed attention does not support {odd[0]}")
    if not getattr(module, "is_causal", True):
        raise ValueError("packed attention is always causal")
    attend = _one_by_one if query.device.type == "cpu" else _varlen if _varlen_can(value) else _side_by_side
    return attend(query, key, value, layout, options.get("scaling")), None


def _one_by_one(query: Tensor, key: Tensor, value: Tensor, layout: Layout, scale: float | None) -> Tensor:
    """On a CPU: one sequence after the other, as views of the row, without copies or pads."""
    key, value = _for_each_query(key, query), _for_each_query(value, query)
    parts = zip(*(states.split(layout.lengths, dim=2) for states in (query, key, value)), strict=True)
    seen = [F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale).transpose(1, 2) for q, k, v in parts]
    return torch.cat(seen, dim=1)


def _side_by_side(query: Tensor, key: Tensor, value: Tensor, layout: Layout, scale: float | None) -> Tensor:
    """On a GPU without the variable-length kernel: padded for the attention only."""

    def padded(states: Tensor) -> Tensor:
        rows: Tensor = states[0].transpose(0, 1).index_select(0, layout.padded_BT.flatten())
        return rows.view(*layout.padded_BT.shape, *rows.shape[1:]).transpose(1, 2)

    key, value = _for_each_query(key, query), _for_each_query(value, query)
    seen = F.scaled_dot_product_attention(padded(query), padded(key), padded(value), is_causal=True, scale=scale)
    return seen.transpose(1, 2).flatten(0, 1).index_select(0, layout.unpadded_N)[None]


def _varlen(query: Tensor, key: Tensor, value: Tensor, layout: Layout, scale: float | None) -> Tensor:
    """PyTorch's flash attention with variable lengths (Dao 2023)."""
    from torch.nn.attention.varlen import varlen_attn

    # under autocast a norm may have left query and key in float32
    q, k, v = (states[0].transpose(0, 1).to(value.dtype).contiguous() for states in (query, key, value))
    longest, borders = max(layout.lengths), layout.borders
    options = {"scale": scale, "window_size": (-1, 0), "enable_gqa": query.shape[1] != key.shape[1]}
    kernel: Callable[..., Any] = varlen_attn
    seen: Tensor = kernel(q, k, v, borders, borders, longest, longest, **options)
    return seen[None]


def _varlen_can(value: Tensor) -> bool:
    return value.dtype == torch.bfloat16 and value.shape[-1] <= 256 and _varlen_is_here()


@cache
def _varlen_is_here() -> bool:
    """Whether this PyTorch and GPU have the kernel with the options used here."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return False
    known = signature(varlen_attn).parameters.keys()
    return {"scale", "window_size", "enable_gqa"} <= known and torch.cuda.get_device_capability() >= (8, 0)


def _for_each_query(states: Tensor, query: Tensor) -> Tensor:
    """Key-value heads, repeated for the query heads that share one (Ainslie et al. 2023)."""
    shared = query.shape[1] // states.shape[1]
    return states if shared == 1 else states.repeat_interleave(shared, dim=1)


def run_packed(model: Model, ids_1N: Tensor, layout: Layout) -> Tensor:
    """(N, H) last hidden states. Requires `packs(model)`."""
    positions, mask = layout.position_ids_1N, layout.no_mask
    out = trunk(model)(input_ids=ids_1N, position_ids=positions, attention_mask=mask, layout=layout, use_cache=False)
    hidden_NH: Tensor = out.last_hidden_state[0]
    return hidden_NH


def pack_as(model: Model, setting: Packing) -> Model:
    """Apply `runtime.packing` to the model and return it. Raises ModelError for True where the model cannot be packed."""
    module = underlying(model)
    module._packing = setting
    if setting is True and not packs(module):
        raise ModelError(
            f"{module.config.model_type}: packed sequences give other results than padded ones on this architecture. "
            'Set `runtime.packing` to "auto" or false.'
        )
    return model


def packing_of(model: Model) -> Packing:
    setting: Packing = getattr(underlying(model), "_packing", "auto")
    return setting


def packs(model: Model) -> bool:
    """Whether the model computes packed sequences as it does single ones. The trial is made once per model.

    After a successful trial the model's layers call `attention_forward`.
    """
    module = underlying(model)
    found: bool | None = getattr(module, "_packs", None)
    if found is None:
        before = getattr(module.config, "_attn_implementation", None)
        found = module._packs = _prepared(module) and _agrees(module)
        if not found and getattr(module.config, "_attn_implementation", None) != before:
            module.set_attn_implementation(before)
    return found


def reach(model: Model) -> int | None:
    """The shortest attention window of the model, in tokens; None: unlimited. Longer sequences are not packed."""
    config = underlying(model).config.get_text_config()
    limits = (getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size"))
    return min((int(limit) for limit in limits if limit is not None), default=None)


def _prepared(module: Model) -> bool:
    """Let the layers call our attention function, if they call PyTorch's now; else return False."""
    if getattr(module.config, "_attn_implementation", None) not in ("sdpa", NAME):
        return False
    if NAME not in AttentionInterface():
        AttentionInterface.register(NAME, attention_forward)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    module.set_attn_implementation(NAME)
    return True


@torch.no_grad()
def _agrees(module: Model) -> bool:
    """Whether a sequence has the same hidden states after different neighbours, and in a row of its own."""
    vocabulary, device = module.config.get_text_config().vocab_size, next(module.parameters()).device
    filling, first, second, other = ([token % vocabulary for token in ids] for ids in (*_PROBE, _NEIGHBOUR))
    if (limit := reach(module)) is not None and limit < len(filling):
        return False
    try:
        together, beside = (_last_of(module, [filling, one, second], device) for one in (first, other))
        ids = torch.tensor([second], device=device)
        alone = trunk(module)(input_ids=ids, use_cache=False).last_hidden_state[0]
    except (TypeError, AttributeError, ValueError, RuntimeError, IndexError, KeyError):
        return False
    same = torch.allclose(together, beside, rtol=1e-5, atol=1e-6)
    computed_in = getattr(module, "compute_dtype", torch.float32)
    if together.dtype == computed_in == torch.float32:
        return same and torch.allclose(together, alone, rtol=slack(computed_in), atol=slack(computed_in))
    # in a deep bfloat16 model another kernel changes each number; the norm of all differences is about a percent
    return same and bool((together - alone).float().norm() < slack(torch.bfloat16) / 2 * alone.float().norm())


def _last_of(module: Model, sequences: Sequence[list[int]], device: torch.device) -> Tensor:
    """Hidden states of the last of these sequences, packed in one row."""
    layout = Layout(tuple(map(len, sequences)), device)
    ids_1N = torch.tensor([token for ids in sequences for token in ids], device=device)[None]
    return run_packed(module, ids_1N, layout)[-layout.lengths[-1] :]
