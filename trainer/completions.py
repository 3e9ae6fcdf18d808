"""Sampled responses as text with their figures, for evaluation and for people."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.data import prompt_text
from trainer.events import Sample
from trainer.judges import Judge
from trainer.ppo.rollout import Scored
from trainer.prompts import EncodedPrompt
from trainer.text import Codec


@dataclass(frozen=True)
class Completion:
    """One response to one prompt."""

    prompt: str
    response: str
    score: float
    kl: float
    """k1 estimate summed over the response, in nats."""
    tokens: int
    finished: bool
    judge: float | None

    def sample(self, reference: "Completion | None" = None) -> Sample:
        """As an event row, beside the reference's answer to the same prompt where there is one."""
        if reference is None:
            return Sample(**vars(self))
        return Sample(
            **vars(self),
            reference=reference.response,
            reference_score=reference.score,
            reference_judge=reference.judge,
        )


def completions(
    scored: Scored, prompts: Sequence[EncodedPrompt], codec: Codec, judge: Judge | None, count: int | None = None
) -> list[Completion]:
    """The first `count` responses of a scored batch (all for None), in the order of their prompts."""
    found = []
    scores, kls = scored.scores_B.tolist(), scored.kl_per_response().tolist()
    for row, (prompt, response) in enumerate(list(zip(prompts, scored.responses, strict=True))[:count]):
        text, question = codec.decode(response.ids), prompt_text(prompt.prompt)
        found.append(
            Completion(
                prompt=question,
                response=text,
                score=scores[row],
                kl=kls[row],
                tokens=len(response.ids),
                finished=response.finished,
                judge=judge(question, text, response.finished) if judge else None,
            )
        )
    return found
