"""Sampled responses as text with their figures, for evaluation and for people."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from data.splits import prompt_text
from trainer.events import Sample, TokenRow
from trainer.rewards.answer import Answer
from trainer.rewards.judges import Judge
from trainer.rollout.batch import Scored


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


def completions(scored: Scored, judge: Judge | None, count: int | None = None) -> list[Completion]:
    """The first `count` responses of a scored batch (all for None), in its order. Raises RewardError if the judge fails."""
    answers, kls = scored.answers[:count], scored.kl_per_response().tolist()[:count]
    scores: Sequence[float | None] = [None] * len(answers)
    if scored.rewards.parts:
        scores = scored.scores_B.tolist()[:count]
    return [
        Completion(prompt_text(a.prompt), a.text, score, kl, len(a.response_ids), a.finished, said)
        for a, score, kl, said in zip(answers, scores, kls, opinions(judge, answers), strict=True)
    ]


def opinions(judge: Judge | None, answers: Sequence[Answer]) -> Sequence[float | None]:
    """The judge's score of each answer; None for each where nobody gives one."""
    scores = judge.scores(answers) if judge else None
    return [None] * len(answers) if scores is None else scores
