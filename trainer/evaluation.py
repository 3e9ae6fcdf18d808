"""Held-out evaluation: how the policy does on prompts that it never trains on, and how often it beats the SFT policy."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trainer.checkpoint import StageResult
from trainer.completions import Completion, completions
from trainer.judges import Judge
from trainer.ppo.actors import Actors
from trainer.ppo.rollout import respond_and_score
from trainer.prompts import EncodedPrompt
from trainer.randomness import generator
from trainer.session import Session
from trainer.spec import EvaluationSpec, PPOSpec
from trainer.text import Codec


@dataclass(frozen=True)
class HeldOut:
    """What to evaluate on, and who judges beside the reward model."""

    prompts: list[EncodedPrompt]
    judge: Judge | None
    spec: EvaluationSpec


def complete(
    actors: Actors, held_out: HeldOut, codec: Codec, spec: PPOSpec, session: Session, purpose: str
) -> list[Completion]:
    """One completion per held-out prompt by `actors.policy`, the same draws for the same purpose every time."""
    found: list[Completion] = []
    actors = replace(actors, reference=actors.initial)  # a figure over the whole run needs a fixed point
    size = held_out.spec.batch_size
    for first in range(0, len(held_out.prompts), size):
        session.check_lease()
        prompts = held_out.prompts[first : first + size]
        draws = generator(session.seed("evaluation"), purpose, first)
        scored = respond_and_score(actors, prompts, codec, spec, draws, session.device, held_out.spec.temperature)
        found += completions(scored, prompts, codec, held_out.judge)
    return found


def held_out_metrics(
    actors: Actors, held_out: HeldOut, codec: Codec, spec: PPOSpec, session: Session
) -> dict[str, float]:
    """Means over the held-out prompts, under `eval/`."""
    return {
        f"eval/{name}": value for name, value in means(complete(actors, held_out, codec, spec, session, "ppo")).items()
    }


def means(answers: Sequence[Completion]) -> dict[str, float]:
    """Mean score, KL, length, and the judge's mean where there is one."""
    count = len(answers)
    values = {
        "score": sum(c.score for c in answers) / count,
        "kl": sum(c.kl for c in answers) / count,
        "response_length": sum(c.tokens for c in answers) / count,
    }
    judged = [c.judge for c in answers if c.judge is not None]
    return values | ({"judge": sum(judged) / count} if judged else {})


def run(
    session: Session, held_out: HeldOut, actors: Actors, codec: Codec, spec: PPOSpec, extra: dict[str, float]
) -> StageResult:
    """Compare the trained policy with the reference (SFT) policy, prompt by prompt, and save the figures."""
    began = time.perf_counter()
    session.begin("evaluation", 1, 0)
    before = complete(replace(actors, policy=actors.initial), held_out, codec, spec, session, "before")
    session.stop_if_asked()
    after = complete(actors, held_out, codec, spec, session, "after")
    summary = compare(before, after) | extra
    session.report("evaluation", 1, 1, summary)
    session.show("evaluation", 1, [a.sample(b) for b, a in zip(before, after, strict=True)])
    result = StageResult(1, time.perf_counter() - began, summary)
    session.finish("evaluation", None, codec.tokenizer, result)
    return result


def compare(before: Sequence[Completion], after: Sequence[Completion]) -> dict[str, float]:
    """Means of both, and the win rate of `after` with its 95 % interval: by the judge where there is one."""
    old, new = means(before), means(after)
    summary = {"score_before": old["score"], "score_after": new["score"], "kl": new["kl"]}
    summary |= {"length_before": old["response_length"], "length_after": new["response_length"]}
    summary["rm_win_rate"] = win_rate([c.score for c in before], [c.score for c in after])
    judged_before = [c.judge for c in before if c.judge is not None]
    judged_after = [c.judge for c in after if c.judge is not None]
    rate = win_rate(judged_before, judged_after) if judged_before else summary["rm_win_rate"]
    if judged_before:
        summary |= {"judge_before": old["judge"], "judge_after": new["judge"]}
    low, high = wilson_interval(rate, len(before))
    return summary | {"win_rate": rate, "win_rate_low": low, "win_rate_high": high}


def win_rate(before: Sequence[float], after: Sequence[float]) -> float:
    """(wins + ½ ties) ÷ pairs."""
    points = [1.0 if a > b else 0.5 if a == b else 0.0 for b, a in zip(before, after, strict=True)]
    return sum(points) / len(points)


def wilson_interval(rate: float, count: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval of a proportion (1927); 95 % by default."""
    centre = (rate + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    return centre - half, centre + half
