"""Held-out evaluation: the policy's figures on prompts that it never trains on, and how often it beats another policy.

Each held-out prompt has its own draws, fixed by the run's seed, the prompt's index and the policy's role. A completion
therefore does not depend on how many prompts are sampled at once. Two evaluations in the loop differ only by the policy,
and the two sides of a comparison are independent of each other.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from data.splits import prompt_text
from data.statistics import wilson_interval
from trainer.events import Sample, TokenRow
from trainer.hangs import phase
from trainer.models import Model
from trainer.randomness import generator
from trainer.rewards.base import RewardInput, Scores
from trainer.rewards.judges import Judge
from trainer.rewards.missing import JUDGE, Counts, Missing, MissingCounts, MissingWatch, counts_of, limits_of, together
from trainer.rollout.batch import ScoredBatch, sample_and_score, with_missing_eos
from trainer.rollout.context import PPOContext
from trainer.sampling import uniforms
from trainer.sampling.sampler import sampler_for
from trainer.session.checkpoint import StageResult
from trainer.session.session import Session
from trainer.spec import EvaluationSpec, MissingCause
from trainer.stages.pass_at import Verification
from trainer.text.codec import TokenizedPrompt

Value = float | Missing | None
"""A score; None if nothing was asked for it."""
_FROM_PPO = ("best_step", "selection_win_rate", "entropy_kept")
_OF_BEST = ("compared", "win_rate", "win_rate_low", "win_rate_high", "score", "judge", "kl", "response_length")


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
    score_missing: MissingCause | None = None
    """Why a reward has no value, so that there is no score."""
    judge_missing: MissingCause | None = None
    """Why the judge has no value."""

    def scored(self, score: Value, judge: Value) -> "Completion":
        """The same completion with these scores."""
        return replace(
            self,
            score=None if isinstance(score, Missing) else score,
            judge=None if isinstance(judge, Missing) else judge,
            score_missing=score.cause if isinstance(score, Missing) else None,
            judge_missing=judge.cause if isinstance(judge, Missing) else None,
        )

    def sample(
        self,
        reference: "Completion | None" = None,
        token_table: list[TokenRow] | None = None,
        policy_step: int | None = None,
    ) -> Sample:
        """Return an event row; with `reference`, also the response to the same prompt that it is compared with."""
        own = self._shown()
        if reference is not None:
            theirs = reference._shown()
            beside = {"reference": theirs.response, "reference_score": theirs.score, "reference_judge": theirs.judge}
            beside |= {
                "reference_score_missing": theirs.score_missing,
                "reference_judge_missing": theirs.judge_missing,
            }
            own = own.model_copy(update=beside)
        return own.model_copy(update={"token_table": token_table, "policy_step": policy_step})

    def _shown(self) -> Sample:
        """A number that is not finite becomes None, because JSON has no such number."""
        return Sample(
            **{k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in vars(self).items()}
        )


def judged_completions(scored: ScoredBatch, judged: Sequence[Value]) -> list[Completion]:
    """Return the first responses of a batch, as many as there are scores of a judge."""
    scores = shown_scores(scored.rewards, scored.scores_B)
    rows = zip(scored.answers, scores, scored.kl_per_response().tolist(), judged, strict=False)
    return [
        Completion(prompt_text(a.prompt), a.text, None, kl, len(a.response_ids), a.finished, None).scored(score, own)
        for a, score, kl, own in rows
    ]


def shown_scores(rewards: Scores, scores_B: Tensor) -> Sequence[Value]:
    """The scores with the rule for a missing EOS: `Missing` in place of NaN, and None for each if the run has no rewards."""
    if not rewards.parts:
        return [None] * len(rewards.totals)
    pairs = zip(rewards.totals, scores_B.tolist(), strict=True)
    return [total if isinstance(total, Missing) else float(score) for total, score in pairs]


@phase("evaluate")
def judge_scores(judge: Judge | None, answers: Sequence[RewardInput]) -> Sequence[Value]:
    """The judge's score of each answer; None for each without a judge, or with one that only compares."""
    scores = judge.scores(answers) if judge else None
    return [None] * len(answers) if scores is None else scores


@dataclass(frozen=True)
class HeldOut:
    """The prompts to evaluate on, and the judge besides the rewards."""

    prompts: list[TokenizedPrompt]
    judge: Judge | None
    spec: EvaluationSpec
    verifier: str | None = None
    """The name of the reward that verifies responses for pass@k; None where it is not measured, as in PPO's loop."""


@dataclass(frozen=True)
class HeldOutResponses:
    """One response of a policy to each held-out prompt."""

    completions: list[Completion]
    answers: list[RewardInput]
    counts: dict[str, MissingCounts] = field(default_factory=dict)
    """How many responses each reward, and a judge that scores, was asked about, and how many have no value."""
    passed: dict[str, float] = field(default_factory=dict)
    """pass@k by further responses, if it is asked for."""
    teacher_kl: list[float] = field(default_factory=list)
    """The k1 estimate of the reverse KL to the teacher, summed over each response; empty without a teacher."""


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
        self._counts: dict[str, MissingCounts] = {}

    @phase("evaluate")
    def metrics(self) -> dict[str, float]:
        """Evaluate the policy as it is now: means over the prompts and the win rate against `initial`, under `eval/`."""
        before, after = self._before(), self.respond(self._context.models.policy, "ppo")
        self._latest = after
        self._counts = after.counts  # those of `initial` are asked again after a resume, and would count twice
        values = means(after.completions) | missing_figures(after.completions) | self.win_rates(before, after)
        values["sqrt_kl"] = max(0.0, values["kl"]) ** 0.5
        if after.teacher_kl:
            values["teacher_kl"] = math.fsum(after.teacher_kl) / sum(answer.tokens for answer in after.completions)
        return {f"eval/{name}": value for name, value in values.items()}

    def take_counts(self) -> dict[str, MissingCounts]:
        """The counts of the evaluations and comparisons since the last call."""
        counts, self._counts = self._counts, {}
        return counts

    def samples(self, count: int) -> list[Sample]:
        """The responses of the last `metrics` to the first `count` held-out prompts, beside those of the initial policy."""
        if self._initial is None or self._latest is None:
            return []
        pairs = zip(self._initial.completions[:count], self._latest.completions[:count], strict=True)
        return [after.sample(before).model_copy(update={"held_out": True}) for before, after in pairs]

    @phase("evaluate")
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
            judged = judge_scores(self._held_out.judge, scored.answers)
            found.completions.extend(judged_completions(scored, judged))
            found.answers.extend(scored.answers)
            if (teacher_kl_BR := scored.teacher_kl_BR) is not None:
                mask_BR = scored.batch.mask_BR
                found.teacher_kl.extend(torch.where(mask_BR, teacher_kl_BR, 0.0).sum(1).tolist())
            found.counts.update(together(found.counts, counts_of({**scored.rewards.parts, **asked_of(judged)})))
        if (verification := self._verification(context)) is not None:
            verified = verification.verify(policy, purpose)
            found.passed.update(verified.figures())
            found.counts.update(together(found.counts, {verification.reward: verified.counts}))
        return found

    @phase("evaluate")
    def win_rates(self, before: HeldOutResponses, after: HeldOutResponses) -> dict[str, float]:
        """How often `after` wins by the judge, or by the rewards without one; with the 95 % interval.

        A pair counts if both sides have a value. If some do not, `compared` is the number of pairs that count, and without
        any pair there is no win rate.
        """
        points = self._points(before, after)
        won = [point for point in points if point is not None]
        figures = {} if len(won) == len(points) else {"compared": float(len(won))}
        if not won:
            return figures
        rate = sum(won) / len(won)
        low, high = wilson_interval(rate, len(won))
        return figures | {"win_rate": rate, "win_rate_low": low, "win_rate_high": high}

    def _points(self, before: HeldOutResponses, after: HeldOutResponses) -> Sequence[float | None]:
        judge = self._held_out.judge
        sides = before.completions, after.completions
        if judge is None and not self._context.models.rewards.members:
            return []
        if judge is None:
            return points(*([c.score for c in side] for side in sides))
        if all(c.judge is not None or c.judge_missing is not None for side in sides for c in side):
            return points(*([c.judge for c in side] for side in sides))
        verdicts = judge.points(before.answers, after.answers)
        self._counts = together(self._counts, {JUDGE: MissingCounts.of(verdicts)})
        return [None if isinstance(verdict, Missing) else verdict for verdict in verdicts]

    def _verification(self, context: PPOContext) -> Verification | None:
        held_out, pass_at = self._held_out, self._held_out.spec.pass_at
        if pass_at is None or held_out.verifier is None:
            return None
        return Verification(self._session, context, held_out.prompts, held_out.spec, pass_at, held_out.verifier)

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
            rewards = self._context.models.rewards.score(answers)
            scores = shown_scores(rewards, with_missing_eos(rewards, answers, self._context.spec.shaping))
            before = responses.completions[first : first + size]
            rows = zip(before, scores, judge_scores(self._held_out.judge, answers), strict=True)
            found.completions.extend(c.scored(score, judged) for c, score, judged in rows)
        return found


def asked_of(judged: Sequence[Value]) -> dict[str, Sequence[Value]]:
    """The scores of the judge by its name; {} without a judge that scores."""
    return {} if None in judged else {JUDGE: judged}


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
    summary |= {f"{name}_before": value for name, value in before.passed.items()}
    summary |= {f"{name}_after": value for name, value in after.passed.items()}
    _pause_if_missing(session, together(together(before.counts, after.counts), evaluation.take_counts()))
    session.report("evaluation", 1, 1, summary)
    rows = zip(before.completions, after.completions, strict=True)
    session.show("evaluation", 1, [new.sample(old) for old, new in rows])
    result = StageResult(1, time.perf_counter() - began, summary)
    session.finish("evaluation", None, context.codec.tokenizer, result)
    return result


def _pause_if_missing(session: Session, counts: Counts) -> None:
    """Report the responses without a value. Raise Paused if they are too many; the stage then begins again when resumed."""
    watch = MissingWatch()
    watch.note(session, "evaluation", 1, counts, held_out=True)
    if why := watch.exceeded(limits_of(session.spec)):
        session.pause(why, "rewards")


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
    found |= {f"best_{name}": figures[name] for name in _OF_BEST if name in figures}
    return found | {f"best_{name}": value for name, value in after.passed.items()}


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
            values[name] = sum(numbers) / len(numbers)
    return values


def missing_figures(
    answers: Sequence[Completion], scores: str = "missing", judge_scores: str = "judge_missing"
) -> dict[str, float]:
    """The number of responses that the mean score and the judge's leave out, by these names; without an entry for none."""
    counts = {
        scores: sum(c.score_missing is not None for c in answers),
        judge_scores: sum(c.judge_missing is not None for c in answers),
    }
    return {name: float(count) for name, count in counts.items() if count}


def compare(before: Sequence[Completion], after: Sequence[Completion]) -> dict[str, float]:
    """The means of both sides, the responses that these leave out, and how often `after` wins by the rewards."""
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
    summary |= missing_figures(before, "missing_before", "judge_missing_before")
    summary |= missing_figures(after, "missing_after", "judge_missing_after")
    won = [point for point in points([c.score for c in before], [c.score for c in after]) if point is not None]
    if won:
        summary["rm_win_rate"] = sum(won) / len(won)
    return summary


def points(before: Sequence[float | None], after: Sequence[float | None]) -> list[float | None]:
    """Per pair: 1 if `after` is higher, 0 if `before` is, ½ for a tie; None if one side has no number."""
    return [
        None if old is None or new is None else 1.0 if new > old else 0.5 if new == old else 0.0
        for old, new in zip(before, after, strict=True)
    ]
