"""The built-in engine: the model's own forward pass with a key-value cache.

Most models get the in-place cache (`decoding.py`). Models that keep more than keys and values get the cache that
transformers makes for them, which is slower: it is copied at each token and whenever a row ends.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import DynamicCache

from trainer.models import Model, autocast
from trainer.sampling.cache import keeps_in_place
from trainer.sampling.decoding import EAGER, Decoding, sample_in_place
from trainer.sampling.draws import draw_with_logprobs, uniforms
from trainer.sampling.engine import Response, SamplingOptions
from trainer.sampling.prefill import PromptGroup
from trainer.text.stops import StopMatcher


def sample(
    model: Model,
    prompts: Sequence[list[int]],
    options: SamplingOptions,
    max_new_tokens: int,
    generator: torch.Generator,
) -> list[Response]:
    """Return one response per prompt, up to a stop or `max_new_tokens` tokens."""
    return sample_with(model, prompts, uniforms(generator, len(prompts), max_new_tokens), options)


def sample_with(
    model: Model,
    prompts: Sequence[list[int]],
    draws_BR: Tensor,
    options: SamplingOptions,
    rows_at_once: int | None = None,
    decoding: Decoding = EAGER,
) -> list[Response]:
    """Return one response per prompt from given uniform numbers (B, `max_new_tokens`).

    `rows_at_once` rows are in memory at a time (None: all). Rows are sampled in order of their prompts' length, so that the
    rows of a part have similar lengths. `decoding` has no effect on a model with transformers' own cache.
    """
    order = sorted(range(len(prompts)), key=lambda row: (len(prompts[row]), prompts[row]))
    in_place = keeps_in_place(model)
    draws_BR = draws_BR.to(options.device)
    responses: dict[int, Response] = {}
    for first in range(0, len(order), rows_at_once or len(order)):
        rows = order[first : first + (rows_at_once or len(order))]
        some = [prompts[row] for row in rows]
        if in_place:
            found = sample_in_place(model, some, draws_BR[rows], options, decoding)
        else:
            found = sample_growing(model, some, draws_BR[rows], options)
        responses.update(zip(rows, found, strict=True))
    return [responses[row] for row in range(len(prompts))]


@torch.no_grad()
def sample_growing(
    model: Model, prompts: Sequence[list[int]], draws_BR: Tensor, options: SamplingOptions
) -> list[Response]:
    """Return one response per prompt, sampled with transformers' own cache. The prompts come in any order."""
    device = draws_BR.device
    tokens_B1, mask = (
        values.to(device) for values in PromptGroup(0, len(prompts), list(prompts), None).left_padded(options.pad_id)
    )
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    alive = torch.arange(len(prompts), device=device)
    responses: list[list[int]] = [[] for _ in prompts]
    logprobs: list[list[float]] = [[] for _ in prompts]
    watches, finished = [StopMatcher(options.stops) for _ in prompts], [False] * len(prompts)
    cache = DynamicCache(config=model.config)
    with autocast(model):
        for t in range(draws_BR.shape[1]):
            out = model(
                input_ids=tokens_B1,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            drawn_B, drawn_logprobs_B = draw_with_logprobs(out.logits[:, -1], draws_BR[alive, t], options.temperature)
            for row, token, logprob in zip(alive.tolist(), drawn_B.tolist(), drawn_logprobs_B.tolist(), strict=True):
                responses[row].append(token)
                logprobs[row].append(logprob)
                finished[row] = watches[row].ends_with(token)
            going = torch.tensor(
                [index for index, row in enumerate(alive.tolist()) if not finished[row]], device=device
            )
            if len(going) == 0:
                break
            if len(going) < len(alive):
                cache.batch_select_indices(going)
                alive, mask, positions, drawn_B = alive[going], mask[going], positions[going], drawn_B[going]
            tokens_B1 = drawn_B[:, None]
            positions = positions[:, -1:] + 1
            mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)
    return [
        Response(ids, ended, own if options.with_logprobs else None)
        for ids, ended, own in zip(responses, finished, logprobs, strict=True)
    ]
