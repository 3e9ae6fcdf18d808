"""The health rules, as functions of a step's metrics. The limits are in the spec, the reasons in docs/explanation/health.md.

A rule returns a reading, or None for a step without its metrics. Metrics that are not finite are missing, as in the
events.
"""

import math
import operator
from collections.abc import Callable
from statistics import median

from trainer.health.changes import Change
from trainer.health.critic import CRITIC_RULES
from trainer.health.history import Memory, Point, is_disagreement, wanted_figure
from trainer.health.reward import BLOCK
from trainer.health.rule import Rule, RuleObservation, Values
from trainer.spec import PPOSpec

_ROUNDING = 1e-9
_ENOUGH = 5
"""Smallest number of value losses with which one is compared."""
_MOVED = 0.1
"""KL to the first policy, in nats per response, from which on a policy has moved."""
_FROM_TEACHER = 0.05
"""Smallest rise of the KL to the teacher that counts, in nats per token. A policy that begins as its teacher has a KL near 0."""


def _critic_warms_up(ppo: PPOSpec, step: int) -> bool:
    """The policy does not move then."""
    return ppo.uses_critic and step <= ppo.critic.warmup_steps


def _can_clip(ppo: PPOSpec, step: int) -> bool:
    """Nothing is clipped with one optimizer step per iteration: every ratio is 1."""
    return ppo.policy_loss.traits.clips and not _critic_warms_up(ppo, step) and ppo.epochs * ppo.minibatches > 1


def _moves(ppo: PPOSpec, step: int) -> bool:
    """The policy hardly moves while its learning rate warms up."""
    return not _critic_warms_up(ppo, step) and step > math.ceil(ppo.warmup_ratio * ppo.steps)


def _above(metric: str) -> Callable[[int, Values, float, Memory], RuleObservation | None]:
    def look(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
        if metric not in values:
            return None
        value = values[metric]
        observed = f"`{metric}` is {value:.3g}, above {limit:g}"
        return RuleObservation(value > limit, observed, [Point(metric, step, value)], [])

    return look


def _below(metric: str) -> Callable[[int, Values, float, Memory], RuleObservation | None]:
    def look(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
        if metric not in values:
            return None
        value = values[metric]
        observed = f"`{metric}` is {value:.3g}, below {limit:g}"
        return RuleObservation(value < limit, observed, [Point(metric, step, value)], [])

    return look


def _entropy_collapse(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    first = memory.firsts.get("policy/entropy_avg")
    if first is None or first.value <= 0 or first.metric not in values:
        return None
    value = values[first.metric]
    observed = f"`{first.metric}` is {value:.3g}, {value / first.value:.2g} of its first value {first.value:.3g}"
    return RuleObservation(value < limit * first.value, observed, [Point(first.metric, step, value)], [first])


def _clipfrac_zero(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    """A policy also moves by steps that are too small for a clip, and a schedule ends with small steps."""
    names = ("policy/clipfrac_avg", _kl_to_first(values))
    if any(name not in values for name in names):
        return None
    clipped, kl = (values[name] for name in names)
    observed = f"`{names[0]}` is {clipped:.3g}, not above {limit:g}, and `{names[1]}` is {kl:.2g}, below {_MOVED:g}"
    beyond = clipped <= limit and abs(kl) < _MOVED
    return RuleObservation(beyond, observed, [Point(name, step, values[name]) for name in names], [])


def _kl_to_first(values: Values) -> str:
    """The name of the KL to the policy that the stage began with."""
    return "objective/kl_initial" if "objective/kl_initial" in values else "objective/kl"


def _policy_still(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    """The KL is cumulative: a policy that moved at first and stays where it is has one, and is no finding.

    A skipped optimizer step has a finding of its own (`not_finite`).
    """
    kl = _kl_to_first(values)
    names = ("policy/approxkl_avg", kl)
    skipped = values.get("health/skipped_steps", 0.0) > memory.skipped
    if skipped or values.get("lr", 1.0) <= 0 or any(name not in values for name in names):
        return None
    moved = max(0.0, values[names[0]] - values.get("val/first_minibatch_approxkl", 0.0))
    observed = f"`{kl}` is {values[kl]:.2g} and `{names[0]}` {values[names[0]]:.2g}, both below {limit:g}"
    beyond = abs(values[kl]) < limit and moved < limit
    return RuleObservation(beyond, observed, [Point(name, step, values[name]) for name in names], [])


def _reward_collapse(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    fall = memory.rewards.fall(limit) if memory.block_complete else None
    if fall is None:
        return None
    metric, latest = "objective/scores", fall.latest[-1]
    observed = (
        f"the mean of `{metric}` fell from {fall.before.mean:.3g} (steps up to {fall.before.step}) to {latest.mean:.3g} and has "
        f"stayed low for {len(fall.latest) * BLOCK} steps, with a spread of {fall.before.spread:.3g} over responses"
    )
    now = [Point(metric, block.step, block.mean) for block in fall.latest]
    return RuleObservation(fall.fallen, observed, now, [Point(metric, fall.before.step, fall.before.mean)])


def _over_optimisation(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    wanted = wanted_figure(values)
    if wanted is None or "eval/score" not in values or not memory.best or memory.best[0].metric != wanted:
        return None
    best, score_then = memory.best[:2]
    value, score = values[wanted], values["eval/score"]
    observed = (
        f"`{wanted}` fell from {best.value:.3g} at step {best.step} to {value:.3g} "
        f"while `eval/score` rose from {score_then.value:.3g} to {score:.3g}"
    )
    beyond = best.value - value >= limit - _ROUNDING and score > score_then.value
    return RuleObservation(
        beyond, observed, [Point(wanted, step, value), Point("eval/score", step, score)], memory.best[:2]
    )


def _length_pays(
    is_beyond: Callable[[float, float], bool],
) -> Callable[[int, Values, float, Memory], RuleObservation | None]:
    """A score that rose with another length. `is_beyond` compares the length with the limit × its first value."""

    def look(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
        names = ("val/response_length", "objective/scores")
        if any(name not in values or name not in memory.firsts for name in names):
            return None
        (length, score), (first, score_then) = (values[name] for name in names), (memory.firsts[name] for name in names)
        observed = (
            f"`{names[0]}` is {length:.3g}, {length / first.value:.2g} times its first value {first.value:.3g}, "
            f"while the score rose from {score_then.value:.3g} to {score:.3g}"
        )
        beyond = is_beyond(length, limit * first.value) and score > score_then.value
        points = [Point(name, step, values[name]) for name in names]
        return RuleObservation(beyond, observed, points, [first, score_then])

    return look


def _ensemble_disagreement(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    """The ensemble whose disagreement has risen most."""
    risen = [
        (values[name] / first.value, first)
        for name, first in memory.firsts.items()
        if is_disagreement(name) and name in values and first.value > 0
    ]
    if not risen:
        return None
    factor, first = max(risen, key=lambda one: one[0])
    value = values[first.metric]
    observed = f"`{first.metric}` is {value:.3g}, {factor:.2g} times its first value {first.value:.3g}"
    return RuleObservation(value > limit * first.value, observed, [Point(first.metric, step, value)], [first])


def _truncation(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    if "val/eos_rate" not in values:
        return None
    finished = values["val/eos_rate"]
    observed = f"{1 - finished:.0%} of the responses are cut off without an EOS, more than {limit:.0%}"
    return RuleObservation(1 - finished > limit + _ROUNDING, observed, [Point("val/eos_rate", step, finished)], [])


def _kl_outweighs_reward(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    """At the best policy under the penalty, score − β·log π/π_ref is the same for every response (Rafailov et al. 2023, eq. 5).

    The penalties then differ as much as the scores. If that is so while the score has risen by less than its own spread, the
    penalty is what keeps it there. For spreads σ that are small beside β the best policy gains σ²/β at a KL of ½(σ/β)² nats.
    """
    names = ("objective/kl_penalty_std", "objective/raw_scores", "objective/raw_scores_std")
    if any(name not in values for name in names) or any(name not in memory.firsts for name in names[1:]):
        return None
    penalty, score, spread_now = (values[name] for name in names)
    score_then, spread_then = (memory.firsts[name] for name in names[1:])
    spread = max(spread_now, spread_then.value)
    if spread == 0:
        return None  # no score to outweigh
    rise, coef = score - score_then.value, spread / values.get("objective/score_scale", 1.0) / 10
    observed = (
        f"`{names[0]}` is {penalty:.3g}, {penalty / spread:.2g} times the spread of the scores ({spread:.3g}), while the mean "
        f"score rose by {rise:.2g} from {score_then.value:.3g}"
    )
    return RuleObservation(
        penalty > limit * spread and rise < spread,
        observed,
        [Point(name, step, values[name]) for name in names],
        [score_then, spread_then],
        f"Lower `ppo.kl.coef` to {coef:.1g} or less, a tenth of the spread of the optimised scores, or scale the rewards up.",
        (Change("ppo.kl.coef", to=float(f"{coef:.1g}")),),
    )


def _teacher_kl_rises(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    metric = "objective/teacher_kl"
    if metric not in values or metric not in memory.firsts:
        return None
    value, first = values[metric], memory.firsts[metric]
    observed = f"`{metric}` is {value:.3g} nats per token, more than {limit:g} times its first value {first.value:.3g}"
    beyond = value > max(limit * first.value, first.value + _FROM_TEACHER)
    return RuleObservation(beyond, observed, [Point(metric, step, value)], [first])


def _value_loss_spike(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    metric, before = "loss/value_avg", memory.value_losses
    if metric not in values or len(before) < _ENOUGH:
        return None
    value, middle = values[metric], median(point.value for point in before)
    observed = f"`{metric}` is {value:.3g}; the median of its last {len(before)} steps was {middle:.3g}"
    return RuleObservation(value > limit * middle > 0, observed, [Point(metric, step, value)], before)


def _not_finite(step: int, values: Values, limit: float, memory: Memory) -> RuleObservation | None:
    metric = "health/skipped_steps"
    if metric not in values:
        return None
    total = values[metric]
    observed = f"a loss or gradient was NaN or infinite ({total:.0f} in all, {limit:g} allowed)"
    return RuleObservation(total > max(limit, memory.skipped), observed, [Point(metric, step, total)], [])


RULES: dict[str, Rule] = {
    "kl_blow_up": Rule(
        _above("objective/kl"),
        "the policy has left the region that the rewards were made for",
        'Raise `ppo.kl.coef` (or set `ppo.kl.controller` = "adaptive"), or lower `ppo.learning_rate`.',
        lambda ppo, step: ppo.teacher is None or max(ppo.kl.coef, ppo.kl.final_coef) > 0,  # the teacher may be far from it
    ),
    "negative_kl": Rule(
        _below("objective/kl"),
        "a KL cannot be negative on average, so what is sampled is not the policy that is trained",
        'Keep `ppo.self_test` on and set `model.dtype` = "float32"; if it stays, lower `ppo.learning_rate`.',
    ),
    "entropy_collapse": Rule(
        _entropy_collapse,
        "the policy is left with few answers and explores no more",
        "Raise `ppo.policy_loss.entropy_coef` (0.01) or `ppo.kl.coef`, or lower `ppo.learning_rate`.",
    ),
    "approxkl_high": Rule(
        _above("policy/approxkl_avg"),
        "the steps are too large for the samples they are taken on",
        "Lower `ppo.learning_rate` or `ppo.epochs`, or set `ppo.guards.target_kl` (0.1).",
    ),
    "approxkl_jump": Rule(
        _above("policy/approxkl_avg"),
        "one iteration replaced the policy by another one, and later iterations may show nothing of it",
        "Begin again with a lower `ppo.learning_rate`, or roll back; `ppo.guards.target_kl` (0.1) bounds an iteration.",
    ),
    "clipfrac_high": Rule(
        _above("policy/clipfrac_avg"),
        "the steps are too large for the samples they are taken on",
        "Lower `ppo.learning_rate` or `ppo.epochs`, or set `ppo.guards.target_kl` (0.1).",
    ),
    "clipfrac_zero": Rule(
        _clipfrac_zero,
        "the policy hardly moves",
        "Raise `ppo.learning_rate` or `ppo.epochs`; check that the rewards of different responses differ.",
        _can_clip,
    ),
    "policy_still": Rule(
        _policy_still,
        "the policy is still the one that the stage began with",
        "Raise `ppo.learning_rate`; check that the rewards of different responses differ.",
        _moves,
    ),
    "reward_collapse": Rule(
        _reward_collapse,
        "the policy has become worse at what it is trained for",
        "Continue from the best checkpoint with a lower `ppo.learning_rate` or a higher `ppo.kl.coef`.",
    ),
    "negative_explained_variance": Rule(
        _below("val/explained_var"),
        "the critic foresees the returns worse than a constant would, and its advantages are noise",
        "Raise `ppo.critic.learning_rate` or `ppo.critic.warmup_steps`, set `ppo.critic.pretraining`, or set "
        '`ppo.critic.initial` = "reward_model".',
        lambda ppo, step: step > 0,  # no advantages are used before
    ),
    "over_optimisation": Rule(
        _over_optimisation,
        "the policy exploits what it is scored by (Goodhart's law)",
        "Raise `ppo.kl.coef` or lower `ppo.steps`; with `evaluation.keep_best` the better checkpoint is kept.",
    ),
    "length_explosion": Rule(
        _length_pays(operator.gt),
        "the score is being raised by length",
        "Set `ppo.shaping.length_penalty`, raise `ppo.kl.coef`, or lower `ppo.max_new_tokens`.",
    ),
    "length_collapse": Rule(
        _length_pays(operator.lt),
        "the reward favours short responses, or the task needs no longer ones",
        "Read some completions. If they are worse, correct the reward's bias: let it score completeness, or raise `ppo.kl.coef`.",
    ),
    "ensemble_disagreement": Rule(
        _ensemble_disagreement,
        "the policy leaves the data that the reward models learnt from, so its score is less and less certain",
        "Raise `ppo.kl.coef`, or `penalty` of the reward. Read some completions, and collect preferences on them.",
    ),
    "truncation": Rule(
        _truncation,
        "most responses never end, so their scores are those of fragments",
        "Raise `ppo.max_new_tokens` or `ppo.shaping.missing_eos_penalty`.",
    ),
    "kl_outweighs_reward": Rule(
        _kl_outweighs_reward,
        "the KL penalty takes away what better responses earn, so the policy stays near the reference",
        "Lower `ppo.kl.coef`, or scale the rewards up.",
    ),
    "value_loss_spike": Rule(
        _value_loss_spike,
        "the returns, or the critic, jumped",
        "Lower `ppo.critic.learning_rate`, or bound the scores with `ppo.shaping.clip`.",
    ),
    "returns_outside_bins": Rule(
        _above("val/returns_outside_bins"),
        "the critic takes these returns for the nearest end of its range",
        "Widen `low` and `high` of `ppo.critic.classification` to the range of the shaped scores, or bound the scores with `ppo.shaping.clip`. "
        "The range is fixed for a run, so begin a new one.",
    ),
    "sampler_gap": Rule(
        _above("sampling/ratio/outside"),
        "the responses are those of another policy, and the loss takes them for its own",
        'Set `ppo.rollout.correction.kind` = "mask", and lower `ppo.learning_rate` if the sampler is older than the policy. '
        "`sampling/ratio/mean`, `sampling/ratio/above` and `sampling/ratio/below` show which side is wrong.",
    ),
    "sampler_differs": Rule(
        _above("sampling/ratio/beyond_rounding"),
        "sampler and policy should have the same weights, and rounding does not explain the difference",
        "Compare precision, temperature and filters of the sampler with those of the policy, and keep `ppo.self_test` on. "
        '`ppo.rollout.correction.kind` = "mask" limits the damage.',
        lambda ppo, step: not ppo.rollout.asynchronous,
    ),
    "refill_short": Rule(
        _above("refill/shortfall"),
        "most prompts are too easy or too hard for the policy, so the iterations learn from less than a batch",
        "Choose prompts that the policy sometimes solves, or raise `ppo.samples_per_prompt` or `ppo.rollout.refill.max_rounds`.",
        lambda ppo, step: ppo.rollout.refill is not None,
    ),
    "teacher_kl_rises": Rule(
        _teacher_kl_rises,
        "the policy moves away from the teacher that it should become like",
        "Lower `ppo.learning_rate`. With rewards beside the teacher, raise `ppo.teacher.coef`.",
        lambda ppo, step: ppo.teacher is not None,
    ),
    "not_finite": Rule(
        _not_finite,
        "the step was not taken",
        'Lower `ppo.learning_rate`, or set `model.dtype` = "float32".',
    ),
    **CRITIC_RULES,
}  # fmt: skip
"""The rules by their names in the spec's `health`."""
