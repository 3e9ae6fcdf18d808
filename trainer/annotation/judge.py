"""Scores completions with a reward model, for a comparison with people's answers."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from data.rows import Prompt
from trainer.annotation import requests
from trainer.annotation.computing import ShrinkingBatches, context_length, limit_threads, model_builder, resolve_path
from trainer.annotation.requests import JudgeRequest
from trainer.models import load_tokenizer
from trainer.rewards.models import TokenScorer, check_vocabulary
from trainer.spec import DataSpec
from trainer.text.codec import Codec

_ROWS = 32
"""Rows between two lines of progress."""


@dataclass(frozen=True)
class Text:
    """A prompt and one of its row's completions, as tokens."""

    row: int
    place: int
    prompt: list[int]
    completion: list[int]


@torch.no_grad()
def judge(request: JudgeRequest, base: Path, out: Path, report_progress: Callable[[float, str], None]) -> None:
    """Write `{"scores"}` for each row, one score for each completion; null for one that is too long.

    Raises DataError or ModelError.
    """
    rows = requests.answered(base / request.rows)
    path = resolve_path(base, request.model)
    model = model_builder(request, path).scorer("reward_model", path, "frozen")
    limit_threads(model)
    tokenizer = load_tokenizer(path)
    check_vocabulary(path, model, tokenizer)
    limits = {"max_prompt_tokens": request.max_prompt_tokens, "max_completion_tokens": request.max_completion_tokens}
    codec = Codec.for_tokenizer(tokenizer, DataSpec.model_validate({"chat_template": request.chat_template, **limits}))
    scorer, batches = TokenScorer(model, codec.pad_id, request.batch_size), ShrinkingBatches(request.batch_size)

    def scored(batch: Sequence[Text]) -> list[float]:
        return scorer.score_ids([one.prompt for one in batch], [one.completion for one in batch])

    scores: list[list[float | None]] = [[None] * len(completions) for _, completions in rows]
    for first in range(0, len(rows), _ROWS):
        report_progress(first / len(rows), "Scoring")
        chosen = enumerate(rows[first : first + _ROWS], first)
        texts = [text for number, row in chosen for text in _texts(codec, number, *row)]
        fits = [one for one in texts if len(one.prompt) + len(one.completion) <= context_length(model)]
        for one, value in zip(fits, batches.map(scored, fits), strict=True):
            scores[one.row][one.place] = value if math.isfinite(value) else None
    requests.write(out, ({"scores": score} for score in scores))


def _texts(codec: Codec, row: int, prompt: Prompt, completions: Sequence[requests.Completion]) -> Iterator[Text]:
    """The texts that can be read whole. One that was cut off has no end, as when PPO scores it."""
    prompt_ids = codec.prompt(prompt)
    for place, completion in enumerate(completions):
        ids, whole = codec.completion(completion.text)
        if prompt_ids and whole:
            yield Text(row, place, prompt_ids, ids if completion.finished else ids[:-1])
