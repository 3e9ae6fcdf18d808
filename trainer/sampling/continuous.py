"""transformers' continuous batching as an engine: a paged cache and a scheduler that fills the place of a finished row at once.

It runs over the policy's own module, so that its weights are always the policy's. It computes in the type that these are
stored in (its generation thread knows nothing of autocast), and draws by itself: from the uniform numbers it takes a seed.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from hashlib import blake2b
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig

from trainer.errors import ModelError
from trainer.models import Model
from trainer.sampling.engine import Response
from trainer.text.stops import Stops

_PAGE = 32
"""Tokens of a page of the cache."""
_TOKENS = 2048
"""Tokens of one forward pass at most, prompts and next tokens together."""


class ContinuousBatching:
    """Raises ModelError for a policy that it cannot sample."""

    def __init__(self, policy: Model, *, stops: Stops, pad_id: int, rows_at_once: int | None = None) -> None:
        if not hasattr(policy, "generate_batch"):
            raise ModelError(
                '`ppo.rollout.engine` = "continuous_batching" samples whole models of transformers: not adapters on a shared '
                'backbone (`model.lora`), nor weights that are spread over processes. Set it to "built_in".'
            )
        self._policy = policy
        self._stops, self._pad_id, self._rows_at_once = stops, pad_id, rows_at_once

    def serves(self, model: Model) -> bool:
        return model is self._policy

    @torch.no_grad()
    def sample(self, prompts: Sequence[list[int]], draws_BR: Tensor, temperature: float) -> list[Response]:
        """Raises ModelError where transformers gives up on the batch."""
        from transformers import ContinuousBatchingConfig

        tokens = draws_BR.shape[1]
        generation = GenerationConfig(
            do_sample=True, temperature=temperature, top_k=0, top_p=1.0, max_new_tokens=tokens,
            eos_token_id=list(self._stops.ids) or -1, pad_token_id=self._pad_id,
        )  # fmt: skip
        rows = min(len(prompts), self._rows_at_once or len(prompts))
        pages = math.ceil((max(map(len, prompts)) + tokens) / _PAGE)
        options: dict[str, Any] = {
            "return_logprobs": True,
            "seed": seed_of(draws_BR),
            _page_size_option(): _PAGE,
            # left to itself it takes nine tenths of what memory is free
            "num_blocks": (pages + 1) * rows,
            "max_batch_tokens": max(_TOKENS, rows),
            "max_requests_per_batch": rows,
        }
        with _attention_that_pages(self._policy):
            found = self._policy.generate_batch(
                inputs=list(prompts),
                generation_config=generation,
                continuous_batching_config=ContinuousBatchingConfig(**options),
                max_new_tokens=tokens,
            )
        outputs = list(found.values())
        if len(outputs) != len(prompts) or any(output.error for output in outputs):
            told = next((output.error for output in outputs if output.error), "a request was lost")
            raise ModelError(f'Continuous batching failed: {told}. Set `ppo.rollout.engine` to "built_in".')
        # it knows stop tokens, but no stop strings
        return [Response.cut(output.generated_tokens, output.logprobs, self._stops) for output in outputs]

    def rest(self, keep_weights: bool = False) -> None:
        """Nothing is kept from one batch to the next."""

    def policy_moved(self) -> None:
        """Its weights are the policy's own."""


def seed_of(draws_BR: Tensor) -> int:
    """A seed that is a function of the draws, and so of what they were drawn for."""
    digest = blake2b(draws_BR.cpu().contiguous().numpy().tobytes(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1


def _page_size_option() -> str:
    """What transformers calls the tokens of a page: `block_size` until 5.17, `page_size` later."""
    from transformers import ContinuousBatchingConfig

    known = {field.name for field in fields(ContinuousBatchingConfig)}
    return "page_size" if "page_size" in known else "block_size"


@contextmanager
def _attention_that_pages(model: Model) -> Iterator[None]:
    """It knows the attention of transformers alone, and may leave another one behind."""
    before = model.config._attn_implementation
    model.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        model.set_attn_implementation(before)
