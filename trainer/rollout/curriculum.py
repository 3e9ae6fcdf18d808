"""A curriculum by measured difficulty (`ppo.curriculum`): prompts that the policy sometimes solves are drawn more often.

The variance p·(1 − p) of the success at a prompt is its learnability (LILO, Foster et al. 2025, arXiv 2502.12272). It bounds the
expected improvement of the policy from below (Bae et al. 2025, arXiv 2504.03380). The prompt's own earlier responses measure p, so
it costs no sampling of its own.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from trainer.randomness import generator
from trainer.rewards.missing import Missing
from trainer.session.checkpoint import load_optimizer
from trainer.session.manifest import STATE
from trainer.spec import CurriculumSpec
from trainer.text.codec import TokenizedPrompt

MEASURED = "curriculum"
"""Name of the measured difficulty's tensors in a checkpoint."""
_HARD, _EASY = 0.25, 0.75
"""Success rates below and above which the metrics call a prompt hard or easy."""


class Curriculum:
    """The successes at each prompt, and the order in which an iteration draws the prompts.

    Every process has all scores, so all draw the same prompts.
    """

    def __init__(self, spec: CurriculumSpec, prompts: Sequence[TokenizedPrompt], seed: int) -> None:
        self._spec, self._seed, self._key = spec, seed, _key(spec, prompts)
        self.successes_P = torch.zeros(len(prompts), dtype=torch.float64)
        """Discounted number of successful responses to each prompt."""
        self.responses_P = torch.zeros(len(prompts), dtype=torch.float64)
        """Discounted number of responses with a value."""

    @property
    def weights_P(self) -> Tensor:
        """floor + (1 − floor)·4·p·(1 − p), p = (successes + 1) ÷ (responses + 2). It is 1 for a prompt without responses."""
        rate_P = (self.successes_P + 1) / (self.responses_P + 2)
        return self._spec.floor + (1 - self._spec.floor) * 4 * rate_P * (1 - rate_P)

    def drawn(self, iteration: int, first: int, count: int) -> list[int]:
        """Indices at the places `first` to `first` + `count` − 1 of the iteration's order of all prompts.

        The order is one of draws without replacement, each in proportion to the weights: by descending u^(1/w), u uniform
        (Efraimidis & Spirakis 2006). Beyond the last prompt another order of all prompts follows.
        """
        total, picked = len(self.responses_P), list[int]()
        while len(picked) < count:
            lap, place = divmod(first + len(picked), total)
            uniforms_P = torch.rand(
                total, generator=generator(self._seed, "curriculum", iteration, lap), dtype=torch.float64
            )
            order_P = torch.argsort(uniforms_P.log() / self.weights_P, descending=True, stable=True)
            picked += order_P[place : place + count - len(picked)].tolist()
        return picked

    def add(self, rows: Sequence[int], totals: Sequence[float | Missing]) -> None:
        """Add the scores of an iteration's responses, by the index of their prompts. Those without a value do not count.

        The earlier numbers of a prompt that has new values are multiplied by `decay` first.
        """
        fresh = [
            (row, float(total > self._spec.above))
            for row, total in zip(rows, totals, strict=True)
            if not isinstance(total, Missing)
        ]
        rows_N = torch.tensor([row for row, _ in fresh], dtype=torch.long)
        solved_N = torch.tensor([solved for _, solved in fresh], dtype=torch.float64)
        for numbers_P, added_N in ((self.successes_P, solved_N), (self.responses_P, torch.ones_like(solved_N))):
            numbers_P[rows_N.unique()] *= self._spec.decay
            numbers_P.index_add_(0, rows_N, added_N)

    def metrics(self, rows: Sequence[int]) -> dict[str, float]:
        """The shares of the prompts by their difficulty, their mean success rate, and that of the prompts in `rows`."""
        seen_P = self.responses_P > 0
        rate_P = self.successes_P / self.responses_P.clamp(min=torch.finfo(torch.float64).tiny)
        hard_P, easy_P = seen_P & (rate_P < _HARD), seen_P & (rate_P > _EASY)
        values = {
            "curriculum/unseen": _share(~seen_P),
            "curriculum/hard": _share(hard_P),
            "curriculum/medium": _share(seen_P & ~hard_P & ~easy_P),
            "curriculum/easy": _share(easy_P),
        }
        if bool(seen_P.any()):
            values["curriculum/success"] = float(rate_P[seen_P].mean())
        drawn_N = torch.tensor(sorted(set(rows)), dtype=torch.long)
        if bool(seen_P[drawn_N].any()):
            values["curriculum/drawn_success"] = float(rate_P[drawn_N][seen_P[drawn_N]].mean())
        return values

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Return the numbers as tensors, for a checkpoint."""
        key = torch.tensor(self._key)
        return {MEASURED: {"successes": self.successes_P.clone(), "responses": self.responses_P.clone(), "key": key}}

    def restore(self, checkpoint: Path | None) -> None:
        """Take over the numbers of a checkpoint, if it has those of the same prompts and the same bound of a success."""
        if checkpoint is None or not (checkpoint / STATE / f"{MEASURED}.safetensors").exists():
            return
        stored = load_optimizer(checkpoint, MEASURED)
        if int(stored["key"]) == self._key:
            self.successes_P, self.responses_P = stored["successes"], stored["responses"]


def _share(chosen_P: Tensor) -> float:
    return float(chosen_P.double().mean())


def _key(spec: CurriculumSpec, prompts: Sequence[TokenizedPrompt]) -> int:
    """A number of 63 bits that other prompts, or another bound of a success, do not share."""
    digest = hashlib.blake2b(repr(spec.above).encode(), digest_size=8)
    for prompt in prompts:
        digest.update(repr(prompt.ids).encode())
    return int.from_bytes(digest.digest(), "big") >> 1
