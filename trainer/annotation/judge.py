"""A reward model's scores of completions, to be held against what people say."""

import math
from collections.abc import Callable
from pathlib import Path

import torch

from trainer.annotation import files
from trainer.annotation.computing import context_of, maker, place_of, spare_threads
from trainer.annotation.requests import JudgeRequest
from trainer.models import load_tokenizer
from trainer.rewards.model import TokenScorer, check_vocabulary
from trainer.spec import DataSpec
from trainer.text import Codec

_ROWS = 32
"""Between two signs of progress."""


@torch.no_grad()
def judge(request: JudgeRequest, base: Path, out: Path, tell: Callable[[float, str], None]) -> None:
    """Write `{"scores"}` for each row, one score for each completion; null where it is too long to be read whole.

    Raises DataError or ModelError.
    """
    rows = files.answered(base / request.rows)
    path = place_of(base, request.model)
    model = maker(request, path).scorer("reward_model", path, "frozen")
    spare_threads(model)
    tokenizer = load_tokenizer(path)
    check_vocabulary(path, model, tokenizer)
    limits = {"max_prompt_tokens": request.max_prompt_tokens, "max_completion_tokens": request.max_completion_tokens}
    codec = Codec.of(tokenizer, DataSpec.model_validate({"chat_template": request.chat_template, **limits}))
    scorer = TokenScorer(model, codec.pad_id, request.batch_size)
    scores: list[list[float | None]] = [[None] * len(completions) for _, completions in rows]
    for first in range(0, len(rows), _ROWS):
        tell(first / len(rows), "Scoring")
        fits: list[tuple[int, int, list[int], list[int]]] = []
        for number, (prompt, completions) in enumerate(rows[first : first + _ROWS], first):
            prompt_ids = codec.prompt(prompt)
            for place, text in enumerate(completions):
                ids, whole = codec.completion(text)
                if prompt_ids and whole and len(prompt_ids) + len(ids) <= context_of(model):
                    fits.append((number, place, prompt_ids, ids))
        values = scorer.score_ids([one[2] for one in fits], [one[3] for one in fits])
        for (number, place, _, _), value in zip(fits, values, strict=True):
            scores[number][place] = value if math.isfinite(value) else None
    files.write(out, ({"scores": one} for one in scores))
