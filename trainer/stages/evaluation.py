"""Held-out evaluation: how the policy does on prompts that it never trains on, and how often it beats another.

Each held-out prompt has draws of its own, fixed by the run's seed, the prompt's number and who answers. So a completion
does not depend on how many prompts are sampled at once, two evaluations in the loop differ only by the policy, and the
two sides of a comparison are independent of each other.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from data.splits import prompt_text
from data.statistics import wilson_interval
from trainer.events import Sample, TokenRow
from trainer.models import Model
from trainer.randomness import generator
from trainer.rewards.base import RewardInput
from trainer.rewards.judges import Judge
from trainer.rollout.batch import ScoredBatch, respond_with
from trainer.rollout.context import PPOModels
from trainer.rollout.shaping import missing_eos
from trainer.sampling import uniforms
from trainer.sampling.sampler import sampler_for
from trainer.session.checkpoint import StageResult
from trainer.session.session import Session
from trainer.spec import EvaluationSpec, PPOSpec
from trainer.text.codec import Codec, TokenizedPrompt

_FROM_PPO = ("best_step", "selection_win_rate", "entropy_kept")
_OF_BEST = ("win_rate", "win_rate_low", "win_rate_high", "score", "judge", "kl", "response_length")


@dataclass(frozen=True)
class Completion:
    """One response to one prompt."""

    prompt: str
    response: str
    score: float | None
    """The rewards' weighted sum, with the rule for a missing EOS; None where the run has no rewards."""
    kl: float
    """k1 estimate summed over the response, in nats."""
    tokens: int
    finished: bool
    judge: float | None
    """None without a judge, or with one that only compares."""

    def sample(self, reference: "Completion | None" = None, token_table: list[TokenRow] | None = None) -> Sample:
        """As an event row, beside the answer to the same prompt that it is compared with, where there is one."""
        own = self._shown()
        if reference is not None:
            theirs = reference._shown()
            beside = {"reference": theirs.response, "reference_score": theirs.score, "reference_judge": theirs.judge}
            own = own.model_copy(update=beside)
        return own.model_copy(update={"token_table": token_table})

    def _shown(self) -> Sample:
        """A number that is not finite is missing: JSON has none."""
        return Sample(
            **{k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in vars(self).items()}
        )


def completions(scored: ScoredBatch, judge: Judge | None, count: int | None = None) -> list[Completion]:
    """The first `count` responses of a scored batch (all for None), in its order. Raises RewardError if the judge fails."""
    answers, kls = scored.answers[:count], scored.kl_per_response().tolist()[:count]
    scores: Sequence[float | None] = [None] * len(answers)
    if scored.rewards.parts:
        scores = scored.scores_B.tolist()[:count]
    return [
        Completion(prompt_text(a.prompt), a.text, score, kl, len(a.response_ids), a.finished, said)
        for a, score, kl, said in zip(answers, scores, kls, opinions(judge, answers), strict=True)
    ]


def opinions(judge: Judge | None, answers: Sequence[RewardInput]) -> Sequence[float | None]:
    """The judge's score of each answer; None for each where nobody gives one."""
    scores = judge.scores(answers) if judge else None
    return [None] * len(answers) if scores is None else scores


@dataclass(frozen=True)
class HeldOut:
    """What to evaluate on, and who judges beside the rewards."""

    prompts: list[TokenizedPrompt]
    judge: Judge | None
    spec: EvaluationSpec


@dataclass(frozen=True)
class HeldOutResponses:
    """One response per held-out prompt."""

    completions: list[Completion]
    answers: list[RewardInput]


class Evaluation:
    """Lets policies answer the held-out prompts, and compares them."""

    def __init__(self, session: Session, held_out: HeldOut, actors: PPOModels, codec: Codec, spec: PPOSpec) -> None:
        self._session = session
        self._held_out = held_out
        # A figure over the whole run needs a fixed point: KL is to the policy as PPO began.
        self._actors = replace(actors, reference=actors.initial, sampler=replace(actors.sampler, more_follow=True))
        self._codec = codec
        self._spec = spec
        self._initial: HeldOutResponses | None = None

    def metrics(self) -> dict[str, float]:
        """The policy as it is now: means over the held-out prompts and its win rate against `initial`, under `eval/`."""
        before, after = self._before(), self.play(self._actors.policy, "ppo")
        values = means(after.completions) | self.win_rates(before, after)
        values["sqrt_kl"] = max(0.0, values["kl"]) ** 0.5
        return {f"eval/{name}": value for name, value in values.items()}

    @torch.no_grad()
    def play(self, policy: Model, purpose: str) -> HeldOutResponses:
        """One response of `policy` per prompt: the same draws for the same purpose every time."""
        found = HeldOutResponses([], [])
        actors, size, spec = replace(self._actors, policy=policy), self._held_out.spec.batch_size, self._held_out.spec
        for first in range(0, len(self._held_out.prompts), size):
            self._session.check_lease()
            prompts = self._held_out.prompts[first : first + size]
            draws = torch.cat([self._draws(purpose, first + row) for row in range(len(prompts))])
            scored = respond_with(
                actors, prompts, self._codec, self._spec, draws, self._session.device, spec.temperature
            )
            found.completions.extend(completions(scored, self._held_out.judge))
            found.answers.extend(scored.answers)
        return found

    def win_rates(self, before: HeldOutResponses, after: HeldOutResponses) -> dict[str, float]:
        """How often `after` wins, and the 95 % interval: by the judge where there is one, else by the rewards."""
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

    def _draws(self, purpose: str, number: int) -> torch.Tensor:
        tokens = self._held_out.spec.max_new_tokens or self._spec.max_new_tokens
        return uniforms(generator(self._session.seed("evaluation"), purpose, number), 1, tokens)

    def _before(self) -> HeldOutResponses:
        """The initial policy's responses: sampled once, and scored anew where the reward model itself learns."""
        if self._initial is None:
            self._initial = self.play(self._actors.initial, "before")
        elif self._spec.online is not None:
            self._initial = self._scored_now(self._initial)
        return self._initial

    def _scored_now(self, played: HeldOutResponses) -> HeldOutResponses:
        """In the same parts as when they were played: a resume plays them anew, and is to find the same bits."""
        found, size = HeldOutResponses([], played.answers), self._held_out.spec.batch_size
        for first in range(0, len(played.answers), size):
            answers = played.answers[first : first + size]
            totals = torch.tensor(self._actors.rewards.score(answers).totals)
            finished = torch.tensor([answer.finished for answer in answers])
            scores = missing_eos(totals, finished, self._spec.shaping).tolist()
            rows = zip(
                played.completions[first : first + size], scores, opinions(self._held_out.judge, answers), strict=True
            )
            found.completions.extend(replace(c, score=score, judge=by_judge) for c, score, by_judge in rows)
        return found


def run(
    session: Session,
    held_out: HeldOut,
    actors: PPOModels,
    codec: Codec,
    spec: PPOSpec,
    extra: dict[str, float],
    against: Model | None = None,
    best: Callable[[], Model] | None = None,
) -> StageResult:
    """Compare the policy with `against` (None: `actors.initial`), prompt by prompt, and save the figures.

    `best` loads PPO's best checkpoint, where that is not the last one. No draw of either side had a part in its choice, so
    its win rate is not the maximum of several.
    """
    began = time.perf_counter()
    session.begin("evaluation", 1, 0)
    actors = replace(actors, sampler=sampler_for(session, spec, codec))
    evaluation = Evaluation(session, held_out, actors, codec, spec)
    before = evaluation.play(actors.initial if against is None else against, "initial")
    session.stop_if_asked()
    after = evaluation.play(actors.policy, "after")
    summary = compare(before.completions, after.completions) | evaluation.win_rates(before, after)
    summary |= _of_ppo(session, evaluation, before, after, best) | extra
    session.report("evaluation", 1, 1, summary)
    rows = zip(before.completions, after.completions, strict=True)
    session.show("evaluation", 1, [new.sample(old) for old, new in rows])
    result = StageResult(1, time.perf_counter() - began, summary)
    session.finish("evaluation", None, codec.tokenizer, result)
    return result


def _of_ppo(
    session: Session,
    evaluation: Evaluation,
    before: HeldOutResponses,
    after: HeldOutResponses,
    best: Callable[[], Model] | None,
) -> dict[str, float]:
    """What PPO found of itself, and its best checkpoint measured again: `after`, where that is the last."""
    ppo = session.checkpoints.result("ppo")
    if ppo is None:
        return {}
    found = {name: ppo.summary[name] for name in _FROM_PPO if name in ppo.summary}
    if "best_step" not in found:
        return found
    if found["best_step"] != ppo.steps:
        if best is None:
            session.say("PPO's best checkpoint is not on this machine, so it is not evaluated again.", warning=True)
            return found
        session.stop_if_asked()
        after = evaluation.play(best(), "best")
    figures = means(after.completions) | evaluation.win_rates(before, after)
    return found | {f"best_{name}": figures[name] for name in _OF_BEST if name in figures}


def means(answers: Sequence[Completion]) -> dict[str, float]:
    """Mean KL, length and share of finished responses; score and judge where there are any."""
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
    """Means of both, and how often `after` wins by the rewards."""
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
    """Per pair: 1 where `after` is higher, 0 where `before` is, ½ for a tie."""
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old is not None and new is not None]
    assert len(pairs) == len(before)  # the spec sees to it that there are rewards or a judge
    return [1.0 if new > old else 0.5 if new == old else 0.0 for old, new in pairs]
