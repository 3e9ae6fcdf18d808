"""Sampling with the cache that transformers itself makes for a model, for those that keep more than keys and values.

It is slower than `decoding.py`: the cache is copied at every token, and whenever a row ends.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import DynamicCache

from trainer.models import Model, autocast
from trainer.sampling.draws import draw_with_logprobs
from trainer.sampling.prompts import Part
from trainer.sampling.responses import Response
from trainer.text.stops import Stops, Watch


@torch.no_grad()
def sample_growing(
    model: Model,
    prompts: Sequence[list[int]],
    draws_BR: Tensor,
    *,
    stops: Stops,
    pad_id: int,
    temperature: float,
    with_logprobs: bool,
) -> list[Response]:
    """One response per prompt, in any order."""
    device = draws_BR.device
    tokens_B1, mask = (values.to(device) for values in Part(0, len(prompts), list(prompts), None).left_padded(pad_id))
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    alive = torch.arange(len(prompts), device=device)
    responses: list[list[int]] = [[] for _ in prompts]
    logprobs: list[list[float]] = [[] for _ in prompts]
    watches, finished = [Watch(stops) for _ in prompts], [False] * len(prompts)
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
            drawn_B, drawn_logprobs_B = draw_with_logprobs(out.logits[:, -1], draws_BR[alive, t], temperature)
            for row, token, logprob in zip(alive.tolist(), drawn_B.tolist(), drawn_logprobs_B.tolist(), strict=True):
                responses[row].append(token)
                logprobs[row].append(logprob)
                finished[row] = watches[row].ends_with(token)
            going = torch.tensor([at for at, row in enumerate(alive.tolist()) if not finished[row]], device=device)
            if len(going) == 0:
                break
            if len(going) < len(alive):
                cache.batch_select_indices(going)
                alive, mask, positions, drawn_B = alive[going], mask[going], positions[going], drawn_B[going]
            tokens_B1 = drawn_B[:, None]
            positions = positions[:, -1:] + 1
            mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)
    return [
        Response(ids, ended, own if with_logprobs else None)
        for ids, ended, own in zip(responses, finished, logprobs, strict=True)
    ]
