"""Suggests settings to change if a run does not fit: first those that change no result, then those that change it least."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from trainer.preflight.memory.phases import Peak
from trainer.preflight.report import Phase, Suggestion
from trainer.spec import JobSpec

Estimate = Callable[[JobSpec, Phase | None], list[Peak]]
"""The expected peaks of a spec, of all phases or of one."""
_WORTH = 0.97
"""A change that leaves more than this share of a phase's peak is not suggested."""
_STAGES: dict[Phase, str] = {
    "sft": "sft",
    "reward_model": "reward_model",
    "dpo": "dpo",
    "kto": "kto",
    "ppo_rollout": "ppo",
    "ppo_score": "ppo",
    "ppo_update": "ppo",
}
_MOST = 24


def suggest(spec: JobSpec, estimate: Estimate, budget: int) -> list[Suggestion]:
    """Changes, each on top of those before it, until every phase's expected peak is within `budget` bytes."""
    suggestions: list[Suggestion] = []
    peaks = estimate(spec, None)
    for _ in range(_MOST):
        step = next(_steps(spec, peaks, estimate), None) if _largest(peaks).size > budget else None
        if step is None:
            break
        where, change, spec, peaks = step
        peak = _largest(peaks).size
        if suggestions and suggestions[-1].where == where:  # the same setting, changed further
            suggestions.pop()
        suggestions.append(Suggestion(where=where, change=change, expected=peak, fits=peak <= budget))
    return suggestions


def _steps(spec: JobSpec, peaks: Sequence[Peak], estimate: Estimate) -> Iterator[tuple[str, str, JobSpec, list[Peak]]]:
    """Changes that lower the largest phase, in the order in which to try them.

    A change is estimated in this phase first, since most changes do not lower it.
    """
    worst = _largest(peaks)
    for where, value in _changes(spec, worst):
        changed = _with(spec, where, value)
        if changed is None or estimate(changed, worst.phase)[0].size >= _WORTH * worst.size:
            continue
        after = estimate(changed, None)
        if _largest(after).size <= worst.size:
            shown = str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else value
            yield "#/" + "/".join(where), f"{'.'.join(where)} = {shown}", changed, after


def _changes(spec: JobSpec, worst: Peak) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Fields and values to try, in the order of preference. Smaller batches are left out where they could save too little."""
    phase = worst.phase
    by_batches = sum(worst.parts.get(part, 0) for part in ("activations", "kv_cache")) > (1 - _WORTH) * worst.size
    if by_batches:
        yield from _smaller_batches(spec, phase)
        if phase == "ppo_rollout" and (spec.ppo.rollout.rows_at_once or spec.ppo.batch_size) > 1:
            yield ("ppo", "rollout", "rows_at_once"), (spec.ppo.rollout.rows_at_once or spec.ppo.batch_size) // 2
    yield from _same_result(spec, phase, by_batches)
    yield from _smaller_numbers(spec, phase)
    if spec.model.lora is not None and not spec.model.lora.share_backbone:
        yield ("model", "lora", "share_backbone"), True
    if spec.model.lora is None and spec.model.path is not None:
        yield ("model", "lora"), {"rank": 16}
    if by_batches and phase.startswith("ppo") and spec.ppo.max_new_tokens > 16:
        yield ("ppo", "max_new_tokens"), spec.ppo.max_new_tokens // 2
    if spec.model.lora is not None and spec.model.quantization is None:
        yield ("model", "quantization"), "4bit"


def _same_result(spec: JobSpec, phase: Phase, by_batches: bool) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Settings that trade time for memory. On a CPU offloading changes nothing, and is therefore not suggested."""
    if by_batches and not spec.model.gradient_checkpointing:
        yield ("model", "gradient_checkpointing"), True
    if not spec.runtime.offload_frozen:
        yield ("runtime", "offload_frozen"), True
    stage = _STAGES.get(phase)
    if stage and not getattr(spec, stage).offload_optimizer:
        yield (stage, "offload_optimizer"), True


def _smaller_numbers(spec: JobSpec, phase: Phase) -> Iterator[tuple[tuple[str, ...], Any]]:
    if spec.model.dtype == "float32":
        yield ("model", "dtype"), "bfloat16"
    if spec.model.lora is not None:
        return
    if spec.model.dtype == "bfloat16" and spec.model.trained_weights == "float32":
        yield ("model", "trained_weights"), "bfloat16"
    stage = _STAGES.get(phase)
    if stage and getattr(spec, stage).optimizer == "adamw":
        yield (stage, "optimizer"), "adamw_8bit"


def _smaller_batches(spec: JobSpec, phase: Phase) -> Iterator[tuple[tuple[str, ...], int]]:
    """The micro-batch size, halved, which costs some speed."""
    if phase == "evaluation":
        size, where = spec.evaluation.batch_size, ("evaluation", "batch_size")
    elif phase in _STAGES and phase != "ppo_rollout":
        section = getattr(spec, _STAGES[phase])
        update = phase == "ppo_update"
        whole = section.batch_size // (min(spec.ppo.minibatches, spec.ppo.of_critic.minibatches) if update else 1)
        pairwise = phase == "dpo" or (phase == "reward_model" and spec.reward_model.loss == "pairwise")
        sides = 2 if pairwise else 1
        size, where = section.micro_batch_size or whole * sides, (_STAGES[phase], "micro_batch_size")
    else:
        return
    if size > 1:
        yield where, max(1, size // 2)


def _with(spec: JobSpec, where: tuple[str, ...], value: Any) -> JobSpec | None:
    """The spec with one field changed; None if it is not valid."""
    raw = spec.model_dump(mode="json")
    section = raw
    for name in where[:-1]:
        section = section[name]
    section[where[-1]] = value
    try:
        return JobSpec.model_validate(raw)
    except ValidationError:
        return None


def _largest(peaks: Sequence[Peak]) -> Peak:
    return max(peaks, key=lambda peak: peak.size)
