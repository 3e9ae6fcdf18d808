"""The health rules of the critic, over the figures of its card (docs/explanation/critic-card.md)."""

from trainer.health.changes import Change
from trainer.health.history import Memory, Point
from trainer.health.rule import Rule, RuleObservation, Values
from trainer.spec import PPOSpec

_ENOUGH = 5
"""Smallest number of earlier returns with which the values are compared."""
_SETTLED = 0.1
"""Below this share of its first value, the spread of the returns is small: a critic has little left to foresee."""
_NEARER = 2.0
"""Values lag if they are so many times nearer to an earlier mean return than to the present one."""


def _worse_than_mean(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    names = ("critic/skill", "critic/returns_std")
    if any(name not in values for name in names) or names[1] not in memory.firsts:
        return None
    (skill, spread), first = (values[name] for name in names), memory.firsts[names[1]]
    observed = f"`{names[0]}` is {skill:.3g}, below {limit:g}: the squared error of the critic is {1 - skill:.3g} times that of the mean return"
    beyond = skill < limit and spread >= _SETTLED * first.value
    return RuleObservation(beyond, observed, [Point(name, step, values[name]) for name in names], [first])


def _lags(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    """A critic that lags has the values of returns that are over. One with a constant bias is as far from those."""
    names = ("critic/bias", "critic/returns", "critic/returns_std")
    before = memory.returns
    if any(name not in values for name in names) or len(before) < _ENOUGH:
        return None
    bias, returns, spread = (values[name] for name in names)
    value = returns + bias
    then = min(before, key=lambda point: abs(point.value - value))
    side = "below" if bias < 0 else "above"
    observed = (
        f"the mean value {value:.3g} lies {abs(bias):.3g} {side} the mean return {returns:.3g}, more than {limit:g} of their "
        f"spread {spread:.3g}, and nearest to the mean return {then.value:.3g} of step {then.step}"
    )
    beyond = abs(bias) > limit * spread > 0 and _NEARER * abs(then.value - value) < abs(bias)
    return RuleObservation(beyond, observed, [Point(name, step, values[name]) for name in names], [then])


def _noise_whitened(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    metric = "objective/raw_scores_std"
    if metric not in values:
        return None
    value, first, finished = values[metric], memory.firsts.get(metric), values.get("val/eos_rate", 1.0)
    observed = f"`{metric}` is {value:.3g}, not above {limit:g}: the scores of a batch do not differ"
    points = [Point(metric, step, value)]
    beyond = value <= limit and finished in (0.0, 1.0)  # else a missing EOS has its penalty
    if first is None or first.value <= 0:
        return RuleObservation(beyond, observed, points, [])
    floor = float(f"{first.value / values.get('objective/score_scale', 1.0) / 10:.1g}")
    return RuleObservation(
        beyond,
        observed,
        points,
        [first],
        f"Set `ppo.advantage.whiten_floor` to {floor:g}, a tenth of the first spread of the scores, or stop if the task is solved.",
        (Change("ppo.advantage.whiten_floor", to=floor),),
    )


def _whitens_noise(ppo: PPOSpec, step: int) -> bool:
    """With a KL in the reward, or a penalty on lengths, equal scores leave advantages that are more than errors of the critic."""
    whitens = ppo.advantage.normalize == "whiten" and ppo.advantage.whiten_floor == 0
    other = ppo.kl.in_reward or ppo.shaping.length_penalty > 0 or ppo.shaping.overlong_tokens is not None
    return whitens and _is_used(ppo, step) and not other


def _is_used(ppo: PPOSpec, step: int) -> bool:
    """The policy does not learn from the critic in value pretraining and in its warm-up."""
    return ppo.uses_critic and step > ppo.critic.warmup_steps


CRITIC_RULES: dict[str, Rule] = {
    "critic_worse_than_mean": Rule(
        _worse_than_mean,
        "the critic is worse than the mean return would be, so its advantages mislead the policy",
        "Pretrain the critic: set `ppo.critic.pretraining`, or raise `ppo.critic.warmup_steps` or `ppo.critic.learning_rate`.",
        _is_used,
    ),
    "critic_lags": Rule(
        _lags,
        "the critic lags behind the policy",
        "Raise `ppo.critic.epochs` or `ppo.critic.learning_rate`, or lower `ppo.learning_rate`.",
        _is_used,
    ),
    "critic_noise_whitened": Rule(
        _noise_whitened,
        "the advantages are errors of the critic, which whitening makes as large as those of a task to learn",
        "Set `ppo.advantage.whiten_floor`, or stop if the task is solved.",
        _whitens_noise,
    ),
}
