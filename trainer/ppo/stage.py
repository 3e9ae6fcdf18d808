"""The parts of the PPO stage around its loop: built or restored, started, and finished."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trainer.errors import SpecError
from trainer.events import CriticCard, Curve, Sample, TokenRow
from trainer.hangs import phase
from trainer.health import Monitor
from trainer.models import Model
from trainer.ppo.critic_card import card_metrics, critic_card
from trainer.ppo.critic_heads import refuse_idle_heads
from trainer.ppo.health import HealthCallback
from trainer.ppo.iteration_log import token_tables
from trainer.ppo.learners import Learners
from trainer.ppo.online import Feedback, refit_reward_model, round_beginning_at
from trainer.ppo.optimal_value import estimate_optimal_values
from trainer.ppo.ptx import Pretraining
from trainer.ppo.self_test import run_self_test
from trainer.ppo.state import PPOState
from trainer.ppo.update import UpdateResult
from trainer.ppo.value_pretraining import Turn, pretraining_turn, still_pretrains
from trainer.rewards.missing import Counts, counts_of, limits_of, missing_metrics
from trainer.rollout.batch import ScoredBatch
from trainer.rollout.context import PPOContext
from trainer.rollout.producer import Rollout, RolloutProducer
from trainer.sampling.sampler import release_engine, sampler_for
from trainer.session.checkpoint import StageResult
from trainer.session.session import Session
from trainer.session.stage_loop import ResumePoint, StageLoop
from trainer.spec import PPOSpec
from trainer.spec.knobs import Knob, value_of
from trainer.stages.evaluation import Completion, Evaluation, HeldOut, asked_of, judge_scores, judged_completions
from trainer.stages.tokenized_rows import TokenizedDemonstration
from trainer.text.codec import TokenizedPrompt


@dataclass(frozen=True)
class PPOData:
    """The data that the PPO stage reads."""

    prompts: list[TokenizedPrompt]
    held_out: HeldOut
    texts: Sequence[list[int]] = ()
    """Token ids of the texts for `ppo.ptx`."""
    feedback: Feedback | None = None
    """The source of labels for `ppo.online`."""
    references: Sequence[TokenizedDemonstration] = ()
    """The answers on which the run's reward model was normalised, for `ppo.self_test`."""


class PPOStage:
    """Everything that the loop works with, as the newest checkpoint left it, or new."""

    @phase("start")
    def __init__(self, session: Session, context: PPOContext, data: PPOData) -> None:
        """The policy and a separate critic in `context` are already loaded from that checkpoint.

        Raises DataError for unusable texts, and ModelError for a policy that the sampling engine cannot sample.
        """
        start, models = ResumePoint.newest(session, "ppo", context.spec), context.models
        spec = start.spec
        sampler = sampler_for(session, spec, context.codec, models.policy, [*data.prompts, *data.held_out.prompts])
        self.session, self.data = session, data
        self.context = context = replace(context, spec=spec, models=replace(models, sampler=sampler))
        self.state = PPOState.initial(spec, Monitor(session.spec.health, spec))
        self.health = HealthCallback(session, self.state.history, data.held_out.spec.keep_best)
        refuse_idle_heads(data.prompts, spec.critic.heads)
        self.producer = RolloutProducer(context, data.prompts, self.state.history.further)
        self.pretraining = Pretraining.build(context, data.texts)
        self.evaluation = Evaluation(session, context, data.held_out)
        learners = Learners.build(models, spec)
        if start.checkpoint is not None:
            self.state.restore(start.checkpoint, context, learners)
            self._restore_waiting(start.checkpoint, start.step)
            self.state.history.missing.follow(limits_of(session.spec))  # those of a branch may be others
        self.state.follow(spec, start.knobs)
        self._steps_taken = start.step
        self.learners = replace(learners, on_not_finite=self.health.skip_step)
        self._set_rates()
        self.loop = StageLoop(
            session,
            "ppo",
            self._total_steps(),
            start,
            models.policy,
            context.codec.tokenizer,
            lambda: self.state.save(self.context, self.learners, self.producer.state()),
            self._retune,
            held_out=True,
        )

    def _restore_waiting(self, checkpoint: Path, step: int) -> None:
        if dropped := self.producer.restore(checkpoint, step):
            self.session.log(
                f"{dropped} of the batches that waited at step {step} are older than the present bound of "
                f"{self.context.spec.rollout.staleness_bound} steps (`ppo.rollout.staleness`). They are dropped and sampled anew."
            )

    def begin(self) -> None:
        """Announce the stage. A new stage then tests itself, estimates V* if that is the baseline, and evaluates the policy.

        Raises SelfTestFailed, and SpecError for a checkpoint beyond the last step.
        """
        session, context, start = self.session, self.context, self.loop.start
        if start.step > self.loop.total_steps:
            before = self.state.history.value_pretraining.done
            raise SpecError(
                f"#/ppo/steps: the checkpoint of step {start.step} has {start.step - before} iterations after {before} steps of value "
                f"pretraining, more than the {context.spec.steps} of `ppo.steps`. Set it higher, or begin at an earlier checkpoint."
            )
        session.begin("ppo", self.loop.total_steps, start.step)
        if start.checkpoint is not None:
            return
        if context.spec.rollout.is_uncorrected:
            session.log(
                f"The responses are up to {context.spec.rollout.staleness_bound} steps old, and the policy loss takes them for "
                'those of the policy that learns. Set `ppo.rollout.correction.kind` = "auto" to correct for that.',
                warning=True,
            )
        if context.spec.self_test:
            run_self_test(session, context, self.learners, self.data.prompts, self.data.references)
        self._estimate_baseline()
        metrics = self.evaluation.metrics()
        self._note_missing(0, self.evaluation.take_counts(), held_out=True)
        self._show(0, self.evaluation.samples(context.spec.log_held_out))
        findings = self.health.look(0, metrics)
        session.report("ppo", 0, self.loop.total_steps, metrics | self.health.best_so_far(metrics))
        self.health.after_step(self.loop, 0, findings)
        self.pause_if_missing(0)
        if self.state.optimal_values:  # their sampling may have taken hours
            self.loop.save(0)

    def turn(self) -> Turn:
        """The parts of the next step: of value pretraining until it has ended, then of PPO."""
        progress, spec = self.state.history.value_pretraining, self.context.spec
        if still_pretrains(spec, progress):
            return pretraining_turn(self.context, self.learners, progress)
        return Turn(self.context, self.learners, self._steps_taken - progress.done, False)

    def after(self, turn: Turn, metrics: dict[str, float]) -> dict[str, float]:
        """Count a step of value pretraining, and end the pretraining if that is due. Return the metrics with its own.

        The number of steps is known from its end on. The policy has not moved since the evaluation before the first step. The
        checkpoint of that evaluation, if it is kept for a roll-back, therefore gets the critic that has learned.
        """
        self._steps_taken += 1
        if not turn.pretrains:
            return metrics
        progress, spec = self.state.history.value_pretraining, turn.context.spec.pretraining
        assert spec is not None  # it pretrains
        progress.add(metrics.get("val/explained_var", math.nan), spec)  # none of a batch without values
        if progress.ending is not None:
            self.loop.total_steps = self._total_steps()
            self.session.log(progress.explained(spec), warning=progress.has_failed)
            self.health.renew_first(self.loop)
        return metrics | progress.metrics()

    def _total_steps(self) -> int:
        """Steps of the stage: the most while value pretraining goes on."""
        progress, spec = self.state.history.value_pretraining, self.context.spec
        return spec.most_steps if still_pretrains(spec, progress) else progress.done + spec.steps

    def refit_if_due(self, turn: Turn) -> dict[str, float]:
        """Between two rounds of `ppo.online`, refit the reward model on fresh labels and return the metrics; else {}."""
        number, feedback, state = round_beginning_at(turn.iteration, self.context.spec), self.data.feedback, self.state
        if number is None or feedback is None:
            return {}
        metrics, fresh = refit_reward_model(
            self.session, self.context, self.data.prompts, feedback, state.pairs, number, state.history.missing
        )
        state.refits, state.pairs = number, [*state.pairs, *fresh]
        self._estimate_baseline()  # V* depends on the rewards
        return metrics

    def stop_between_rounds(self, turn: Turn, done: int) -> None:
        """If the run is asked to stop, save what `done` steps left, and raise Stopped. After a refit the step goes on.

        A checkpoint of the steps before would hold the refit, and the resumed run would refit once more.
        """
        if self.data.feedback is None or round_beginning_at(turn.iteration, self.context.spec) is None:
            self.loop.stop_inside_step(done)

    def needs_policy_pass(self, turn: Turn, rollout: Rollout) -> bool:
        """Whether log π_old is computed when the responses are scored: the update's own pass does not give it for all."""
        values = self.state.optimal_values_at(rollout.rows) or []
        leaves_out = rollout.has_idle_responses or any(map(math.isnan, values))
        return leaves_out or not turn.context.spec.update_gives_old_logprobs(turn.iteration)

    def responses_after(self, done: int) -> int:
        """Responses sampled in the first `done` steps."""
        return done * self.context.spec.batch_size + self.state.history.further.responses

    def refill_metrics(self, rollout: Rollout) -> dict[str, float]:
        """The metrics of all responses that were sampled to fill the batch; {} without `ppo.rollout.refill`."""
        return {} if rollout.refill is None else rollout.refill.metrics(self.context.spec.shaping)

    def missing_metrics(self, rollout: Rollout, scored: ScoredBatch, learned: ScoredBatch | None) -> dict[str, float]:
        """Report the sampled responses without a value, and return the metrics about them; {} if there never were any."""
        sampled = scored.rewards if rollout.refill is None else rollout.refill.rewards
        counts, count = counts_of(sampled.parts), 0 if learned is None else len(learned.batch)
        self._note_missing(rollout.iteration + 1, counts)
        metrics = missing_metrics(counts, self.state.history.missing)
        return metrics if count == len(scored.batch) else metrics | {"val/responses": float(count)}

    def follow_kl(self, turn: Turn, kl: float | None) -> dict[str, float]:
        """Take the learning rates that the KL of an iteration has set, if they follow it. Return the metrics about it."""
        if kl is None or not turn.context.spec.rate_adapts:
            return {}
        self._set_rates()
        return {"policy/moved_kl": kl}

    def pause_if_missing(self, done: int) -> None:
        """Save and raise Paused if a reward or a judge had no value for more responses than its `max_missing` allows.

        The first evaluation alone is not saved, so that it is made again.
        """
        if why := self.state.history.missing.exceeded(limits_of(self.session.spec)):
            if done or self.state.optimal_values:  # the sampling for V* may have taken hours
                self.loop.save(done)
            self.session.pause(why, "rewards")

    def _note_missing(self, step: int, counts: Counts, held_out: bool = False) -> None:
        self.state.history.missing.note(self.session, "ppo", step, counts, held_out)

    def report_critic(self, result: UpdateResult, turn: Turn, index: int) -> dict[str, float]:
        """Report the critic card of an iteration, and return its figures as metrics; {} without a critic."""
        card = critic_card(result.experience, turn.context.spec, self.context.codec)
        if card is not None:
            self.session.emit(CriticCard(stage="ppo", step=index + 1, card=card))
        return card_metrics(card)

    def log_samples(self, rollout: Rollout, scored: ScoredBatch, result: UpdateResult | None, turn: Turn) -> None:
        """Log some responses of the batch; after an evaluation token by token, with the first held-out prompts' responses.

        `result` is None if no response had a value.
        """
        spec, learned = self.context.spec, None if result is None else result.experience.scored
        done, made = rollout.iteration + 1, rollout.policy_step
        shown, tables, held_out = list[Completion](), dict[int, list[TokenRow]](), list[Sample]()
        if spec.log_samples:
            # a batch that was learned from as a whole has π_old from the update
            whole = learned if learned is not None and learned.rows is None else scored
            judged = judge_scores(self.data.held_out.judge, whole.answers[: spec.log_samples])
            self._note_missing(done, counts_of(asked_of(judged)))
            shown = judged_completions(whole, judged)
        if self.evaluates(turn):
            if shown and result is not None and learned is not None:
                rows = range(len(learned.batch)) if learned.rows is None else learned.rows
                tables = dict(zip(rows, token_tables(result, self.context.codec.tokenizer, spec), strict=False))
            held_out = self.evaluation.samples(spec.log_held_out)
        samples = [row.sample(token_table=tables.get(number), policy_step=made) for number, row in enumerate(shown)]
        self._show(done, [*samples, *held_out])

    def _show(self, step: int, rows: list[Sample]) -> None:
        if rows:
            self.session.show("ppo", step, rows)

    def evaluate_if_due(self, turn: Turn, index: int) -> dict[str, float]:
        """Evaluate the policy every `eval_every` iterations, after the last one and on request, and return the metrics; else {}."""
        if not self.evaluates(turn):
            return {}
        metrics = self.evaluation.metrics()
        self._note_missing(index + 1, self.evaluation.take_counts(), held_out=True)
        return metrics

    def evaluates(self, turn: Turn) -> bool:
        return self._is_planned(turn) or self.loop.knobs.evaluation_asked

    def without_requested(self, metrics: dict[str, float], turn: Turn) -> dict[str, float]:
        """The metrics that decide: without those of an evaluation that was only requested.

        A request therefore changes neither the best checkpoint nor what the health rules do.
        """
        if self._is_planned(turn):
            return metrics
        return {name: value for name, value in metrics.items() if not name.startswith("eval/")}

    def _is_planned(self, turn: Turn) -> bool:
        """None is planned during value pretraining, in which the policy does not move."""
        spec, done = self.context.spec, turn.iteration + 1
        return not turn.pretrains and (done % spec.eval_every == 0 or done == spec.steps)

    def finish(self) -> StageResult:
        """Save the policy as the stage's result, and a refitted reward model with it."""
        context, history = self.context, self.state.history
        seconds = self.loop.seconds
        self.session.emit(Curve(stage="ppo", points=history.curve))
        result = StageResult(self.loop.total_steps, seconds, history.summary(self.data.held_out.spec.keep_best))
        reward_model = context.models.reward_model
        further: dict[str, Model] = {}
        if self.state.refits and reward_model is not None:
            further["reward_model"] = reward_model
        release_engine(self.session)
        self.session.finish("ppo", context.models.policy, context.codec.tokenizer, result, models=further)
        return result

    def _retune(self, knob: Knob, spec: PPOSpec) -> float:
        """Use a section with one changed knob from the next iteration on. Returns the value before."""
        state, before = self.state, value_of(self.context.spec, knob)
        if knob == "kl_coef" and spec.kl.controller == "adaptive":
            before = state.kl_coef.value
        if knob == "learning_rate" and spec.rate_adapts:
            before = state.rate.value
        if knob == "critic_learning_rate" and spec.critic_rate_follows:
            before = state.critic_rate.value
        self.context = replace(self.context, spec=spec)
        state.follow(spec, self.loop.knobs.settings)
        self._set_rates()
        return before

    def _set_rates(self) -> None:
        policy, critic = self.state.peak_rates(self.context.spec)
        factor = self.state.history.rate_factor
        self.learners.retune(policy * factor, critic * factor)

    def _estimate_baseline(self) -> None:
        if self.context.spec.advantage.baseline == "optimal_value":
            watch = self.state.history.missing
            values = estimate_optimal_values(self.session, self.context, self.data.prompts, watch)
            self.state.optimal_values = values
            if why := watch.exceeded(limits_of(self.session.spec)):
                self.session.pause(why, "rewards")  # unsaved: V* is estimated anew
            if unknown := sum(value is None for value in values):
                self.session.log(
                    f"V* of {unknown} of {len(values)} prompts is unknown, because no response had a value. Responses to "
                    "these prompts are left out.",
                    warning=True,
                )
