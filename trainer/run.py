"""A whole run: data → SFT → reward model → PPO → evaluation, each stage skipped if its result is already there."""

import time
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers
from transformers.utils import logging as transformers_logging

from trainer import data, evaluation, judges, models, prompts, reward_model, sft, threads
from trainer.errors import DataError, ModelError
from trainer.evaluation import HeldOut
from trainer.events import RunFinished, RunStarted, StagePlan
from trainer.models import Model
from trainer.ppo import loop
from trainer.ppo.rollout import Models
from trainer.prompts import EncodedPrompt
from trainer.reward_model import Pair
from trainer.session import Session
from trainer.sft import Example
from trainer.spec import JobSpec, StageName
from trainer.text import Codec, Tokenizer, train_tokenizer


@dataclass(frozen=True)
class Encoded:
    """The run's data as token ids."""

    examples: list[Example]
    held_out_examples: list[Example]
    pairs: list[Pair]
    held_out_pairs: list[Pair]
    prompts: list[EncodedPrompt]
    held_out_prompts: list[EncodedPrompt]


def run(session: Session) -> dict[str, float]:
    """Take the run from wherever it stands to its end; return the summary.

    Raises TrainerError: DataError and ModelError before any training, Diverged, and Stopped when asked to stop.
    """
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    spec, began = session.spec, time.perf_counter()
    judge = judges.load(spec.evaluation.judge)
    loaded = data.load(spec.data)
    tokenizer = _tokenizer(session, loaded)
    codec = Codec.of(tokenizer, spec.data)
    encoded = _encode(session, loaded, codec)
    policy = _starting_policy(session, tokenizer)
    _check_fit(policy, tokenizer, encoded, spec)
    _set_threads(session, policy, encoded, codec)
    _announce(session, encoded)

    if spec.sft is not None and session.checkpoints.result("sft") is None:
        sft.train(session, spec.sft, policy, codec, encoded.examples, encoded.held_out_examples)
    session.stop_if_asked()
    sft_path = session.checkpoints.final("sft") if spec.sft else Path(spec.model.path or "")

    if session.checkpoints.result("reward_model") is None:
        scorer = _to(session, _reward_model(session, sft_path))
        whole = [example for example in encoded.examples if example.completion[-1] == codec.eos_id]
        reward_model.train(session, spec.reward_model, scorer, codec, encoded.pairs, encoded.held_out_pairs, whole)
    session.stop_if_asked()
    reward_path = session.checkpoints.final("reward_model")

    held_out = HeldOut(encoded.held_out_prompts[: spec.evaluation.prompts], judge, spec.evaluation)
    four = _four_models(session, sft_path, reward_path)
    if session.checkpoints.result("ppo") is None:
        loop.train(session, spec.ppo, four, codec, encoded.prompts, held_out)
    session.stop_if_asked()

    result = session.checkpoints.result("evaluation")
    if result is None:
        result = evaluation.run(session, held_out, four, codec, spec.ppo, _reward_model_accuracy(session))
    session.emit(RunFinished(seconds=time.perf_counter() - began, summary=result.summary))
    return result.summary


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


def _encode(session: Session, loaded: data.Data, codec: Codec) -> Encoded:
    """Encode everything once, and say what was left out."""
    examples, long_prompts, cut = sft.encode(loaded.demonstrations.train, codec)
    held_out_examples, _, _ = sft.encode(loaded.demonstrations.held_out, codec)
    pairs, left_out_pairs = reward_model.encode(loaded.comparisons.train, codec)
    held_out_pairs, left_out_held_out = reward_model.encode(loaded.comparisons.held_out, codec)
    train_prompts, long_train = prompts.encode(loaded.prompts.train, codec)
    held_out_prompts, long_held_out = prompts.encode(loaded.prompts.held_out, codec)
    for count, what in (
        (long_prompts, "demonstrations left out: their prompt is longer than `data.max_prompt_tokens`"),
        (cut, "SFT completions cut to `data.max_completion_tokens`; they teach no EOS"),
        (left_out_pairs + left_out_held_out, "pairs left out: too long, or the same tokens on both sides"),
        (long_train + long_held_out, "prompts left out: longer than `data.max_prompt_tokens`"),
    ):
        if count:
            session.say(f"{count} {what}.", warning=True)
    for name, items in (
        ("demonstrations", examples),
        ("pairs", pairs),
        ("prompts", train_prompts),
        ("held-out prompts", held_out_prompts),
    ):
        if not items:
            raise DataError(
                f"No {name} are left after tokenising. Raise `data.max_prompt_tokens` or `data.max_completion_tokens`."
            )
    return Encoded(examples, held_out_examples, pairs, held_out_pairs, train_prompts, held_out_prompts)


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


def _four_models(session: Session, sft_path: Path, reward_path: Path) -> Models:
    """Policy and critic from the newest PPO checkpoint, else from SFT and the reward model; the other two frozen."""
    newest = session.checkpoints.newest("ppo")
    if session.checkpoints.result("ppo"):
        policy_path, critic_path = session.checkpoints.final("ppo"), reward_path
    elif newest:
        policy_path, critic_path = newest[0], newest[0] / "trainer_state" / "critic"
    else:
        policy_path, critic_path = sft_path, reward_path
    return Models(
        policy=_to(session, models.load_policy(policy_path)),
        reference=_to(session, models.load_policy(sft_path)).requires_grad_(False),
        reward_model=_to(session, models.load_reward_model(reward_path)).requires_grad_(False),
        critic=_to(session, models.load_reward_model(critic_path)),
    )


def _to(session: Session, model: Model) -> Model:
    return model.to(session.device)


def _check_fit(model: Model, tokenizer: Tokenizer, encoded: Encoded, spec: JobSpec) -> None:
    """Refuse what would fail in the middle: a vocabulary too small for the tokenizer, texts longer than the context."""
    config = model.config.get_text_config()
    if len(tokenizer) > config.vocab_size:
        raise ModelError(
            f"The tokenizer has {len(tokenizer)} tokens, the model only {config.vocab_size}: they do not belong together."
        )
    context = getattr(config, "max_position_embeddings", None)
    longest = max(len(prompt.ids) for prompt in (*encoded.prompts, *encoded.held_out_prompts))
    needs = {
        "the longest prompt and `ppo.max_new_tokens`": longest + spec.ppo.max_new_tokens,
        "the longest demonstration": max(len(e.prompt) + len(e.completion) for e in encoded.examples),
        "the longest preference pair": max(len(p.prompt) + max(len(p.a), len(p.b)) for p in encoded.pairs),
    }
    for what, tokens in needs.items():
        if context is not None and tokens > context:
            raise ModelError(
                f"{what} together take {tokens} tokens, but the model's context is {context}. "
                "Lower `data.max_prompt_tokens`, `data.max_completion_tokens` or `ppo.max_new_tokens`."
            )


def _set_threads(session: Session, policy: Model, encoded: Encoded, codec: Codec) -> None:
    def workload() -> None:
        sft.accumulate(policy, encoded.examples[:32], codec, 32, session.device)
        policy.zero_grad(set_to_none=True)

    parameters = sum(parameter.numel() for parameter in policy.parameters())
    torch.set_num_threads(
        threads.choose(session.spec.runtime.threads, parameters, session.run_dir / "threads", workload)
    )


def _announce(session: Session, encoded: Encoded) -> None:
    """Say what the run will do, and from where it goes on."""
    spec = session.spec
    totals: dict[StageName, int] = {"sft": sft.total_steps(len(encoded.examples), spec.sft)} if spec.sft else {}
    totals |= {
        "reward_model": reward_model.total_steps(len(encoded.pairs), spec.reward_model),
        "ppo": spec.ppo.steps,
        "evaluation": 1,
    }
    current: StageName = next((stage for stage in totals if session.checkpoints.result(stage) is None), "evaluation")
    newest = session.checkpoints.newest(current)
    resumed = newest is not None or session.checkpoints.result("sft") is not None
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
