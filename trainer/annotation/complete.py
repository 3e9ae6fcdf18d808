"""Samples answers of policies to prompts, for people to compare.

The draws depend on the seed, the policy's position, the prompt's line and the answer's number alone. They are therefore
the same for every batch size.
"""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from data.rows import Prompt
from trainer.annotation import requests
from trainer.annotation.computing import ShrinkingBatches, context_length, limit_threads, model_builder, resolve_path
from trainer.annotation.requests import AnsweringPolicy, CompletionRequest
from trainer.errors import ModelError
from trainer.models import Model, load_stops, load_tokenizer
from trainer.preflight.loaded_model import check_sampling
from trainer.randomness import generator
from trainer.sampling import Response, SamplingOptions, sample_with, uniforms
from trainer.spec import DataSpec
from trainer.text.codec import Codec

ReportProgress = Callable[[float, str], None]


@dataclass(frozen=True)
class PendingAnswer:
    """One more answer to the prompt of a row."""

    ids: list[int]
    row: int
    copy: int


@dataclass(frozen=True)
class Answer:
    """A sampled answer of a policy."""

    policy: int
    text: str
    finished: bool
    """Whether it ended with a stop of the policy. Otherwise it was cut off at `max_new_tokens`."""


def complete(request: CompletionRequest, base: Path, out: Path, report_progress: ReportProgress) -> None:
    """Write `{"completions", "policies", "finished"}` for each prompt: all answers of the first policy, then of the next.

    A prompt that is too long for one of the policies gets none. Raises DataError or ModelError.
    """
    prompts = requests.prompts(base / request.prompts)
    answers: list[list[Answer]] = [[] for _ in prompts]
    for number in range(len(request.policies)):
        report_share = _share(report_progress, number, len(request.policies))
        found = _answers(request, number, base, prompts, report_share)
        for own, theirs in zip(answers, found, strict=True):
            own.extend(theirs)
        gc.collect()  # frees the policy before the next one is loaded
    whole = len(request.policies) * request.completions
    requests.write(out, (_row(own if len(own) == whole else []) for own in answers))


def _share(report_progress: ReportProgress, policy: int, policies: int) -> Callable[[float], None]:
    """Progress of one policy, as a part of all."""
    return lambda done: report_progress((policy + done) / policies, f"Policy {policy + 1} of {policies}")


def _row(answers: Sequence[Answer]) -> dict[str, object]:
    return {
        "completions": [answer.text for answer in answers],
        "policies": [answer.policy for answer in answers],
        "finished": [answer.finished for answer in answers],
    }


@torch.no_grad()
def _answers(
    request: CompletionRequest,
    number: int,
    base: Path,
    prompts: Sequence[Prompt],
    report_progress: Callable[[float], None],
) -> list[list[Answer]]:
    """The answers of one policy by prompt; none for a prompt that is too long."""
    policy = request.policies[number]
    path = resolve_path(base, policy.path)
    model = model_builder(policy, path).policy("policy", path, "frozen")
    limit_threads(model)
    check_sampling(model)
    codec = _codec(policy, path, model, request.max_new_tokens)
    encoded = [codec.prompt(prompt) for prompt in prompts]
    wanted = [
        PendingAnswer(ids, row, copy) for row, ids in enumerate(encoded) if ids for copy in range(request.completions)
    ]
    wanted.sort(key=lambda one: (len(one.ids), one.row, one.copy))  # similar lengths together, for less padding

    def sampled(batch: Sequence[PendingAnswer]) -> list[Response]:
        draws = [generator(request.seed, "completions", number, one.row, one.copy) for one in batch]
        return sample_with(
            model,
            [one.ids for one in batch],
            torch.cat([uniforms(draw, 1, request.max_new_tokens) for draw in draws]),
            SamplingOptions(codec.stops, codec.pad_id, request.temperature, model.device),
        )

    report_progress(0.0)
    answers: list[list[Answer]] = [[] for _ in prompts]
    responses = ShrinkingBatches(request.batch_size).map(sampled, wanted)
    for done, (one, response) in enumerate(zip(wanted, responses, strict=True), 1):
        answers[one.row].append(Answer(number, codec.response(response.ids, response.finished)[0], response.finished))
        if done % request.batch_size == 0:
            report_progress(done / len(wanted))
    return answers


def _codec(policy: AnsweringPolicy, path: str, model: Model, max_new_tokens: int) -> Codec:
    """For prompts that leave room for the answer."""
    room = min(policy.max_prompt_tokens, context_length(model) - max_new_tokens)
    if room < 1:
        raise ModelError(
            f"{path}: `max_new_tokens` ({max_new_tokens}) leaves no room for a prompt: the model's context is "
            f"{context_length(model)} tokens."
        )
    tokenizer, limits = load_tokenizer(path), DataSpec(chat_template=policy.chat_template, max_prompt_tokens=room)
    return Codec.for_tokenizer(tokenizer, limits, load_stops(tokenizer, path))
