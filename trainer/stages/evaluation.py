"""Held-out evaluation: the policy's figures on prompts that it never trains on, and how often it beats another policy.

Each held-out prompt has its own draws, fixed by the run's seed, the prompt's index and the policy's role. A completion
therefore does not depend on how many prompts are sampled at once. Two evaluations in the loop differ only by the policy,
and the two sides of a comparison are independent of each other.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from data.splits import prompt_text
from data.statistics import wilson_interval
from trainer.events import Sample, TokenRow
from trainer.models import Model
from trainer.randomness import generator
from trainer.rewards.base import RewardInput
from trainer.rewards.judges import Judge
from trainer.rollout.batch import ScoredBatch, sample_and_score
from trainer.rollout.context import PPOContext
from trainer.rollout.shaping import missing_eos
from trainer.sampling import uniforms
from trainer.sampling.sampler import sampler_for
from trainer.session.checkpoint import StageResult
from trainer.session.session import Session
from trainer.spec import EvaluationSpec
from trainer.text.codec import TokenizedPrompt

_FROM_PPO = ("best_step", "selection_win_rate", "entropy_kept")
_OF_BEST = ("win_rate", "win_rate_low", "win_rate_high", "score", "judge", "kl", "response_length")


@dataclass(frozen=True)
class Completion:
    """One response to one prompt as text, with its figures."""

    prompt: str
    response: str
    score: float | None
    """The rewards' weighted sum, with the rule for a missing EOS; None if the run has no rewards."""
    kl: float
    """k1 estimate summed over the response, in nats."""
    tokens: int
    finished: bool
    judge: float | None
    """The judge's score; None without a judge, or with one that only compares."""

    def sample(self, reference: "Completion | None" = None, token_table: list[TokenRow] | None = None) -> Sample:
        """Return an event row; with `reference`, also the response to the same prompt that it is compared with."""
        own = self._shown()
        if reference is not None:
            theirs = reference._shown()
            beside = {"reference": theirs.response, "reference_score": theirs.score, "reference_judge": theirs.judge}
            own = own.model_copy(update=beside)
        return own.model_copy(update={"token_table": token_table})

    def _shown(self) -> Sample:
        """A number that is not finite becomes None, because JSON has no such number."""
        return Sample(
            **{k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in vars(self).items()}
        )


def to_completions(scored: ScoredBatch, judge: Judge | None, count: int | None = None) -> list[Completion]:
    """Return the first `count` responses of a batch (None: all), in its order. Raises RewardError if the judge fails."""
    answers, kls = scored.answers[:count], scored.kl_per_response().tolist()[:count]
    scores: Sequence[float | None] = [None] * len(answers)
    if scored.rewards.parts:
        scores = scored.scores_B.tolist()[:count]
    return [
        Completion(prompt_text(a.prompt), a.text, score, kl, len(a.response_ids), a.finished, judged)
        for a, score, kl, judged in zip(answers, scores, kls, judge_scores(judge, answers), strict=True)
    ]


def judge_scores(judge: Judge | None, answers: Sequence[RewardInput]) -> Sequence[float | None]:
    """The judge's score of each answer; None for each without a judge, or with one that only compares."""
    scores = judge.scores(answers) if judge else None
    return [None] * len(answers) if scores is None else scores


@dataclass(frozen=True)
class HeldOut:
    """The prompts to evaluate on, and the judge besides the rewards."""

    prompts: list[TokenizedPrompt]
    judge: Judge | None
    spec: EvaluationSpec


@dataclass(frozen=True)
class HeldOutResponses:
    """One response of a policy to each held-out prompt."""

    completions: list[Completion]
    answers: list[RewardInput]


class Evaluation:
    """Samples policies on the held-out prompts, and compares them."""

    def __init__(self, session: Session, context: PPOContext, held_out: HeldOut) -> None:
        # the KL is measured against the policy as PPO began, so that it is comparable over the whole run
        models = context.models
        models = replace(models, reference=models.initial, sampler=replace(models.sampler, more_follow=True))
        self._session = session
        self._context = replace(context, models=models)
        self._held_out = held_out
        self._initial: HeldOutResponses | None = None
        self._latest: HeldOutResponses | None = None

    def metrics(self) -> dict[str, float]:
        """Evaluate the policy as it is now: means over the prompts and the win rate against `initial`, under `eval/`."""
        before, after = self._before(), self.respond(self._context.models.policy, "ppo")
        self._latest = after
        values = means(after.completions) | self.win_rates(before, after)
        values["sqrt_kl"] = max(0.0, values["kl"]) ** 0.5
        return {f"eval/{name}": value for name, value in values.items()}

    def samples(self, count: int) -> list[Sample]:
        """The responses of the last `metrics` to the first `count` held-out prompts, beside those of the initial policy."""
        if self._initial is None or self._latest is None:
            return []
        pairs = zip(self._initial.completions[:count], self._latest.completions[:count], strict=True)
        return [after.sample(before).model_copy(update={"held_out": True}) for before, after in pairs]

    @torch.no_grad()
    def respond(self, policy: Model, purpose: str) -> HeldOutResponses:
        """Sample one response of `policy` per prompt. The same purpose always gets the same draws."""
        found, spec, prompts = HeldOutResponses([], []), self._held_out.spec, self._held_out.prompts
        context = replace(self._context, models=replace(self._context.models, policy=policy))
        for first in range(0, len(prompts), spec.batch_size):
            self._session.check_lease()
            some = prompts[first : first + spec.batch_size]
            draws_BR = torch.cat([self._draws(purpose, first + row) for row in range(len(some))])
            scored = sample_and_score(context, some, draws_BR, spec.temperature)
            found.completions.extend(to_completions(scored, self._held_out.judge))
            found.answers.extend(scored.answers)
        return found

    def win_rates(self, before: HeldOutResponses, after: HeldOutResponses) -> dict[str, float]:
        """How often `after` wins by the judge, or by the rewards without one; with the 95 % interval."""
        points = self._points(before, after)
        rate = sum(points) / len(points)
        low, high = wilson_interval(rate, len(points))
        return {"win_rate": rate, "win_rate_low": low, "win_rate_high": high}

    def _points(self, before: HeldOutResponses, after: HeldOutResponses) -> list[float]:
        judge = self._held_out.judge
        old, new = ([c.judge for c in side.completions] for side in (before, after))
        if judge is not None and None in old + new:
            return judge.points(before.answers, after.answers)
        if judge is None:
            old, new = ([c.score for c in side.completions] for side in (before, after))
        return points(old, new)

    def _draws(self, purpose: str, number: int) -> Tensor:
        tokens = self._held_out.spec.max_new_tokens or self._context.spec.max_new_tokens
        return uniforms(generator(self._session.seed("evaluation"), purpose, number), 1, tokens)

    def _before(self) -> HeldOutResponses:
        """The initial policy's responses, sampled once. With `ppo.online` they are scored again each time."""
        if self._initial is None:
            self._initial = self.respond(self._context.models.initial, "before")
        elif self._context.spec.online is not None:
            self._initial = self._scored_again(self._initial)
        return self._initial

    def _scored_again(self, responses: HeldOutResponses) -> HeldOutResponses:
        """Score in the same batches as when they were sampled, because a resume samples again and needs the same bits."""
        found, size = HeldOutResponses([], responses.answers), self._held_out.spec.batch_size
        for first in range(0, len(responses.answers), size):
            answers = responses.answers[first : first + size]
            totals = torch.tensor(self._context.models.rewards.score(answers).totals)
            finished = torch.tensor([answer.finished for answer in answers])
            scores = missing_eos(totals, finished, self._context.spec.shaping).tolist()
            before = responses.completions[first : first + size]
            rows = zip(before, scores, judge_scores(self._held_out.judge, answers), strict=True)
            found.completions.extend(replace(c, score=score, judge=judged) for c, score, judged in rows)
        return found


def run(
    session: Session,
    context: PPOContext,
    held_out: HeldOut,
    extra: dict[str, float],
    against: Model | None = None,
    best: Callable[[], Model] | None = None,
) -> StageResult:
    """Compare the policy with `against` (None: the initial policy), prompt by prompt, and save the figures.

    `best` loads PPO's best checkpoint if that is not the last one. It was chosen by other draws than these, so its win rate
    here is not the maximum of several.
    """
    began = time.perf_counter()
    session.begin("evaluation", 1, 0)
    sampler = sampler_for(session, context.spec, context.codec)
    context = replace(context, models=replace(context.models, sampler=sampler))
    evaluation = Evaluation(session, context, held_out)
    before = evaluation.respond(context.models.initial if against is None else against, "initial")
    session.stop_if_asked()
    after = evaluation.respond(context.models.policy, "after")
    summary = compare(before.completions, after.completions) | evaluation.win_rates(before, after)
    summary |= _of_ppo(session, evaluation, before, after, best) | extra
    session.report("evaluation", 1, 1, summary)
    rows = zip(before.completions, after.completions, strict=True)
    session.show("evaluation", 1, [new.sample(old) for old, new in rows])
    result = StageResult(1, time.perf_counter() - began, summary)
    session.finish("evaluation", None, context.codec.tokenizer, result)
    return result


def _of_ppo(
    session: Session,
    evaluation: Evaluation,
    before: HeldOutResponses,
    after: HeldOutResponses,
    best: Callable[[], Model] | None,
) -> dict[str, float]:
    """PPO's own summary, and its best checkpoint measured again. If that is the last one, `after` are its responses."""
    ppo = session.checkpoints.result("ppo")
    if ppo is None:
        return {}
    found = {name: ppo.summary[name] for name in _FROM_PPO if name in ppo.summary}
    if "best_step" not in found:
        return found
    if found["best_step"] != ppo.steps:
        if best is None:
            session.log("PPO's best checkpoint is not on this machine, so it is not evaluated again.", warning=True)
            return found
        session.stop_if_asked()
        after = evaluation.respond(best(), "best")
    figures = means(after.completions) | evaluation.win_rates(before, after)
    return found | {f"best_{name}": figures[name] for name in _OF_BEST if name in figures}


def means(answers: Sequence[Completion]) -> dict[str, float]:
    """Mean KL (nats per response), length (tokens) and share of finished responses; score and judge if there are any."""
    count = len(answers)
    values = {
        "kl": sum(c.kl for c in answers) / count,
        "response_length": sum(c.tokens for c in answers) / count,
        "eos_rate": sum(c.finished for c in answers) / count,
    }
    for name in ("score", "judge"):
        numbers = [number for c in answers if (number := getattr(c, name)) is not None]
        if numbers:
            values[name] = sum(numbers) / count
    return values


def compare(before: Sequence[Completion], after: Sequence[Completion]) -> dict[str, float]:
    """The means of both sides, and how often `after` wins by the rewards."""
    old, new = means(before), means(after)
    summary = {"kl": new["kl"]}
    for name, shown in (
        ("score", "score"),
        ("judge", "judge"),
        ("response_length", "length"),
        ("eos_rate", "eos_rate"),
    ):
        if name in old and name in new:
            summary |= {f"{shown}_before": old[name], f"{shown}_after": new[name]}
    if "score" in new:
        won = points([c.score for c in before], [c.score for c in after])
        summary["rm_win_rate"] = sum(won) / len(won)
    return summary


def points(before: Sequence[float | None], after: Sequence[float | None]) -> list[float]:
    """Per pair: 1 if `after` is higher, 0 if `before` is, ½ for a tie."""
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old is not None and new is not None]
    assert len(pairs) == len(before)  # the spec requires rewards or a judge
    return [1.0 if new > old else 0.5 if new == old else 0.0 for old, new in pairs]
