"""Sampling a batch with the in-place cache: the prompts are read, then every live row takes one token at a time.

The cache has W = P + R − 1 columns, P of them for prompts. A row's prompt ends in column P − 1, and its response
begins in column P. Its last token is never read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from trainer.models import Model, autocast
from trainer.models.attention import NAME as PACKED
from trainer.models.heads import underlying
from trainer.sampling.cache import InPlaceCache
from trainer.sampling.draws import draw, draw_with_logprobs
from trainer.sampling.engine import Response, SamplingOptions
from trainer.sampling.prefill import prompt_groups
from trainer.text.stops import StopMatcher, Stops


@dataclass
class Progress:
    """A batch in progress. Its live rows stand first; `number_B` is the row of the result that each of them belongs to."""

    cache: InPlaceCache
    number_B: Tensor
    starts_B: Tensor
    """The column in which each row's prompt begins."""
    mask_BW: Tensor
    """True from that column on."""
    draws_BR: Tensor
    tokens_BR: Tensor
    """The result by row; −1 where no token was drawn."""
    logprobs_BR: Tensor | None
    stops: Stops
    stop_ids: Tensor
    watches: list[StopMatcher]
    """One for each row of the result if there are stop strings, else empty."""
    lengths: list[int]
    """Tokens of each row of the result up to the end of its stop string; 0 for a row without one."""
    temperature: float

    @classmethod
    def begin(
        cls,
        model: Model,
        prompts: Sequence[list[int]],
        draws_BR: Tensor,
        options: SamplingOptions,
        decoding: "Decoding | None" = None,
    ) -> "Progress":
        """Start a batch. `prompts` come in order of their length, equal ones together."""
        stops = options.stops
        device, longest, (count, tokens) = draws_BR.device, len(prompts[-1]), draws_BR.shape
        width = longest + tokens - 1
        starts_B = torch.tensor([longest - len(prompt) for prompt in prompts], device=device)
        return cls(
            (decoding or EAGER).cache(model, count, width, device),
            torch.arange(count, device=device),
            starts_B,
            torch.arange(width, device=device) >= starts_B[:, None],
            draws_BR,
            torch.full((count, tokens), -1, device=device),
            torch.zeros(count, tokens, dtype=torch.float64, device=device) if options.with_logprobs else None,
            stops,
            torch.tensor(stops.ids, dtype=torch.long, device=device),
            [StopMatcher(stops) for _ in range(count if stops.strings else 0)],
            [0] * count,
            options.temperature,
        )

    def take(self, logits_BV: Tensor, rows: slice, position: int) -> Tensor:
        """Draw response token `position` of these live rows, store it and return it."""
        number_B = self.number_B[rows]
        uniforms_B = self.draws_BR[number_B, position]
        if self.logprobs_BR is None:
            drawn_B = draw(logits_BV, uniforms_B, self.temperature)
        else:
            drawn_B, logprobs_B = draw_with_logprobs(logits_BV, uniforms_B, self.temperature)
            self.logprobs_BR[number_B, position] = logprobs_B.double()
        self.tokens_BR[number_B, position] = drawn_B
        return drawn_B

    def going(self, drawn_B: Tensor, position: int) -> Tensor:
        """(B,) True for the live rows that do not end with their newest token, at `position`."""
        going_B = torch.isin(drawn_B, self.stop_ids, invert=True)
        if not self.watches:
            return going_B
        numbers = self.number_B[: len(drawn_B)].tolist()
        for row, (number, token) in enumerate(zip(numbers, drawn_B.tolist(), strict=True)):
            if self.watches[number].ends_with(token):
                self.lengths[number] = position + 1
                going_B[row] = False
        return going_B

    def drop_finished(self, drawn_B: Tensor, position: int) -> Tensor:
        """Move the last live rows into the places of those that ended at `position`. Return the tokens of the live rows."""
        going_B = self.going(drawn_B, position)
        live = int(going_B.count_nonzero())  # here a step waits for the device
        if live == len(drawn_B):
            return drawn_B
        targets, sources = (~going_B[:live]).nonzero().squeeze(1), going_B[live:].nonzero().squeeze(1) + live
        self.cache.move(sources, targets)
        for values in (self.number_B, self.starts_B, self.mask_BW, drawn_B):
            values[targets] = values[sources]
        self.cache.window.live = live
        if live:
            self.cache.window.first = int(self.starts_B[:live].min())
        return drawn_B[:live]

    def responses(self) -> list[Response]:
        """Return the responses up to their stops, in the order of the result."""
        logprobs_by_row = [None] * len(self.tokens_BR) if self.logprobs_BR is None else self.logprobs_BR.tolist()
        stopped_BR = torch.isin(self.tokens_BR, self.stop_ids)
        ends = torch.where(stopped_BR.any(1), stopped_BR.int().argmax(1) + 1, 0).tolist()
        found = []
        for ids, logprobs, by_token, by_string in zip(
            self.tokens_BR.tolist(), logprobs_by_row, ends, self.lengths, strict=True
        ):
            end = by_token or by_string or None
            found.append(Response(ids[:end], end is not None, logprobs and logprobs[:end]))
        return found


Step = Callable[[Tensor], Tensor]
"""Maps the live rows' last tokens (B,) to the logits (B, V) of their next tokens. The column is the window's `at`."""


class Decoding(Protocol):
    """Provides the cache and the steps of a batch."""

    def cache(self, model: Model, rows: int, width: int, device: torch.device) -> InPlaceCache:
        """A cache for the model with at least so many rows and columns."""
        ...

    def step(self, model: Model, progress: Progress) -> Step: ...


class EagerDecoding:
    """Steps by the model's own forward pass, and a new cache for each batch."""

    def cache(self, model: Model, rows: int, width: int, device: torch.device) -> InPlaceCache:
        return InPlaceCache(model, rows, width)

    def step(self, model: Model, progress: Progress) -> Step:
        return eager(model, progress)


EAGER = EagerDecoding()


@torch.no_grad()
def sample_in_place(
    model: Model,
    prompts: Sequence[list[int]],
    draws_BR: Tensor,
    options: SamplingOptions,
    decoding: Decoding = EAGER,
) -> list[Response]:
    """Return one response per prompt. `prompts` come in order of their length, equal ones together."""
    progress = Progress.begin(model, prompts, draws_BR, options, decoding)
    window = progress.cache.window
    with autocast(model):  # around all steps, so that weights of a larger type are cast once
        drawn_B = read_prompts(model, progress, prompts, options.pad_id)
        step = decoding.step(model, progress)
        for position in range(1, draws_BR.shape[1]):
            drawn_B = progress.drop_finished(drawn_B, position - 1)
            if window.live == 0:
                break
            window.at += 1
            drawn_B = progress.take(step(drawn_B), slice(0, window.live), position)
        progress.going(drawn_B, draws_BR.shape[1] - 1)
    return progress.responses()


def read_prompts(model: Model, progress: Progress, prompts: Sequence[list[int]], pad_id: int) -> Tensor:
    """Read the prompts into the cache. Return each row's first response token, (B,)."""
    window, longest, device, drawn = progress.cache.window, len(prompts[-1]), progress.draws_BR.device, []
    for part in prompt_groups(prompts):
        ids, mask = (values.to(device) for values in part.left_padded(pad_id))
        source = None if part.source is None else torch.tensor(part.source, device=device)
        window.prefilled, window.at = (slice(part.first, part.last), source), longest - part.width
        logits_UV = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1).clamp(min=0),
            past_key_values=progress.cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        logits_BV = logits_UV if source is None else logits_UV.index_select(0, source)
        drawn.append(progress.take(logits_BV, slice(part.first, part.last), 0))
    window.prefilled, window.at, window.live = None, longest - 1, len(prompts)
    return torch.cat(drawn)


def eager(model: Model, progress: Progress) -> Step:
    """Steps by the model's own forward pass over the columns in use."""
    window, ready_masks = progress.cache.window, takes_ready_masks(model, progress.cache)

    def step(tokens_B: Tensor) -> Tensor:
        mask = progress.mask_BW[: window.live, window.first : window.at + 1]
        logits: Tensor = model(
            input_ids=tokens_B[:, None],
            attention_mask=mask[:, None, None] if ready_masks else mask,
            position_ids=(window.at - progress.starts_B[: window.live])[:, None],
            past_key_values=progress.cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        return logits

    return step


def takes_ready_masks(model: Model, cache: InPlaceCache) -> bool:
    """Whether a (B, 1, 1, W) mask reaches every layer unchanged, so that transformers makes none at every step."""
    whole = underlying(model)
    config = whole.config.get_text_config()
    # packing changes the name when a model is first trained or scored with; both names must give the same bits
    plain = config._attn_implementation in ("sdpa", PACKED)
    backend = getattr(whole, "_supports_attention_backend", False)
    return backend and plain and not any(cache.is_sliding)
