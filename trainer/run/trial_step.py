"""How far learning rates move a policy: one PPO iteration on the run's first batch, at several rates, before the run.

The responses, their scores and the advantages are those of the run's first iteration. Each rate begins with the same weights and
a new optimizer, without warm-up. Nothing is saved.
"""

import gc
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from trainer.errors import Diverged, SpecError, TrainerError
from trainer.health import Monitor
from trainer.ppo.experience import build_experience, learnable
from trainer.ppo.learners import Learners
from trainer.ppo.ptx import Pretraining
from trainer.ppo.state import PPOState
from trainer.ppo.update import kl_to_old_policy, update
from trainer.preflight.report import Finding, Level, TrialReport, TrialStep
from trainer.rollout.batch import score
from trainer.rollout.context import PPOContext, PPOModels
from trainer.rollout.producer import RolloutProducer
from trainer.run import pipeline
from trainer.run.process import device_of, named_error
from trainer.sampling.sampler import release_engine, sampler_for
from trainer.session.session import Session
from trainer.spec import JobSpec
from trainer.spec.validation_errors import explain

RATES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""The learning rates that are tried, beside `ppo.learning_rate`."""
TOO_FAR = 10
"""A KL above this many targets is too far for one iteration. One below a target divided by its square is hardly a step."""


def trial_steps(spec: JobSpec) -> TrialReport:
    """Measure the KL of the first iteration at several rates, with the models and rewards of the spec.

    Raises SpecError for a run whose first batch cannot be scored before its earlier stages, and TrainerError as the run would.
    """
    if "ppo" not in spec.stages:
        raise SpecError("The run has no PPO stage.")
    alone = _first_iteration(spec)
    with tempfile.TemporaryDirectory(prefix="proximal-trial-") as folder:
        session = Session(alone, Path(folder), None)
        try:
            session.compute_on(device_of(alone.runtime, session.world))
            steps, responses = _measured(session)
        except Exception as error:  # the process boundary, as in a run
            problem = named_error(error, session)
            if problem is error:
                raise
            raise problem from error
        finally:
            release_engine(session)
    before = next((stage for stage in spec.stages if stage in ("sft", "dpo", "kto")), None)
    return TrialReport(
        steps=steps,
        responses=responses,
        rate=spec.ppo.learning_rate,
        target=alone.ppo.adaptive_rate.target,
        before=before,
    )


def rate_for(target: float, steps: Sequence[TrialStep]) -> float | None:
    """The learning rate whose KL is `target`, on the line through the two nearest steps in logarithms; None beyond the steps."""
    known = [(step.learning_rate, step.kl) for step in steps if step.kl is not None and step.kl > 0]
    for (low, below), (high, above) in pairwise(known):
        if below <= target <= above and below < above:
            share = math.log(target / below) / math.log(above / below)
            return float(low * (high / low) ** share)
    return None


def _first_iteration(spec: JobSpec) -> JobSpec:
    """The spec of the first policy iteration alone, at a rate without warm-up."""
    fields: dict[str, Any] = spec.model_dump(mode="json")
    ppo, rate = fields["ppo"], spec.ppo.learning_rate
    if spec.ppo.advantage.baseline == "optimal_value":
        raise SpecError(
            '#/ppo/advantage/baseline: with "optimal_value" the run estimates V* of every prompt before its first iteration, which '
            "a trial step does not."
        )
    target = spec.ppo.adaptive_rate.target
    bounds = {"target": target, "minimum": rate / 2, "maximum": 0.999}
    ppo |= {"steps": 1, "lr_schedule": "kl_adaptive", "warmup_ratio": 0.0, "adaptive_rate": bounds, "online": None}
    ppo["guards"] |= {"target_kl": None, "lr_cut_kl": None}
    ppo["policy_loss"] |= {"old_kl_target": None}
    # The first responses are those of the policy itself, so there is nothing to correct.
    if spec.ppo.rollout.asynchronous:
        ppo["rollout"] |= {"asynchronous": False, "staleness": None, "correction": {}, "importance_cap": "auto"}
    if spec.ppo.uses_critic:
        ppo["critic"] |= {"warmup_steps": 0, "pretraining": None}
        if spec.ppo.has_separate_critic:
            ppo["critic"]["schedule"] = "constant"
    fields |= {"stages": ["ppo"], "seeds": 1}
    fields["evaluation"] |= {"judge": None, "pass_at": None, "against": None, "prompts": 1}
    try:
        return JobSpec.model_validate(fields)
    except ValidationError as error:
        problems = "; ".join(str(problem) for problem in explain(error))
        raise SpecError(f"The first iteration depends on an earlier stage of the run: {problems}") from error


def _measured(session: Session) -> tuple[list[TrialStep], int]:
    """The steps at each rate, and the number of responses that they learn from."""
    job = pipeline.prepared(session)
    models, data = pipeline.ppo_parts(job)
    spec = session.spec.ppo
    context = PPOContext.from_session(session, models, job.codec, spec)
    sampler = sampler_for(session, spec, job.codec, models.policy, data.prompts)
    context = replace(context, models=replace(models, sampler=sampler))
    state = PPOState.initial(spec, Monitor(session.spec.health, spec))
    rollout = RolloutProducer(context, data.prompts).take(0)
    learned = learnable(score(context, rollout.prompts, rollout.responses, rewards=rollout.rewards), spec)
    if learned is None and rollout.refill is not None and rollout.refill.rewards.complete:
        raise TrainerError("`ppo.rollout.refill` found no prompt whose responses differ in their scores.")
    if learned is None:
        raise TrainerError("No response of the first batch has a reward.")
    state.scale = state.scale.with_scores(learned.rewards.numbers)
    coefficients = state.kl_coefficients(spec, 0)
    experience = build_experience(context, learned, kl_coef=coefficients.reference, score_scale=state.scale.deviation)
    experience = state.in_value_units(experience, context)
    pretraining = Pretraining.build(context, data.texts)
    begun, found = _weights(models), list[TrialStep]()
    for rate in sorted({*RATES, spec.learning_rate}):
        learners = Learners.build(models, spec)
        learners.retune(rate, spec.critic.learning_rate)
        kl: float | None
        try:
            result = update(context, experience, learners, coefficients, 0, pretraining=pretraining)
            while result.skipped:  # at a loss scale that is still too high
                _restore(models, begun)
                learners = Learners.build(models, spec, scales=learners)
                learners.retune(rate, spec.critic.learning_rate)
                result = update(context, experience, learners, coefficients, 0, pretraining=pretraining)
            kl = kl_to_old_policy(context, result.experience)
        except Diverged:
            kl = None
        found.append(TrialStep(learning_rate=rate, kl=kl if kl is not None and math.isfinite(kl) else None))
        _restore(models, begun)
        del learners
        gc.collect()
    return found, len(learned.batch)


def _trained(models: PPOModels) -> Iterator[Tensor]:
    for model in (models.policy, models.critic):
        if model is not None:
            yield from (weights for weights in model.parameters() if weights.requires_grad)


def _weights(models: PPOModels) -> list[Tensor]:
    """A copy of all weights that learn, in host memory."""
    return [weights.detach().to("cpu", copy=True) for weights in _trained(models)]


@torch.no_grad()
def _restore(models: PPOModels, kept: Sequence[Tensor]) -> None:
    for weights, before in zip(_trained(models), kept, strict=True):
        weights.copy_(before)


def no_trial(error: TrainerError) -> Finding:
    """The finding of a trial step that could not be taken."""
    return _finding("warning", "no_trial_step", "#/ppo", f"No trial step was taken. {error}")


def trial_findings(spec: JobSpec, trial: TrialReport) -> Iterator[Finding]:
    """The findings about the spec's learning rate: far too low, far too high, or neither, with the rate for the target."""
    where, adapts, target = "#/ppo/learning_rate", spec.ppo.rate_adapts, trial.target
    suited = rate_for(target, trial.steps)
    (kl,) = (step.kl for step in trial.steps if step.learning_rate == trial.rate)
    if trial.before is not None:
        detail = f"The trial step used the weights before the stage `{trial.before}`, so its figures are rough."
        yield _finding("info", "trial_before_stage", "#/stages", detail)
    named = f"about {suited:.1g}" if suited is not None else "beyond the rates tried"
    moves = f"One iteration at {trial.rate:g} moves the policy by {'no finite KL' if kl is None else f'{kl:.2g} nats per token'}."
    settles = f"The rate that moves it by {target:g} is {named}."
    adapt = '`ppo.lr_schedule` = "kl_adaptive" finds the rate itself.'
    if kl is None or kl > TOO_FAR * target:
        fix = (
            f"Lower `ppo.learning_rate`. {adapt}"
            if not adapts
            else "Lower `ppo.learning_rate`: the first iteration is at this rate."
        )
        yield _finding("warning", "rate_too_high", where, f"{moves} {settles}", fix)
    elif not adapts and kl < target / TOO_FAR**2:
        yield _finding("warning", "rate_too_low", where, f"{moves} {settles}", f"Raise `ppo.learning_rate`. {adapt}")
    else:
        yield _finding("info", "trial_step", where, f"{moves} {settles}")


def _finding(level: Level, code: str, where: str, detail: str, fix: str | None = None) -> Finding:
    return Finding(level=level, area="spec", code=code, where=where, detail=detail, fix=fix)
