"""A whole run: data → SFT → reward model → PPO → evaluation, each stage skipped if its result is already there."""

import time
from functools import partial
from pathlib import Path

import torch
import transformers
from transformers.utils import logging as transformers_logging

from trainer import data, evaluation, judges, models, reward_model, sft, threads
from trainer.encoded import Encoded, encode
from trainer.evaluation import HeldOut
from trainer.events import RunFinished, RunStarted, StagePlan
from trainer.fit import check_config, check_fit
from trainer.models import Model
from trainer.ppo import loop
from trainer.ppo.actors import Actors
from trainer.rewards.base import RewardContext
from trainer.rewards.build import build
from trainer.scoring import check_scoring
from trainer.session import Session
from trainer.spec import StageName
from trainer.stages import total_steps
from trainer.text import Codec, Tokenizer, train_tokenizer


def run(session: Session) -> dict[str, float]:
    """Take the run from wherever it stands to its end; return the summary.

    Raises TrainerError: DataError and ModelError before any training, Diverged, and Stopped when asked to stop.
    """
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    spec, began = session.spec, time.perf_counter()
    judge = judges.load(spec.evaluation.judge if isinstance(spec.evaluation.judge, str) else None)
    check_config(spec.model)
    loaded = data.load(spec.data, spec.stages, spec.sft.turns)
    codec = Codec.of(_tokenizer(session, loaded), spec.data)
    encoded = encode(session, loaded, codec)
    check_scoring(spec, _scoring_context(session, codec, None), encoded.prompts, encoded.held_out_prompts)
    sft_path = _fine_tune(session, codec, encoded)
    reward_path = _learn_rewards(session, codec, encoded, sft_path)
    actors = _actors(session, codec, sft_path, reward_path)
    held_out = HeldOut(encoded.held_out_prompts[: spec.evaluation.prompts], judge, spec.evaluation)
    if session.checkpoints.result("ppo") is None:
        loop.train(session, spec.ppo, actors, codec, encoded.prompts, held_out, references=encoded.references)
    session.stop_if_asked()
    result = session.checkpoints.result("evaluation")
    if result is None:
        result = evaluation.run(session, held_out, actors, codec, spec.ppo, _reward_model_accuracy(session))
    session.emit(RunFinished(seconds=time.perf_counter() - began, summary=result.summary))
    return result.summary


def _fine_tune(session: Session, codec: Codec, encoded: Encoded) -> Path:
    """Check the model, settle the threads, announce the plan, run SFT if it is wanted and not done; where the result is.

    A function of its own, so that its model is gone before the next stage loads others.
    """
    spec = session.spec
    policy = _starting_policy(session, codec.tokenizer)
    check_fit(session, policy, codec, encoded)
    _set_threads(session, policy, encoded, codec)
    _announce(session, encoded)
    if "sft" not in spec.stages:
        return Path(spec.model.path or "")
    if session.checkpoints.result("sft") is None:
        sft.train(session, spec.sft, policy, codec, encoded.examples, encoded.held_out_examples)
    session.stop_if_asked()
    return session.checkpoints.final("sft")


def _learn_rewards(session: Session, codec: Codec, encoded: Encoded, sft_path: Path) -> Path:
    """Train the reward model if it is not done; where the result is."""
    if session.checkpoints.result("reward_model") is None:
        scorer = _to(session, _reward_model(session, sft_path))
        reward_model.train(
            session, session.spec.reward_model, scorer, codec, encoded.pairs, encoded.held_out_pairs, encoded.references
        )
    session.stop_if_asked()
    return session.checkpoints.final("reward_model")


def _tokenizer(session: Session, loaded: data.Data) -> Tokenizer:
    """The tokenizer of the newest SFT checkpoint, of the pretrained model, or a new one trained on the SFT text."""
    spec = session.spec
    if spec.model.path is not None:
        return models.load_tokenizer(spec.model.path)
    if session.checkpoints.result("sft"):
        return models.load_tokenizer(session.checkpoints.final("sft"))
    assert spec.model.tokenizer is not None  # the spec's validator demands it beside `config`
    texts = (data.prompt_text(d.prompt) + d.completion for d in loaded.demonstrations.train)
    return train_tokenizer(texts, spec.model.tokenizer.vocab_size)


def _starting_policy(session: Session, tokenizer: Tokenizer) -> Model:
    """The model SFT goes on with: its newest checkpoint, the pretrained model, or a new one."""
    spec = session.spec
    if session.checkpoints.result("sft"):
        return _to(session, models.load_policy(session.checkpoints.final("sft")))
    newest = session.checkpoints.newest("sft")
    if newest:
        return _to(session, models.load_policy(newest[0]))
    if spec.model.path is not None:
        return _to(session, models.load_policy(spec.model.path))
    return _to(session, models.new_policy(spec.model, tokenizer, session.seed("model")))


def _reward_model(session: Session, sft_path: Path) -> Model:
    newest = session.checkpoints.newest("reward_model")
    return (
        models.load_reward_model(newest[0]) if newest else models.new_reward_model(sft_path, session.seed("score head"))
    )


def _actors(session: Session, codec: Codec, sft_path: Path, reward_path: Path) -> Actors:
    """Policy and critic from the newest PPO checkpoint, else from SFT and the reward model; the other two frozen."""
    newest = session.checkpoints.newest("ppo")
    if session.checkpoints.result("ppo"):
        policy_path, critic_path = session.checkpoints.final("ppo"), reward_path
    elif newest:
        policy_path, critic_path = newest[0], newest[0] / "trainer_state" / "critic"
    else:
        policy_path, critic_path = sft_path, reward_path
    reference = _to(session, models.load_policy(sft_path)).requires_grad_(False)
    own = _to(session, models.load_reward_model(reward_path)).requires_grad_(False)
    return Actors(
        policy=_to(session, models.load_policy(policy_path)),
        reference=reference,
        initial=reference,
        critic=_to(session, models.load_reward_model(critic_path)),
        rewards=build(session.spec.scoring, _scoring_context(session, codec, own)),
        reward_model=own,
    )


def _scoring_context(session: Session, codec: Codec, own: Model | None) -> RewardContext:
    warn = partial(session.say, warning=True)
    return RewardContext(codec, session.device, own, session.spec.ppo.micro_batch_size, warn)


def _to(session: Session, model: Model) -> Model:
    return model.to(session.device)


def _set_threads(session: Session, policy: Model, encoded: Encoded, codec: Codec) -> None:
    spec = session.spec

    def workload() -> None:
        rows = encoded.examples[: spec.sft.micro_batch_size or 32]
        sft.accumulate(policy, rows, codec, len(rows), session.device)
        policy.zero_grad(set_to_none=True)

    parameters = sum(parameter.numel() for parameter in policy.parameters())
    torch.set_num_threads(
        threads.choose(session.spec.runtime.threads, parameters, session.run_dir / "threads", workload)
    )


def _announce(session: Session, encoded: Encoded) -> None:
    """Say what the run will do, and from where it goes on."""
    spec = session.spec
    totals: dict[StageName, int] = {"sft": total_steps(len(encoded.examples), spec.sft)} if "sft" in spec.stages else {}
    totals |= {
        "reward_model": total_steps(len(encoded.pairs), spec.reward_model),
        "ppo": spec.ppo.steps,
        "evaluation": 1,
    }
    current: StageName = next((stage for stage in totals if session.checkpoints.result(stage) is None), "evaluation")
    newest = session.checkpoints.newest(current)
    resumed = newest is not None or any(session.checkpoints.result(stage) for stage in totals)
    session.emit(
        RunStarted(
            stages=[StagePlan(stage=stage, total_steps=total) for stage, total in totals.items()],
            device=str(session.device),
            threads=torch.get_num_threads(),
            versions={"torch": torch.__version__, "transformers": transformers.__version__},
            resumed_stage=current if resumed else None,
            resumed_step=(newest[1] if newest else 0) if resumed else None,
        )
    )


def _reward_model_accuracy(session: Session) -> dict[str, float]:
    result = session.checkpoints.result("reward_model")
    accuracy = result.summary.get("eval/accuracy") if result else None
    return {} if accuracy is None else {"reward_model_accuracy": accuracy}
