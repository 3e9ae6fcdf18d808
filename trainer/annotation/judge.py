"""A reward model's scores of completions, to be held against what people say."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from data.rows import Prompt
from trainer.annotation import requests
from trainer.annotation.computing import AsManyAsFit, context_of, maker, place_of, spare_threads
from trainer.annotation.requests import JudgeRequest
from trainer.models import load_tokenizer
from trainer.rewards.models import TokenScorer, check_vocabulary
from trainer.spec import DataSpec
from trainer.text.codec import Codec

_ROWS = 32
"""Between two signs of progress."""


@dataclass(frozen=True)
class Text:
    """A prompt and one of its row's completions, as tokens."""

    row: int
    place: int
    prompt: list[int]
    completion: list[int]


@torch.no_grad()
def judge(request: JudgeRequest, base: Path, out: Path, tell: Callable[[float, str], None]) -> None:
    """Write `{"scores"}` for each row, one score for each completion; null where it is too long to be read whole.

    Raises DataError or ModelError.
    """
    rows = requests.answered(base / request.rows)
    path = place_of(base, request.model)
    model = maker(request, path).scorer("reward_model", path, "frozen")
    spare_threads(model)
    tokenizer = load_tokenizer(path)
    check_vocabulary(path, model, tokenizer)
    limits = {"max_prompt_tokens": request.max_prompt_tokens, "max_completion_tokens": request.max_completion_tokens}
    codec = Codec.for_tokenizer(tokenizer, DataSpec.model_validate({"chat_template": request.chat_template, **limits}))
    scorer, batches = TokenScorer(model, codec.pad_id, request.batch_size), AsManyAsFit(request.batch_size)

    def scored(batch: Sequence[Text]) -> list[float]:
        return scorer.score_ids([one.prompt for one in batch], [one.completion for one in batch])

    scores: list[list[float | None]] = [[None] * len(completions) for _, completions in rows]
    for first in range(0, len(rows), _ROWS):
        tell(first / len(rows), "Scoring")
        chosen = enumerate(rows[first : first + _ROWS], first)
        texts = [text for number, row in chosen for text in _texts(codec, number, *row)]
        fits = [one for one in texts if len(one.prompt) + len(one.completion) <= context_of(model)]
        for one, value in zip(fits, batches.map(scored, fits), strict=True):
            scores[one.row][one.place] = value if math.isfinite(value) else None
    requests.write(out, ({"scores": one} for one in scores))


def _texts(codec: Codec, row: int, prompt: Prompt, completions: Sequence[requests.Completion]) -> Iterator[Text]:
    """The texts that can be read whole. One that was cut off has no end, as when PPO scores it."""
    prompt_ids = codec.prompt(prompt)
    for place, completion in enumerate(completions):
        ids, whole = codec.completion(completion.text)
        if prompt_ids and whole:
            yield Text(row, place, prompt_ids, ids if completion.finished else ids[:-1])
