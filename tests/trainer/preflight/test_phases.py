"""Each phase's estimate against the bytes that the trainer's own code holds on real tensors."""

import copy
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import nn
from transformers import GPT2Config, GPT2ForSequenceClassification, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers import LlamaForSequenceClassification as LlamaScorer

from tests.trainer.preflight.checked_jobs import ByFormula
from tests.trainer.stage_tools import CPU, context_of, new_codec
from trainer.models import Model, builder_for
from trainer.models.frozen import freeze
from trainer.models.heads import ValueHead
from trainer.models.value_bins import give_bins
from trainer.optim.learner import Learner
from trainer.ppo.experience import build_experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.update import update
from trainer.preflight.memory.fake_models import Blueprint, tensors_of
from trainer.preflight.memory.live_bytes import LiveBytes
from trainer.preflight.memory.passes import Passes
from trainer.preflight.memory.phases import Phases
from trainer.preflight.memory.residents import resident
from trainer.preflight.report import PhaseMemory
from trainer.preflight.workload import Sizes
from trainer.rewards.base import Rewards, WeightedReward
from trainer.rewards.models import TokenScorer
from trainer.rollout.batch import sample_and_score, sample_responses
from trainer.rollout.context import PPOModels
from trainer.sampling import uniforms
from trainer.spec import JobSpec, StageName
from trainer.stages import dpo, kto, sft
from trainer.stages.reward_model import pointwise
from trainer.stages.reward_model.pairwise import accumulate_pairs
from trainer.stages.tokenize import TokenizedData
from trainer.stages.tokenized_rows import TokenizedDemonstration, TokenizedPair, TokenizedThumb
from trainer.text.codec import TokenizedPrompt

PROMPT, ANSWER = 12, 14
LLAMA = LlamaConfig(  # type: ignore[call-arg]
    vocab_size=900, hidden_size=48, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=2, tie_word_embeddings=False, pad_token_id=0, bos_token_id=None, eos_token_id=1, num_labels=1,
)  # fmt: skip
GPT2 = GPT2Config(  # type: ignore[call-arg]
    vocab_size=900, n_embd=48, n_layer=3, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=1, pad_token_id=1,
    num_labels=1,
)  # fmt: skip
POLICIES: dict[str, Any] = {"llama": (LLAMA, LlamaForCausalLM, LlamaScorer)}
POLICIES["gpt2"] = (GPT2, GPT2LMHeadModel, GPT2ForSequenceClassification)
PROMPTS = [TokenizedPrompt("p", [5 + n, *range(2, PROMPT + 1)]) for n in range(16)]


def spec_of(**changes: Any) -> JobSpec:
    raw: dict[str, Any] = {
        "model": "unused",
        "data": {"preferences": "unused", "thumbs": "unused"},
        "stages": ["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"],
        "sft": {"batch_size": 16},
        "reward_model": {"batch_size": 8},
        "dpo": {"batch_size": 8},
        "kto": {"batch_size": 16},
        "ppo": {"batch_size": 16, "minibatches": 2, "epochs": 1, "max_new_tokens": ANSWER},
        "runtime": {"critic_thread": False},
    }
    return JobSpec.model_validate({**raw, **changes})


def estimated(
    spec: JobSpec,
    kind: str,
    *stages: StageName,
    device: Literal["cpu", "cuda"] = "cpu",
    counted: bool = True,
) -> dict[str, PhaseMemory]:
    """For these stages, or all. Every demonstration and every side of a pair has the same length, so that nothing is left to chance.

    `counted` False: the passes are by formula, which takes no time. Weights, gradients and caches are the same.
    """
    shown = [TokenizedDemonstration([2] * PROMPT, [3] * ANSWER)] * 16
    pairs = [TokenizedPair([2] * PROMPT, [3] * ANSWER, [3] * ANSWER, 1.0)] * 8
    verdicts = [TokenizedThumb([2] * PROMPT, [3] * ANSWER, True)] * 16
    encoded = TokenizedData(
        examples=shown, pairs=pairs, prompts=PROMPTS, held_out_prompts=PROMPTS[:8], verdicts=verdicts
    )
    sizes = Sizes(encoded, eos_id=3)
    passes = (Passes if counted else ByFormula)(Blueprint(POLICIES[kind][0], spec.model, device))
    phases = Phases(spec, passes, sizes)
    chosen = [phase for stage in stages for phase in phases.of(stage)] if stages else phases.all()
    return {phase.phase: phase for phase in chosen}


def test_phases_small_graph_cache_on_gpu_stays_for_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rollout's: 2 · 3 layers · 2 heads · 12 numbers of 4 bytes for each of 16 rows of 25 columns."""
    cache = 2 * 3 * 2 * 12 * 4 * 16 * (PROMPT + ANSWER - 1)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)

    def kept(memory: int, **rollout: Any) -> list[int]:
        monkeypatch.setattr("trainer.preflight.memory.phases.available", lambda device: memory)
        ppo = {"batch_size": 16, "minibatches": 2, "epochs": 1, "max_new_tokens": ANSWER, "rollout": rollout}
        model = {"path": "unused", "dtype": "float32"}
        found = estimated(spec_of(ppo=ppo, runtime={}, model=model), "llama", "ppo", device="cuda", counted=False)
        return [found[phase].parts.get("kv_cache", 0) for phase in ("ppo_rollout", "ppo_score", "ppo_update")]

    assert kept(16 * cache) == [cache, cache, cache]
    assert kept(16 * cache - 16) == kept(16 * cache, decode="eager") == [cache, 0, 0]


def test_phases_vllm_holds_a_share_of_a_gpu_while_it_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("trainer.preflight.memory.phases.available", lambda device: 1000)
    rollout = {"engine": "vllm", "gpu_memory_utilization": 0.25}
    ppo = {"batch_size": 16, "minibatches": 2, "epochs": 1, "max_new_tokens": ANSWER, "rollout": rollout}
    spec = spec_of(ppo=ppo, runtime={}, model={"path": "unused", "dtype": "float32"})
    phases = estimated(spec, "llama", "ppo", device="cuda", counted=False)
    assert [phases[phase].parts.get("kv_cache") for phase in ("ppo_rollout", "ppo_score", "ppo_update")] == [
        250, None, None,
    ]  # fmt: skip


def test_phases_vllm_on_a_cpu_keeps_weights_and_cache() -> None:
    cache = 2 * 3 * 2 * 12 * 4 * 16 * (PROMPT + ANSWER - 1)
    ppo = {"batch_size": 16, "minibatches": 2, "epochs": 1, "max_new_tokens": ANSWER, "rollout": {"engine": "vllm"}}
    phases = estimated(spec_of(ppo=ppo), "llama", "ppo", counted=False)
    held = weights(LlamaForCausalLM(LLAMA)) + 3 * cache // 2
    assert [phases[phase].parts["kv_cache"] for phase in ("ppo_rollout", "ppo_score", "ppo_update")] == [held] * 3


def models_of(kind: str) -> tuple[Model, Model, Model, Model]:
    config, policy, scorer = POLICIES[kind]
    torch.manual_seed(0)
    reference, judge = policy(config).eval().requires_grad_(False), scorer(config).eval().requires_grad_(False)
    return policy(config).eval(), reference, judge, scorer(copy.deepcopy(config)).eval()


def weights(*models: Model) -> int:
    return sum(weight.nbytes for model in models for weight in model.parameters())


@pytest.mark.parametrize("kind", POLICIES)
def test_the_gradient_stages(kind: str) -> None:
    spec, codec = spec_of(), new_codec()
    expected = estimated(spec, kind, "sft", "reward_model", "dpo", "kto")
    policy, reference, _, scorer = models_of(kind)
    examples = [TokenizedDemonstration([2] * PROMPT, [3] * ANSWER) for _ in range(16)]
    pairs = [TokenizedPair([2] * PROMPT, [3] * ANSWER, [4] * ANSWER, 1.0) for _ in range(8)]
    verdicts = [TokenizedThumb([2 + n] * PROMPT, [3] * ANSWER, n % 2 == 0) for n in range(16)]
    pair_passes = dpo.PairPasses(policy, reference, codec, spec.dpo, 8, CPU)
    passes = kto.ThumbPasses(policy, reference, codec, 16, CPU)
    stages = {
        "sft": (policy, spec.sft, lambda: sft.accumulate(policy, examples, codec, 16, CPU)),
        "reward_model": (scorer, spec.reward_model, lambda: accumulate_pairs(scorer, pairs, codec, 8, CPU)),
        "dpo": (policy, spec.dpo, lambda: dpo.accumulate(pair_passes, pairs)),
        "kto": (policy, spec.kto, lambda: kto.accumulate(passes, verdicts, spec.kto)),
    }
    for stage, (model, options, accumulate) in stages.items():
        learner, beside = Learner(model, options, 4), [reference] if stage in ("dpo", "kto") else []
        with LiveBytes([tensor for one in (model, *beside) for tensor in tensors_of(one)]) as bytes_:
            for step in range(2):
                accumulate()
                learner.update(step)
        peak = bytes_.peak + weights(model, *beside)
        assert expected[stage].expected == pytest.approx(peak, rel=0.1), stage
        assert expected[stage].low <= expected[stage].expected <= expected[stage].high


APART = {"epochs": 2, "minibatches": 1}
"""The critic's minibatch is twice the policy's."""
ATTENTION_FROZEN = {"train": "all_but_attention"}
BINS = {"classification": {"low": -1, "high": 1, "bins": 400}}
"""Wider than the hidden states."""
LAST = {"train": "last_layers", "last_layers": 1}


@pytest.mark.parametrize(
    ("kind", "micro_batch_size", "critic"),
    [
        *[("llama", None, {}), ("llama", 4, {}), ("gpt2", None, {}), ("llama", None, APART), ("llama", 4, APART)],
        *[("llama", None, ATTENTION_FROZEN), ("gpt2", 4, ATTENTION_FROZEN), ("llama", None, LAST | APART)],
        *[("gpt2", 4, LAST), ("llama", None, BINS), ("llama", 4, BINS | {"kind": "value_head"})],
    ],
)
def test_the_phases_of_ppo(kind: str, micro_batch_size: int | None, critic: dict[str, Any]) -> None:
    ppo: dict[str, Any] = {"batch_size": 16, "minibatches": 2, "epochs": 1, "max_new_tokens": ANSWER, "log_samples": 0}
    ppo |= {"critic": critic, "micro_batch_size": micro_batch_size}
    spec = spec_of(ppo=ppo)
    expected = estimated(spec, kind, "ppo")
    policy, reference, judge, scorer = models_of(kind)
    scorer = ValueHead(policy) if spec.ppo.has_value_head else scorer
    freeze(give_bins(scorer, spec.ppo.critic.classification), spec.ppo.critic)
    rewards = Rewards([WeightedReward("model", 1.0, TokenScorer(judge, pad_id=0, batch_size=micro_batch_size))])
    actors = PPOModels(policy, reference, reference, scorer, rewards, judge)
    learners, context = Learners.build(actors, spec.ppo), context_of(actors, spec.ppo)
    peaks: dict[str, int] = {}
    with LiveBytes([tensor for one in (policy, reference, judge, scorer) for tensor in tensors_of(one)]) as bytes_:
        for iteration in range(2):
            draws = uniforms(torch.Generator().manual_seed(iteration), 16, ANSWER)
            bytes_.peak = bytes_.live
            sample_responses(context, PROMPTS, draws, temperature=1.0)
            peaks["ppo_rollout"] = bytes_.peak
            bytes_.peak = bytes_.live
            scored = sample_and_score(context, PROMPTS, draws)
            experience = build_experience(context, scored, kl_coef=0.05)
            peaks["ppo_score"] = bytes_.peak  # of sampling, where that is more
            bytes_.peak = bytes_.live
            update(context, experience, learners, KLCoefficients(0.05, 1.0), iteration)
            peaks["ppo_update"] = bytes_.peak
    assert scored.batch.completion_lengths_B.float().mean() > ANSWER - 2
    for phase, peak in peaks.items():
        found = expected[phase].expected
        found = max(found, expected["ppo_rollout"].expected) if phase == "ppo_score" else found
        assert found == pytest.approx(peak + weights(policy, reference, judge, scorer), rel=0.1), phase


@pytest.mark.parametrize("share", [True, False])
def test_phases_lora_weight_bytes_match_the_built_models(tmp_path: Path, share: bool) -> None:
    torch.manual_seed(0)
    LlamaForCausalLM(LLAMA).save_pretrained(tmp_path)
    lora = {"rank": 2, "share_backbone": share}
    spec = spec_of(model={"path": str(tmp_path), "lora": lora, "dtype": "bfloat16"}, stages=["reward_model", "ppo"])
    maker = builder_for(spec.model, CPU, lambda part: 0)
    everyone = [
        maker.policy("policy", tmp_path, "trained"),
        maker.policy("initial", tmp_path, "frozen"),
        maker.scorer("reward_model", tmp_path, "moving", fresh_head=0),  # as one that was trained before
        maker.scorer("critic", tmp_path, "trained", fresh_head=1),
    ]
    weigh = {w.data_ptr(): w.nbytes for model in everyone for w in tensors_of(model) if isinstance(w, nn.Parameter)}
    expected = resident(spec, "ppo_update", Blueprint(LLAMA, spec.model, "cpu"))
    assert expected.weights == sum(weigh.values())
    learning = sum(w.nbytes for model in everyone for w in model.parameters() if w.requires_grad)
    assert expected.optimizer == 2 * learning


@pytest.mark.parametrize("kind", POLICIES)
def test_a_pointwise_reward_model(kind: str) -> None:
    spec, codec = spec_of(reward_model={"batch_size": 16, "loss": "pointwise"}), new_codec()
    expected = estimated(spec, kind, "reward_model")["reward_model"]
    *_, scorer = models_of(kind)
    verdicts = [TokenizedThumb([2] * PROMPT, [3] * ANSWER, n % 2 == 0) for n in range(16)]
    learner = Learner(scorer, spec.reward_model, 4)
    with LiveBytes([*tensors_of(scorer)]) as bytes_:
        for step in range(2):
            pointwise.accumulate(scorer, verdicts, codec, 16, CPU)
            learner.update(step)
    assert expected.expected == pytest.approx(bytes_.peak + weights(scorer), rel=0.1)
