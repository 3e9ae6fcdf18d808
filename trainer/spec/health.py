"""Health rules: the limits on PPO's metrics, and the action when one is passed."""

from typing import Annotated, Any, Literal

from pydantic import model_validator

from trainer.spec.facts import MAIN
from trainer.spec.section import PositiveInt, Section

HealthAction = Literal["off", "warn", "pause", "stop", "roll_back"]


class HealthRule(Section):
    """One rule: its limit, its patience and its action."""

    action: HealthAction = "warn"
    """`warn`: log an event. `pause`: save and end; the same command resumes. `stop`: save and fail; `not_finite` fails at once and saves nothing more. `roll_back`: return to the best checkpoint with half the learning rates."""
    limit: float = 0.0
    """The threshold. Its meaning is described at each rule. Left out: the rule's default."""
    patience: PositiveInt = 1
    """Steps in a row beyond the limit before the rule acts. Rules about evaluations count evaluations, and `reward_collapse` counts blocks of ten. Left out: the rule's default."""


def _rule(limit: float, patience: int = 1) -> HealthRule:
    return HealthRule(limit=limit, patience=patience)


class HealthSpec(Section):
    """The limits on PPO's metrics. Each rule's event names the cause, the evidence and the setting to change."""

    enabled: Annotated[bool, MAIN] = True
    """False turns every rule off."""
    kl_blow_up: HealthRule = _rule(50.0)
    """`objective/kl` above the limit, in nats per response."""
    negative_kl: HealthRule = _rule(-1.0, 5)
    """`objective/kl` below the limit: the sampled policy is not the one that is trained."""
    entropy_collapse: HealthRule = _rule(0.1, 3)
    """`policy/entropy_avg` below this share of its first value."""
    approxkl_high: HealthRule = _rule(0.1, 3)
    """`policy/approxkl_avg` above the limit: the steps are too large. It is always 0 with one optimizer step per iteration."""
    approxkl_jump: HealthRule = _rule(1.0)
    """`policy/approxkl_avg` above the limit even once: one iteration replaced the policy by another one."""
    clipfrac_high: HealthRule = _rule(0.3, 3)
    """`policy/clipfrac_avg` above the limit."""
    clipfrac_zero: HealthRule = _rule(0.0, 30)
    """`policy/clipfrac_avg` at the limit or below with several optimizer steps per iteration, while the KL to the first policy is below 0.1 nats: the policy hardly moves."""
    policy_still: HealthRule = _rule(1e-4, 20)
    """KL to the first policy (`objective/kl`, or `objective/kl_initial` where the reference moves) and `policy/approxkl_avg` below the limit, in nats: the policy does not move at all. Warm-ups are left out."""
    reward_collapse: HealthRule = _rule(0.4)
    """`objective/scores` has fallen and stays low for a quarter of the run, 20 iterations at least. The limit is the fall below the first ten iterations, as a multiple of the responses' standard deviation. A fall below the first iteration alone is twice that. A fall below the best ten iterations is twice that, and half of the gain. The patience counts blocks of ten iterations."""
    negative_explained_variance: HealthRule = _rule(0.0, 20)
    """`val/explained_var` below the limit: the critic is worse than a constant."""
    over_optimisation: HealthRule = _rule(0.1, 2)
    """The score rises while the win rate (or the judge) is this far below its best."""
    length_explosion: HealthRule = _rule(2.0, 3)
    """The score rises while `val/response_length` is above this multiple of its first value."""
    length_collapse: HealthRule = _rule(0.25, 3)
    """The score rises while `val/response_length` is below this share of its first value."""
    ensemble_disagreement: HealthRule = _rule(2.0, 5)
    """`reward/<name>/disagreement` of an ensemble of reward models above this multiple of its first value: the policy leaves the data that they learnt from. A refit of the reward model sets a new first value."""
    truncation: HealthRule = _rule(0.7, 10)
    """Share of responses cut off without an EOS above the limit."""
    kl_outweighs_reward: HealthRule = _rule(0.5, 10)
    """`objective/kl_penalty_std` above this multiple of the raw scores' standard deviation, while the mean raw score has risen by less than that deviation since the start. The KL penalty then outweighs the score of better responses. Only with the KL in the reward."""
    value_loss_spike: HealthRule = _rule(20.0)
    """`loss/value_avg` above this multiple of the median of its last 20 steps."""
    critic_worse_than_mean: HealthRule = _rule(0.0, 20)
    """`critic/skill` below the limit: the mean return is a better guess than the critic. Left out are returns whose spread is below a tenth of its first value, and the critic's warm-up."""
    critic_lags: HealthRule = _rule(0.5, 10)
    """The mean value is farther from the mean return than this multiple of the returns' standard deviation. It also is at most half as far from the mean return of one of the 20 steps before. The critic's warm-up is left out."""
    critic_noise_whitened: HealthRule = _rule(0.0, 5)
    """`objective/raw_scores_std` at the limit or below: all scores are equal, so the advantages are errors of the critic, which whitening scales to variance 1. Only with `ppo.advantage.normalize` = "whiten" without a `whiten_floor`, and without a KL penalty in the reward."""
    returns_outside_bins: HealthRule = _rule(0.05, 10)
    """`val/returns_outside_bins` above the limit: the critic cannot foresee this share of its targets. Only with `ppo.critic.classification`."""
    sampler_gap: HealthRule = _rule(0.05, 3)
    """`sampling/ratio/outside` above the limit: on this share of the tokens the sampler and the policy lie apart by more than a factor of 2."""
    sampler_differs: HealthRule = _rule(0.1, 3)
    """`sampling/ratio/beyond_rounding` above the limit: on this share of the tokens the sampler computes something else than the policy. Not with `ppo.rollout.asynchronous`, where it is an older policy."""
    refill_short: HealthRule = _rule(0.1, 5)
    """`refill/shortfall` above the limit: `ppo.rollout.refill` finds too few prompts whose responses differ in their scores."""
    teacher_kl_rises: HealthRule = _rule(1.5, 5)
    """`objective/teacher_kl` above this multiple of its first value, and at least 0.05 nats above it: the policy moves away from its teacher."""
    not_finite: HealthRule = HealthRule(action="stop", limit=0.0)
    """A loss or gradient is NaN or infinite more often than the limit. The step is never taken. `stop` fails in the midst of the iteration and saves nothing more. `warn` skips the step, and `roll_back` returns to the best checkpoint."""

    @model_validator(mode="before")
    @classmethod
    def _a_part_of_a_rule_keeps_the_rest(cls, value: Any) -> Any:
        """`{"kl_blow_up": {"action": "stop"}}` changes the action, not the limit."""
        if not isinstance(value, dict):
            return value
        return {name: _completed(cls, name, rule) for name, rule in value.items()}


def _completed(spec: type[HealthSpec], name: str, rule: Any) -> Any:
    default = spec.model_fields[name].default if name in spec.model_fields else None
    return default.model_dump() | rule if isinstance(default, HealthRule) and isinstance(rule, dict) else rule
