"""When a finished run counts as collapsed: it ended worse than it began, whatever its score says.

Two of the four 1B seeds of the N+ study (Huang et al. 2024) ended below the SFT model that they started from, their
reward-model scores rising all the while. So the score has no say here; four things have, in this order:

1. the run failed: a number was not finite, or a health rule stopped it;
2. the policy loses against the one it started from, beyond chance: the upper end of the 95 % interval of its win rate is below ½;
3. its responses no longer end: fewer than half as many finish as before, where at least half of them did;
4. it is left with few answers: the entropy is below `health.entropy_collapse.limit` of its first value.
"""

from collections.abc import Mapping

_ENDED = 0.5
"""Share of responses with an EOS that a policy must have had for their loss to mean anything."""


def collapse(summary: Mapping[str, float], entropy_limit: float, failure: str | None = None) -> str | None:
    """How the run collapsed, in a sentence; None if it did not. `summary` is the evaluation's."""
    if failure is not None:
        return failure
    rate, high = summary.get("win_rate"), summary.get("win_rate_high")
    if rate is not None and high is not None and high < 0.5:
        return f"It loses against the policy it started from: win rate {rate:.2f}, at most {high:.2f}."
    before, after = summary.get("eos_rate_before"), summary.get("eos_rate_after")
    if before is not None and after is not None and before >= _ENDED and after < before / 2:
        return f"Its responses no longer end: {after:.0%} do, before it was {before:.0%}."
    kept = summary.get("entropy_kept")
    if kept is not None and kept < entropy_limit:
        return f"It is left with few answers: {kept:.0%} of its first entropy."
    return None
