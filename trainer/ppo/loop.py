"""PPO for language models, read from top to bottom: sample → score → advantages → update → log → save.

The algorithm is Schulman et al. (2017) as adapted by Ziegler et al. (2019), Stiennon et al. (2020) and Ouyang et al.
(2022), with the implementation details of Huang et al. (2024, "The N+ implementation details of RLHF with PPO"). Its
relatives (REINFORCE, RLOO, GRPO, A*-PO, the KL-penalty form, online iterative RLHF) are the same loop with other parts
chosen. `docs/explanation/ppo.md` has every formula with its source.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from trainer.events import Curve
from trainer.health import Monitor
from trainer.models import Model
from trainer.ppo import optimal_value, self_test, state
from trainer.ppo.experience import build_experience
from trainer.ppo.health import Watch
from trainer.ppo.iteration_log import (
    describe,
    describe_dials,
    describe_rates,
    describe_spreads,
    summarise,
    token_tables,
)
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Coefficients
from trainer.ppo.online import Feedback, refit, round_beginning_at
from trainer.ppo.ptx import Pretraining
from trainer.ppo.state import Dials, RunHistory, restore, trainer_state
from trainer.ppo.update import moved_from_old_policy, update
from trainer.rollout.batch import score
from trainer.rollout.context import PPOModels
from trainer.rollout.producer import RolloutProducer
from trainer.sampling.sampler import let_go, sampler_for
from trainer.session.checkpoint import StageResult
from trainer.session.peak_memory import Peak
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint, StageRun, run_steps, save
from trainer.spec import PPOSpec
from trainer.stages.evaluation import Evaluation, HeldOut, completions
from trainer.stages.tokenized_rows import TokenizedDemonstration
from trainer.text.codec import Codec, TokenizedPrompt


def train(  # noqa: PLR0913 each is one of the stage's own inputs
    session: Session,
    spec: PPOSpec,
    actors: PPOModels,
    codec: Codec,
    prompts: list[TokenizedPrompt],
    held_out: HeldOut,
    texts: Sequence[list[int]] = (),
    feedback: Feedback | None = None,
    references: Sequence[TokenizedDemonstration] = (),
) -> StageResult:
    """Train the policy (and the critic) in place from the newest checkpoint on, and save the policy as the stage's result.

    The policy and a separate critic come loaded from that checkpoint; everything else that moves is put back here. `texts`
    are for `ppo.ptx`, `feedback` is for `ppo.online`, `references` are the answers on which the run's reward model was
    normalised, for `ppo.self_test`. Raises SelfTestFailed, Diverged, Unhealthy, RewardError, DataError,
    ModelError, Stopped; and RolledBackError, when the actors are to be built anew from the newest checkpoint.
    """
    point = ResumePoint.of(session, "ppo")
    seed, device = session.seed("ppo"), session.device
    actors = replace(actors, sampler=sampler_for(session, spec, codec, actors.policy, [*prompts, *held_out.prompts]))
    course = RunHistory(Monitor(session.spec.health, spec))
    watch = Watch(session, course, held_out.spec.keep_best)
    learners = Learners.of(actors, spec)
    pretraining = Pretraining.of(texts, spec, codec.pad_id, seed, device, session.world)
    evaluation = Evaluation(session, held_out, actors, codec, spec)
    dials = restore(point.checkpoint, actors, learners, course) if point.checkpoint else Dials.of(spec)
    learners = learners.at(course.rate_factor, watch.leave_out)
    rollouts = RolloutProducer(spec, actors, codec, prompts, seed, device)
    rollouts.restore(point.checkpoint)

    def iteration(index: int) -> dict[str, float]:
        metrics = refit_if_due(index)

        # sample
        peak = Peak(device)
        batch, responses, seconds = rollouts.of(index)
        metrics |= peak.reached("rollout") | {"time/rollout": seconds}
        with rollouts.ahead_of(index + 1):
            # score
            pass_before = not spec.update_gives_old_logprobs(index)
            scored = score(actors, batch, responses, codec, spec, device, spec.temperature, pass_before)
            dials.scale = dials.scale.with_scores(scored.rewards.totals)

            # advantages
            kl_coef = dials.kl_coef_at(index, spec)
            best = [dials.optimal_values[row] for row in rollouts.rows(index)] if dials.optimal_values else None
            experience = build_experience(
                scored,
                actors.critic,
                spec,
                kl_coef=kl_coef,
                score_scale=dials.scale.deviation,
                optimal_values=best,
                world=actors.world,
            )

            # update
            metrics |= peak.reached("score")
            began = time.perf_counter()
            coefficients = Coefficients(kl_coef, dials.old_kl_beta)
            updated = update(experience, learners, spec, index, seed, coefficients, dials.cut_steps_left, pretraining)
            experience = updated.experience
            actors.sampler.policy_moved()
            metrics |= summarise(updated.history) | {"time/train": time.perf_counter() - began}
        metrics |= peak.reached("train")
        metrics |= describe_rates(learners, updated, spec, index)
        metrics |= describe(experience) | describe_dials(experience, spec, dials, kl_coef)
        metrics |= describe_spreads(experience.scored, spec, kl_coef, dials.scale.deviation)
        metrics |= {"episode": (index + 1) * spec.batch_size} | watch.figures()

        # what moves between iterations
        dials.cut_steps_left = updated.cut_steps_left
        dials.turn(
            spec, index, metrics["objective/kl"], moved_from_old_policy(experience, actors.policy, spec, actors.world)
        )
        state.move(actors.reference, actors.policy, spec.reference, index)

        # log
        evaluated = (index + 1) % spec.eval_every == 0 or index + 1 == spec.steps
        if spec.log_samples:
            shown = completions(experience.scored, held_out.judge, spec.log_samples)
            tables = token_tables(experience, updated, codec.tokenizer, spec, index) if evaluated else []
            rows_shown = zip_longest(shown, tables[: len(shown)])
            session.show("ppo", index + 1, [row.sample(token_table=table) for row, table in rows_shown])
        return metrics | (evaluation.metrics() if evaluated else {})

    def refit_if_due(index: int) -> dict[str, float]:
        """Between two rounds of online iterations: the reward model learns from fresh labels. Else nothing."""
        number = round_beginning_at(index, spec)
        if number is None or feedback is None:
            return {}
        figures, fresh = refit(session, spec, actors, codec, prompts, feedback, dials.pairs, number)
        dials.refits, dials.pairs = number, [*dials.pairs, *fresh]
        if spec.advantage.baseline == "optimal_value":  # other rewards, another best
            optimal_value.estimate(session, spec, actors, codec, prompts, dials)
        return figures

    run = StageRun(
        "ppo",
        spec.steps,
        spec.save_every,
        actors.policy,
        codec.tokenizer,
        iteration,
        lambda: trainer_state(actors, learners, dials, course, rollouts.state()),
        lambda done, metrics, seconds: watch.look(run, done, metrics, seconds),
    )
    session.begin("ppo", spec.steps, point.step)
    if point.checkpoint is None:
        if spec.self_test:
            self_test.run(session, spec, actors, learners, codec, prompts, references)
        if spec.advantage.baseline == "optimal_value":
            optimal_value.estimate(session, spec, actors, codec, prompts, dials)
        metrics = evaluation.metrics()
        session.report("ppo", 0, spec.steps, metrics)
        watch.look(run, 0, metrics, 0.0)
        if dials.optimal_values:  # their sampling may have taken hours
            save(session, run, 0, 0.0)
    seconds = run_steps(session, run, point)
    session.emit(Curve(stage="ppo", points=course.curve))
    result = StageResult(spec.steps, seconds, course.summary(held_out.spec.keep_best))
    beside: dict[str, Model] = {"reward_model": actors.reward_model} if dials.refits else {}
    let_go(session)
    session.finish("ppo", actors.policy, codec.tokenizer, result, models=beside)
    return result
