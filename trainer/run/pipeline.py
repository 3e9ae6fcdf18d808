"""Runs the stages of a job in their order. Each starts from the results of earlier stages; one with a result is skipped."""

import gc
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import transformers
from transformers.utils import logging as transformers_logging

from trainer import allowed_paths, models, run_data
from trainer.distributed import cpu_threads
from trainer.distributed.cpu_threads import PairedExecutor
from trainer.events import RunFinished, RunStarted, StagePlan
from trainer.hangs import phase
from trainer.models.heads import underlying
from trainer.ppo import loop
from trainer.ppo.health import RolledBackError
from trainer.ppo.online import Feedback
from trainer.ppo.stage import PPOData
from trainer.preflight.datasets import nothing_left
from trainer.preflight.loaded_model import check_fit
from trainer.preflight.own_model import settings
from trainer.preflight.report import raise_first
from trainer.preflight.scorers import ScoringInputs, check_scorers
from trainer.rollout.context import PPOContext, PPOModels
from trainer.session.damaged import refuse_damaged_model
from trainer.session.session import Session
from trainer.spec import StageName
from trainer.spec.named_resources import named_paths
from trainer.spec.stages import total_steps
from trainer.stages import dpo, evaluation, kto, sft
from trainer.stages.evaluation import HeldOut
from trainer.stages.model_factory import EvaluatedModels, ModelFactory
from trainer.stages.reward_model.train import train_on_pairs, train_on_steps, train_on_thumbs
from trainer.stages.tokenize import TokenizedData, log_data_warnings, new_tokenizer, tokenize_data
from trainer.stages.tokenized_rows import rankings
from trainer.text.codec import Codec, Tokenizer


@dataclass(frozen=True)
class RunContext:
    """The session, the data and the model factory that all stages of a run share."""

    session: Session
    codec: Codec
    encoded: TokenizedData
    models: ModelFactory
    parameters: int
    """Number of the policy's parameters."""


def run(session: Session) -> dict[str, float]:
    """Run the stages that remain, and return the summary of the last stage.

    Raises TrainerError: DataError and ModelError before any training, Diverged, and Stopped after a request to stop.
    """
    began = time.perf_counter()
    session.hangs.enter_stage("start")
    with phase("load"):
        job = prepared(session)
    for stage in session.spec.stages:
        session.hangs.enter_stage(stage)
        while session.checkpoints.result(stage) is None:
            with suppress(
                RolledBackError
            ):  # the loop starts the stage again from the checkpoint that is the newest now
                _STAGES[stage](job)
            _free_memory(job.parameters)
        session.stop_if_asked()
    last = session.checkpoints.result(session.spec.stages[-1])
    assert last is not None  # every stage leaves a result, or raises
    session.emit(RunFinished(seconds=time.perf_counter() - began, summary=last.summary))
    return last.summary


def prepared(session: Session) -> RunContext:
    """Read and check data, tokenizer, models and rewards before any training, and emit the plan."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    spec = session.spec
    raise_first(settings(spec, "cuda" if session.device.type == "cuda" else "cpu"))
    session.world.from_main(lambda: _refuse_damaged_models(session))
    if (stage := _next_stage(session)) is not None:
        session.recall_phases(stage)
    loaded = run_data.load(spec.data, spec.stages, spec.sft.turns, spec.reward_model.loss)
    tokenizer = _tokenizer(session, loaded)
    codec = Codec.for_tokenizer(tokenizer, spec.data, models.load_stops(tokenizer, spec.model.path, spec.ppo.stop))
    encoded = tokenize_data(spec, loaded, codec)
    log_data_warnings(session, loaded, codec, encoded)
    raise_first(nothing_left(spec, encoded))
    factory = ModelFactory(session, codec)
    raise_first(check_scorers(spec, ScoringInputs(factory.context(), encoded, downloads=True)))
    job = RunContext(session, codec, encoded, factory, _check_model(factory, encoded))
    _free_memory(job.parameters)
    _announce(job)
    return job


def _refuse_damaged_models(session: Session) -> None:
    """Raise ModelError for a model of the spec that is a checkpoint with damaged files."""
    for name in sorted({named.value for named in named_paths(session.spec) if named.is_model}):
        if (folder := Path(name)).is_dir() and allowed_paths.permits(name):
            refuse_damaged_model(folder)


def _sft(job: RunContext) -> None:
    encoded, policy = job.encoded, job.models.policy("sft")
    rows = (encoded.examples, encoded.held_out_examples)
    with _halves(job) as pair:
        sft.train(job.session, job.session.spec.sft, policy, job.codec, *rows, pair)


def _reward_model(job: RunContext) -> None:
    encoded, scorer, spec = job.encoded, job.models.reward_model(), job.session.spec.reward_model
    shared = (job.session, spec, scorer, job.codec)
    if spec.loss == "pointwise":
        train_on_thumbs(*shared, encoded.verdicts, encoded.held_out_verdicts, encoded.references)
    elif spec.loss == "stepwise":
        train_on_steps(*shared, encoded.solutions, encoded.held_out_solutions)
    else:
        with _halves(job) as pair:
            train_on_pairs(*shared, encoded.pairs, encoded.held_out_pairs, encoded.references, pair)


def _halves(job: RunContext) -> PairedExecutor:
    """The executor that computes the two halves of a batch of SFT or pairs, in turn or at the same time."""
    session = job.session
    return cpu_threads.choose_halves(
        session.spec.runtime.threads,
        # the active adapter is a state of the backbone, which two threads would share
        alone=session.device.type == "cpu" and session.world.size == 1 and session.spec.model.lora is None,
        parameters=job.parameters,
        cores=cpu_threads.available_cores(),
        record=session.run_dir / "halves",
    )


def _dpo(job: RunContext) -> None:
    encoded, (policy, reference) = job.encoded, job.models.dpo_models()
    dpo.train(job.session, job.session.spec.dpo, policy, reference, job.codec, encoded.pairs, encoded.held_out_pairs)


def _kto(job: RunContext) -> None:
    encoded, (policy, reference) = job.encoded, job.models.kto_models()
    spec, verdicts = job.session.spec.kto, encoded.verdicts
    kto.train(job.session, spec, policy, reference, job.codec, verdicts, encoded.held_out_verdicts)


def _ppo(job: RunContext) -> None:
    ppo_models, data = ppo_parts(job)
    with _pair(job.session, ppo_models) as pair:
        context = PPOContext.from_session(job.session, replace(ppo_models, pair=pair), job.codec, job.session.spec.ppo)
        loop.train(job.session, context, data)


@phase("load")
def ppo_parts(job: RunContext) -> tuple[PPOModels, PPOData]:
    """Load the models and collect the data of the PPO stage."""
    spec, encoded, ppo_models = job.session.spec, job.encoded, job.models.ppo_models()
    judge = job.models.judge(spec.evaluation.judge, ppo_models.reward_model)
    feedback = None
    if spec.ppo.online is not None:
        labels = spec.ppo.online.label_by
        source = judge if labels is None else job.models.judge(labels, ppo_models.reward_model)
        assert source is not None  # the spec demands one
        feedback = Feedback(source, encoded.pairs, encoded.references)
    held_out = HeldOut(encoded.held_out_prompts[: spec.evaluation.prompts], judge, spec.evaluation)
    return ppo_models, PPOData(encoded.prompts, held_out, encoded.texts, feedback, encoded.references)


def _pair(session: Session, ppo_models: PPOModels) -> PairedExecutor:
    """The executor that runs the policy's and a separate critic's passes, in turn or at the same time."""
    runtime, world = session.spec.runtime, session.world
    own = ppo_models.critic is not None and underlying(ppo_models.critic) is not underlying(ppo_models.policy)
    return cpu_threads.choose_pairing(
        runtime.critic_thread,
        separate=own and session.device.type == "cpu" and world.size == 1,
        parameters=int(ppo_models.policy.num_parameters()),
        threads=torch.get_num_threads(),
        cores=runtime.threads if isinstance(runtime.threads, int) else cpu_threads.available_cores(),
        record=session.run_dir / "critic_thread",
    )


def _evaluation(job: RunContext) -> None:
    compared, held_out = _evaluation_parts(job)
    extra = _reward_model_accuracy(job.session)
    context = PPOContext.from_session(job.session, compared.models, job.codec, job.session.spec.ppo)
    evaluation.run(job.session, context, held_out, extra, compared.against, compared.load_best)


@phase("load")
def _evaluation_parts(job: RunContext) -> tuple[EvaluatedModels, HeldOut]:
    spec, compared = job.session.spec, job.models.evaluated_models()
    judge = job.models.judge(spec.evaluation.judge, compared.models.reward_model)
    prompts, pass_at = job.encoded.held_out_prompts[: spec.evaluation.prompts], spec.evaluation.pass_at
    verifier = None if pass_at is None else pass_at.verifier(spec.rewards)
    return compared, HeldOut(prompts, judge, spec.evaluation, verifier)


_STAGES = {
    "sft": _sft,
    "reward_model": _reward_model,
    "dpo": _dpo,
    "kto": _kto,
    "ppo": _ppo,
    "evaluation": _evaluation,
}


def _tokenizer(session: Session, loaded: run_data.Data) -> Tokenizer:
    """The tokenizer of the finished SFT stage, of the pretrained model, or a new one trained on the SFT text."""
    spec = session.spec
    if spec.model.path is not None:
        return models.load_tokenizer(spec.model.path)
    if session.checkpoints.result("sft"):
        return models.load_tokenizer(session.checkpoints.final("sft"))
    assert spec.model.tokenizer is not None  # the spec's validator demands it beside `config`
    return new_tokenizer(spec.model.tokenizer, loaded)


def _check_model(factory: ModelFactory, encoded: TokenizedData) -> int:
    """Check the policy that the next stage starts from, set the number of threads, and return its number of parameters."""
    session, codec, stage = factory.session, factory.codec, _next_stage(factory.session)
    if stage is None:
        return 0
    policy = factory.starting_policy(stage)
    check_fit(session, policy, codec, encoded)
    setting, parameters, world = session.spec.runtime.threads, policy.num_parameters(), session.world
    memory = session.run_dir / ("threads" if world.size == 1 else f"threads-{world.size}")
    torch.set_num_threads(world.from_main(lambda: cpu_threads.choose_threads(setting, parameters, memory)))
    return int(parameters)


def _next_stage(session: Session) -> StageName | None:
    """The first stage without a result; None when all are done."""
    return next((stage for stage in session.spec.stages if session.checkpoints.result(stage) is None), None)


def _announce(job: RunContext) -> None:
    """Emit the plan of the run, and the step that it resumes after."""
    session, spec, encoded = job.session, job.session.spec, job.encoded
    rewarded = {
        "pairwise": len(rankings(encoded.pairs)),
        "pointwise": len(encoded.verdicts),
        "stepwise": len(encoded.solutions),
    }[spec.reward_model.loss]
    totals: dict[StageName, int] = {
        "sft": total_steps(len(encoded.examples), spec.sft),
        "reward_model": total_steps(rewarded, spec.reward_model),
        "dpo": total_steps(len(encoded.pairs), spec.dpo),
        "kto": total_steps(len(encoded.verdicts), spec.kto),
        "ppo": spec.ppo.most_steps,
        "evaluation": 1,
    }
    current = _next_stage(session) or spec.stages[-1]
    newest = session.checkpoints.newest(current)
    resumed = newest is not None or any(session.checkpoints.result(stage) for stage in spec.stages)
    session.emit(
        RunStarted(
            stages=[
                StagePlan(
                    stage=stage, total_steps=totals[stage], at_most=stage == "ppo" and spec.ppo.pretraining is not None
                )
                for stage in spec.stages
            ],
            device=str(session.device),
            threads=torch.get_num_threads(),
            dtype=spec.model.dtype,
            versions={"torch": torch.__version__, "transformers": transformers.__version__},
            resumed_stage=current if resumed else None,
            resumed_step=(newest[1] if newest else 0) if resumed else None,
        )
    )


def _free_memory(parameters: int) -> None:
    """Free a stage's models before the next stage. They are in reference cycles, which only the garbage collector frees.

    A collection takes half a second and is left out for small models.
    """
    if parameters >= cpu_threads.ONE_THREAD_BELOW:
        gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _reward_model_accuracy(session: Session) -> dict[str, float]:
    result = session.checkpoints.result("reward_model")
    accuracy = result.summary.get("eval/accuracy") if result else None
    return {} if accuracy is None else {"reward_model_accuracy": accuracy}
