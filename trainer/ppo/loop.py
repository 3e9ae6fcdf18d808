"""PPO for language models. Start here: the loop reads from top to bottom.

    sample → score → advantages → update → log → save

The algorithm is PPO (Schulman et al. 2017), adapted to language models by Ziegler et al. (2019), Stiennon et al. (2020) and
Ouyang et al. (2022). Details follow Huang et al. (2024, "The N+ implementation details of RLHF with PPO"). REINFORCE, RLOO,
GRPO, GSPO, CISPO, A*-PO, the KL-penalty form and online iterative RLHF are the same loop with other parts. `docs/explanation/ppo.md` gives
every formula with its source, and `trainer/__init__.py` the suffixes of tensor names.

    one step of the loop           where it is
    choose prompts                 trainer/rollout/curriculum.py, refill.py
    sample responses               trainer/rollout/producer.py → trainer/sampling/
    score them                     trainer/rollout/batch.py → trainer/rewards/
    rewards, values, advantages    trainer/ppo/experience.py → advantages.py
    update policy and critic       trainer/ppo/update.py → minibatch.py → losses.py
    the critic before that         trainer/ppo/value_pretraining.py
    state between iterations       trainer/ppo/state.py
    set-up, start and end          trainer/ppo/stage.py
"""

from functools import partial

from trainer.ppo.experience import build_experience, learnable
from trainer.ppo.iteration_log import iteration_metrics, no_update_metrics
from trainer.ppo.stage import PPOData, PPOStage
from trainer.ppo.state import move_reference
from trainer.ppo.update import kl_to_old_policy, update
from trainer.rollout.batch import score
from trainer.rollout.context import PPOContext
from trainer.session.checkpoint import StageResult
from trainer.session.peak_memory import PeakMemory
from trainer.session.session import Session


def train(session: Session, context: PPOContext, data: PPOData) -> StageResult:
    """Train the policy and the critic in place, from the newest checkpoint on, and save the policy as the stage's result.

    Raises SelfTestFailed, Diverged, Unhealthy, Paused, Stopped, RewardError, DataError and ModelError. After RolledBackError
    the caller builds the models anew from the newest checkpoint and calls again.
    """
    stage = PPOStage(session, context, data)
    state, models = stage.state, stage.context.models
    loop, producer, health = stage.loop, stage.producer, stage.health
    stage.begin()

    for index in loop.steps():
        turn = stage.turn()  # a live knob may have changed its parts
        context, learners, iteration, spec = turn.context, turn.learners, turn.iteration, turn.context.spec
        metrics = stage.refit_if_due(turn)

        # sample
        memory = PeakMemory(context.device)
        rollout = producer.take(index, partial(stage.stop_between_rounds, turn, index))
        metrics |= memory.reached("rollout") | rollout.metrics

        with producer.sample_ahead(index, loop.total_steps):  # no effect unless `ppo.rollout.asynchronous`
            # score
            scored = score(
                context,
                rollout.prompts,
                rollout.responses,
                policy_pass=stage.needs_policy_pass(turn, rollout),
                rewards=rollout.rewards,
                age=rollout.age,
            )
            learned = learnable(scored, spec, state.optimal_values_at(rollout.rows))
            metrics |= stage.missing_metrics(rollout, scored, learned) | producer.measure(rollout, scored.rewards)
            result, coefficients = None, state.kl_coefficients(spec, iteration)
            if learned is not None:
                state.scale = state.scale.with_scores(learned.rewards.numbers)

                # advantages
                experience = build_experience(
                    context,
                    learned,
                    kl_coef=coefficients.reference,
                    score_scale=state.scale.deviation,
                    optimal_values=state.optimal_values_at(learned.of(rollout.rows)),
                )
                experience = state.in_value_units(experience, context)
                metrics |= memory.reached("score")

                # update
                cut_steps = state.cut_steps_left
                result = update(context, experience, learners, coefficients, iteration, cut_steps, stage.pretraining)
                models.sampler.policy_moved()
        metrics |= memory.reached("train") | {"episode": stage.responses_after(index + 1)}

        # adapt
        if result is None:
            metrics |= no_update_metrics(scored)
        else:
            metrics |= iteration_metrics(result, learners, state, coefficients, spec, iteration)
            metrics |= stage.report_critic(result, turn, index)
            state.cut_steps_left = result.cut_steps_left
            old_kl = None if result.moved_nothing else kl_to_old_policy(context, result.experience)
            responses = len(result.experience.scored.batch)
            state.adapt(spec, iteration, metrics["objective/kl"], old_kl, responses)
            metrics |= stage.follow_kl(turn, old_kl)
        metrics |= stage.refill_metrics(rollout)
        move_reference(models.reference, models.policy, spec.reference, iteration)

        # log
        metrics |= health.metrics() | stage.evaluate_if_due(turn, index)
        stage.log_samples(rollout, scored, result, turn)
        metrics = stage.after(turn, loop.agreed(metrics))
        findings = health.look(index + 1, stage.without_requested(metrics, turn))
        loop.report(index + 1, metrics | health.best_so_far(metrics))

        # save
        health.after_step(loop, index + 1, findings)
        stage.pause_if_missing(index + 1)
        loop.save_if_due(index + 1)
    return stage.finish()
