"""The mean score over a run in blocks of iterations, and the test whether it has fallen and stays low.

Scores of consecutive iterations are not independent: the policy moves slowly, so a score above the average is followed by
others. The test therefore compares means of blocks, and measures them against two things. The first is the spread of the
scores of one batch: a smaller fall means little to the user. The second is the noise of the blocks, which is estimated from
the deviation inside them and from the differences between neighbours. A test on the correlation of consecutive iterations
raised false alarms in 24 to 100 % of healthy runs (docs/lab-notes.md, 2026-11-24).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median, pstdev

BLOCK = 10
"""Iterations of a block."""
FEWEST = 3
"""Smallest number of blocks that is judged: one, and two after it."""
_NOISES = 3.0
"""A fall is at least this multiple of the noise of the blocks."""
_STEPS_FOR_NOISE = 3
"""Smallest number of differences between neighbours whose median is used."""
_DEAD = 0.1
"""The spread of the scores has gone if it is below this share of its first value. A fall is then this share of it at least."""


@dataclass(frozen=True)
class Block:
    """Iterations in a row."""

    step: int
    """The last of them."""
    mean: float
    """Mean of the iterations' mean scores."""
    deviation: float
    """Standard deviation of the iterations' mean scores."""
    spread: float
    """Mean of the standard deviations over the responses of a batch."""


@dataclass(frozen=True)
class Fall:
    """The latest blocks compared with those before."""

    fallen: bool
    before: Block
    """The block that the fall is measured from: the first one, or the best."""
    latest: list[Block]


@dataclass
class RewardHistory:
    """The blocks so far, and the iterations since the last of them."""

    blocks: list[Block] = field(default_factory=list)
    first: Block | None = None
    """The first iteration alone. An update that is too large may ruin the policy before the second one."""
    scores: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)

    def add(self, step: int, values: Mapping[str, float]) -> bool:
        """Add a step with a score and its spread. Return whether a block is complete with it.

        A refit of the reward model (`ppo.online`) changes the units of the scores, and the history begins again.
        """
        if "online/round" in values:
            self.blocks, self.first, self.scores, self.spreads = [], None, [], []
        if "objective/scores" not in values or "objective/raw_scores_std" not in values:
            return False
        self.scores.append(values["objective/scores"])
        self.spreads.append(values["objective/raw_scores_std"])
        if self.first is None:
            self.first = Block(step, self.scores[0], 0.0, self.spreads[0])
        if len(self.scores) < BLOCK:
            return False
        self.blocks.append(Block(step, fmean(self.scores), pstdev(self.scores), fmean(self.spreads)))
        self.rearm()
        return True

    def rearm(self) -> None:
        """Drop the iterations since the last block. A roll-back goes on from an earlier policy."""
        self.scores, self.spreads = [], []

    def fall(self, limit: float) -> Fall | None:
        """Compare the latest quarter of the blocks, two at least, with those before. None with fewer than three blocks.

        The score has fallen if each of the latest blocks lies below the first one by `limit` spreads. It has also fallen if
        they lie below the first iteration by twice that, or below the best block by twice that and by half of the gain. If
        the latest scores hardly differ from each other any more, a smaller fall below the first iteration counts.
        """
        if len(self.blocks) < FEWEST:
            return None
        count = max(2, math.ceil(len(self.blocks) / 4))
        before, latest = self.blocks[:-count], self.blocks[-count:]
        first, best, noise = before[0], max(before, key=lambda block: block.mean), _noise(before)
        top = max(block.mean for block in latest)
        begin = self.first or first
        dead = max(block.spread for block in latest) < _DEAD * begin.spread
        if dead and begin.mean - top > _DEAD * begin.spread:
            return Fall(True, begin, latest)
        if first.spread > 0 and first.mean - top > max(limit * first.spread, _NOISES * noise):
            return Fall(True, first, latest)
        if begin.spread > 0 and begin.mean - top > max(2 * limit * begin.spread, _NOISES * _noise(latest)):
            return Fall(True, begin, latest)
        gain = best.mean - first.mean
        lost = best.mean - top > max(2 * limit * best.spread, gain / 2, _NOISES * noise)
        return Fall(lost and best.spread > 0, best, latest)


def _noise(blocks: Sequence[Block]) -> float:
    """The noise of a block's mean.

    The deviation inside the blocks is an upper bound for correlated iterations (it is √10 too large for independent ones).
    The median of the differences between neighbours includes slow movements, and a single fall does not raise it.
    """
    inside = math.sqrt(fmean(block.deviation**2 for block in blocks))
    steps = [abs(later.mean - earlier.mean) for earlier, later in pairwise(blocks)]
    return max(inside, median(steps)) if len(steps) >= _STEPS_FOR_NOISE else inside
