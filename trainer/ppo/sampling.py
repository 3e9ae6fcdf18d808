"""Sampling responses with a KV cache.

Shapes: B prompts, P prompt positions, R response positions, V vocabulary.

Every draw comes from a uniform number fixed beforehand for (row, position), by inverting the cumulative distribution:
what a row gets does not depend on which other rows are still in the batch. Only temperature shapes the distribution, so
the sampled policy is exactly the one whose log-probabilities are trained (no top-k, no top-p, no repetition penalty).
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import DynamicCache

from trainer.logprobs import selected_logprobs
from trainer.models import Model, autocast


@dataclass(frozen=True)
class Response:
    """Sampled token ids, and whether they end with an EOS (else the length limit cut them)."""

    ids: list[int]
    finished: bool
    logprobs: list[float] | None = None
    """Of each token as the sampler drew it, by its own forward pass, where they were asked for."""


def sample(
    model: Model,
    prompts: list[list[int]],
    *,
    eos_id: int,
    pad_id: int,
    max_new_tokens: int,
    temperature: float,
    generator: torch.Generator,
    device: torch.device,
) -> list[Response]:
    """One response per prompt, until an EOS or `max_new_tokens`."""
    draws_BR = uniforms(generator, len(prompts), max_new_tokens)
    return sample_with(model, prompts, draws_BR, eos_id=eos_id, pad_id=pad_id, temperature=temperature, device=device)


def uniforms(generator: torch.Generator, rows: int, max_new_tokens: int) -> Tensor:
    """(rows, max_new_tokens) uniform numbers in [0, 1), one behind every token that may be drawn."""
    return torch.rand(rows, max_new_tokens, generator=generator)


@torch.no_grad()
def sample_with(
    model: Model,
    prompts: list[list[int]],
    draws_BR: Tensor,
    *,
    eos_id: int,
    pad_id: int,
    temperature: float,
    device: torch.device,
    with_logprobs: bool = False,
) -> list[Response]:
    """As `sample`, from given uniform numbers (B, `max_new_tokens`)."""
    draws_BR = draws_BR.to(device)
    ids_BP, mask_BP = _left_padded(prompts, pad_id)
    tokens_B1, mask = ids_BP.to(device), mask_BP.to(device)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    alive = torch.arange(len(prompts), device=device)
    responses: list[list[int]] = [[] for _ in prompts]
    logprobs: list[list[float]] = [[] for _ in prompts]
    cache = DynamicCache(config=model.config)
    with autocast(model):  # around all steps, so that weights of a larger type are cast once
        for t in range(draws_BR.shape[1]):
            out = model(
                input_ids=tokens_B1,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            drawn_B = draw(out.logits[:, -1], draws_BR[alive, t], temperature)
            for row, token in zip(alive.tolist(), drawn_B.tolist(), strict=True):
                responses[row].append(token)
            if with_logprobs:
                drawn_logprobs_B = selected_logprobs(out.logits[:, -1], drawn_B, temperature)
                for row, logprob in zip(alive.tolist(), drawn_logprobs_B.tolist(), strict=True):
                    logprobs[row].append(logprob)
            going = (drawn_B != eos_id).nonzero().squeeze(1)
            if len(going) == 0:
                break
            if len(going) < len(alive):
                cache.batch_select_indices(going)
                alive, mask, positions, drawn_B = alive[going], mask[going], positions[going], drawn_B[going]
            tokens_B1 = drawn_B[:, None]
            positions = positions[:, -1:] + 1
            mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)
    return [
        Response(ids, ids[-1] == eos_id, own if with_logprobs else None)
        for ids, own in zip(responses, logprobs, strict=True)
    ]


def draw(logits_BV: Tensor, uniforms_B: Tensor, temperature: float) -> Tensor:
    """Token ids (B,) from softmax(logits / temperature) by inverse CDF: the first token whose cumulative mass exceeds u."""
    cumulative_BV = torch.softmax(logits_BV.double() / temperature, dim=-1).cumsum(-1)
    thresholds_B1 = uniforms_B.double()[:, None] * cumulative_BV[:, -1:]
    return torch.searchsorted(cumulative_BV, thresholds_B1, right=True).squeeze(1).clamp(max=logits_BV.shape[-1] - 1)


def _left_padded(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    width = max(len(prompt) for prompt in prompts)
    ids = torch.tensor([[pad_id] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    return ids, mask
