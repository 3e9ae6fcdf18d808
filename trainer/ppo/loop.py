"""PPO for language models, read from top to bottom: sample → score → advantages → update → log → save.

The algorithm is Schulman et al. (2017) as adapted by Ziegler et al. (2019), Stiennon et al. (2020) and Ouyang et al.
(2022), with the implementation details of Huang et al. (2024, "The N+ implementation details of RLHF with PPO").
`docs/ppo.md` has every formula with its source.
"""

import time

from trainer.checkpoint import StageResult, TrainerState, load_optimizer
from trainer.completions import completions
from trainer.evaluation import HeldOut, held_out_metrics
from trainer.learner import Learner
from trainer.masking import masked_sum
from trainer.ppo.actors import Actors
from trainer.ppo.advantages import explained_variance
from trainer.ppo.experience import Experience, experience_of
from trainer.ppo.rollout import respond_and_score
from trainer.ppo.update import update
from trainer.prompts import EncodedPrompt
from trainer.randomness import batch_indices, generator
from trainer.session import Session
from trainer.spec import PPOSpec
from trainer.stages import ResumePoint, StageRun, run_steps
from trainer.text import Codec


def train(
    session: Session, spec: PPOSpec, actors: Actors, codec: Codec, prompts: list[EncodedPrompt], held_out: HeldOut
) -> StageResult:
    """Train `actors.policy` and `actors.critic` in place from the newest checkpoint on, and save the policy as the result."""
    point = ResumePoint.of(session, "ppo")
    policy = Learner(actors.policy, spec, spec.steps, eps=spec.adam_eps)
    critic = Learner(actors.critic, spec, spec.steps, peak=spec.critic.learning_rate, eps=spec.adam_eps)
    if point.checkpoint:
        policy.restore(load_optimizer(point.checkpoint, "policy_optimizer"))
        critic.restore(load_optimizer(point.checkpoint, "critic_optimizer"))

    def iteration(index: int) -> dict[str, float]:
        rows = batch_indices(len(prompts), spec.batch_size, index, session.seed("ppo"), "order")
        batch = [prompts[row] for row in rows]
        draws = generator(session.seed("ppo"), "sampling", index)
        scored = respond_and_score(actors, batch, codec, spec, draws, session.device)
        experience = experience_of(scored, actors.critic, spec, kl_coef=spec.kl.coef)
        began = time.perf_counter()
        metrics = update(experience, policy, critic, spec, index, session.seed("ppo"))
        metrics |= {"time/train": time.perf_counter() - began, "lr": policy.lr(index), "critic_lr": critic.lr(index)}
        metrics |= _describe(experience) | {"episode": (index + 1) * spec.batch_size}
        if spec.log_samples:
            rows_shown = completions(experience.scored, batch, codec, held_out.judge, spec.log_samples)
            session.show("ppo", index + 1, [row.sample() for row in rows_shown])
        if (index + 1) % spec.eval_every == 0 or index + 1 == spec.steps:
            metrics |= held_out_metrics(actors, held_out, codec, spec, session)
        return metrics

    def state() -> TrainerState:
        optimizers = {"policy_optimizer": policy.state(), "critic_optimizer": critic.state()}
        return TrainerState(optimizers, {"critic": actors.critic}, {})

    session.begin("ppo", spec.steps, point.step)
    if point.step == 0:
        session.report("ppo", 0, spec.steps, held_out_metrics(actors, held_out, codec, spec, session))
    run = StageRun("ppo", spec.steps, spec.save_every, actors.policy, codec.tokenizer, iteration, state)
    seconds = run_steps(session, run, point)
    result = StageResult(spec.steps, seconds, {})
    session.finish("ppo", actors.policy, codec.tokenizer, result)
    return result


def _describe(experience: Experience) -> dict[str, float]:
    """The batch's rewards and lengths, before the update. Sums per response, means over responses."""
    scored, mask_BR = experience.scored, experience.scored.batch.mask_BR
    count = len(scored.batch)
    finished = sum(response.finished for response in scored.responses)
    score = float(scored.scores_B.mean())
    total = float(masked_sum(experience.rewards_BR, mask_BR)) / count
    return {
        "objective/scores": score,
        "objective/kl": float(masked_sum(scored.kl_BR, mask_BR)) / count,
        "objective/rlhf_reward": total,
        "objective/non_score_reward": total - score,
        "objective/entropy": float(masked_sum(-scored.logprobs_BR, mask_BR)) / count,
        "val/explained_var": explained_variance(experience.values_BR, experience.returns_BR, mask_BR),
        "val/num_eos_tokens": finished,
        "val/eos_rate": finished / count,
        "val/response_length": float(mask_BR.sum()) / count,
    } | scored.seconds
