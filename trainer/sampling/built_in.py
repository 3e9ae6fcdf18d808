"""The engine that is always there: the model itself, with a cache of its own."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from trainer.models import Model
from trainer.sampling.cache import keeps_in_place
from trainer.sampling.decoding import Caches, Stepper, eager, fresh_cache, sample_in_place
from trainer.sampling.draws import uniforms
from trainer.sampling.growing import sample_growing
from trainer.sampling.responses import Response
from trainer.text.stops import Stops


def sample(
    model: Model,
    prompts: Sequence[list[int]],
    *,
    stops: Stops,
    pad_id: int,
    max_new_tokens: int,
    temperature: float,
    generator: torch.Generator,
    device: torch.device,
) -> list[Response]:
    """One response per prompt, until one of `stops` or `max_new_tokens`."""
    draws_BR = uniforms(generator, len(prompts), max_new_tokens)
    return sample_with(model, prompts, draws_BR, stops=stops, pad_id=pad_id, temperature=temperature, device=device)


def sample_with(  # noqa: PLR0913 each is one thing to say
    model: Model,
    prompts: Sequence[list[int]],
    draws_BR: Tensor,
    *,
    stops: Stops,
    pad_id: int,
    temperature: float,
    device: torch.device,
    with_logprobs: bool = False,
    rows_at_once: int | None = None,
    step: Stepper = eager,
    caches: Caches = fresh_cache,
) -> list[Response]:
    """As `sample`, from given uniform numbers (B, `max_new_tokens`), `rows_at_once` rows in memory at a time (None: all).

    Rows are sampled in order of their prompts' length: those of a part are then all about as long.
    """
    order = sorted(range(len(prompts)), key=lambda row: (len(prompts[row]), prompts[row]))
    way = partial(sample_in_place, stepper=step, caches=caches) if keeps_in_place(model) else sample_growing
    draws_BR = draws_BR.to(device)
    responses: dict[int, Response] = {}
    for first in range(0, len(order), rows_at_once or len(order)):
        rows = order[first : first + (rows_at_once or len(order))]
        found = way(
            model,
            [prompts[row] for row in rows],
            draws_BR[rows],
            stops=stops,
            pad_id=pad_id,
            temperature=temperature,
            with_logprobs=with_logprobs,
        )
        responses.update(zip(rows, found, strict=True))
    return [responses[row] for row in range(len(prompts))]
