"""The job spec: what a run *is*.

One description, many readers: the REST body of `POST /v1/jobs`, the TOML file that a person hands to
`python -m trainer run`, the form in the dashboard and the reference in the docs. The text under a field is its
description everywhere. Torch-free, so that the API, the worker and the command line validate with the same code.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

STAGES = ("sft", "reward_model", "ppo", "evaluation")
StageName = Literal["sft", "reward_model", "ppo", "evaluation"]
Schedule = Literal["constant", "linear", "cosine"]

PositiveInt = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
LearningRate = Annotated[float, Field(gt=0, lt=1)]


class Section(BaseModel):
    """Base of every part of the spec: frozen, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class TokenizerSpec(Section):
    """A byte-level BPE tokenizer trained on the run's own supervised text."""

    vocab_size: Annotated[int, Field(ge=260, le=200_000)] = 1024
    """Largest vocabulary: 256 bytes, the special tokens, and as many merges as the text yields up to this size."""


class ModelSpec(Section):
    """The language model to start from: a pretrained one by `path`, or a new one from `config` and `tokenizer`."""

    path: Annotated[str, Field(min_length=1)] | None = None
    """Hub id or local folder of a causal language model with its tokenizer. Weights must be safetensors."""
    config: dict[str, JsonValue] | None = None
    """A transformers configuration (`model_type` and its sizes) for a model with random weights."""
    tokenizer: TokenizerSpec | None = None
    """How to train the tokenizer of a model made from `config`."""

    @model_validator(mode="before")
    @classmethod
    def _a_bare_string_is_a_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_source(self) -> "ModelSpec":
        if (self.path is None) == (self.config is None):
            raise ValueError(
                "give either `path` (a pretrained model) or `config` (a new one), not both and not neither"
            )
        if self.config is not None and "model_type" not in self.config:
            raise ValueError('`config` needs a `model_type`, for example "llama"')
        if self.config is not None and self.tokenizer is None:
            raise ValueError('a model made from `config` needs `tokenizer`, for example {"vocab_size": 1024}')
        if self.path is not None and self.tokenizer is not None:
            raise ValueError(
                "`tokenizer` is trained only for a model made from `config`; a pretrained model brings its own"
            )
        return self


class DataSpec(Section):
    """What the run learns from. Over REST these are dataset ids (`ds_…`); on the command line, JSONL files."""

    preferences: Annotated[str, Field(min_length=1)]
    """Preference pairs: they train the reward model."""
    sft: Annotated[str, Field(min_length=1)] | None = None
    """Prompt and completion pairs for SFT. Left out: the preferred completions of `preferences`."""
    prompts: Annotated[str, Field(min_length=1)] | None = None
    """Prompts for PPO and evaluation. Left out: the prompts of `preferences`."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Share of the prompts held out from every stage, chosen by a hash of the prompt so that no prompt crosses."""
    max_prompt_tokens: PositiveInt = 512
    """Longer prompts are left out, and counted in the run's log."""
    max_completion_tokens: PositiveInt = 512
    """Longer completions are cut in SFT (without an EOS at the cut); pairs with a longer side are left out of the reward model's data."""
    chat_template: Literal["auto", "none"] = "auto"
    """`auto` applies the tokenizer's chat template where it has one; `none` joins prompt and completion as they stand."""


class OptimizerSpec(Section):
    """What the gradient stages share."""

    learning_rate: LearningRate = 1e-5
    """Peak learning rate of AdamW."""
    lr_schedule: Schedule = "cosine"
    """Shape of the learning rate after warm-up: constant, or down to 0 along a line or a cosine."""
    warmup_ratio: Fraction = 0.03
    """Share of the steps (in PPO: iterations) over which the learning rate rises from 0."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Decoupled weight decay of AdamW, on matrices only (never on biases and norms)."""
    max_grad_norm: Annotated[float, Field(gt=0)] = 1.0
    """Gradients are scaled down to this global L2 norm."""
    micro_batch_size: PositiveInt | None = None
    """Sequences per forward pass (a preference pair is two); gradients accumulate to the batch. Left out: the whole (mini)batch at once. Changes memory, not the result."""
    save_every: PositiveInt = 100
    """Steps between checkpoints to resume from."""


class SFTSpec(OptimizerSpec):
    """Supervised fine-tuning on completions (the loss ignores the prompt)."""

    epochs: PositiveInt = 1
    """Passes over the data."""
    batch_size: PositiveInt = 32
    """Sequences per optimizer step."""


class RewardModelSpec(OptimizerSpec):
    """Bradley-Terry reward model: a scalar head on the SFT model, score taken at the EOS token."""

    epochs: PositiveInt = 1
    """Passes over the pairs. More than one overfits quickly (Stiennon et al. 2020; Ouyang et al. 2022)."""
    batch_size: PositiveInt = 64
    """Pairs per optimizer step."""


class PPOSpec(OptimizerSpec):
    """Proximal policy optimisation against the reward model (Schulman et al. 2017; Ziegler et al. 2019)."""

    steps: PositiveInt = 100
    """PPO iterations: each samples one batch of responses and updates on it."""
    batch_size: PositiveInt = 64
    """Prompts (one response each) per iteration."""
    epochs: PositiveInt = 4
    """Passes over each batch of responses."""
    minibatches: PositiveInt = 4
    """Optimizer steps per pass; must divide `batch_size`."""
    learning_rate: LearningRate = 3e-6
    """Peak learning rate of the policy."""
    critic_learning_rate: LearningRate = 1e-5
    """Peak learning rate of the critic, which has its own optimizer."""
    lr_schedule: Schedule = "linear"
    """Shape of both learning rates after warm-up: constant, or down to 0 along a line or a cosine."""
    adam_eps: Annotated[float, Field(gt=0)] = 1e-5
    """Adam's epsilon; 1e-5 tames early updates (Huang et al. 2024, the N+ implementation details)."""
    max_new_tokens: PositiveInt = 64
    """Longest response, in tokens."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Sampling temperature; the log-probabilities of the update are taken at the same one."""
    kl_coef: Annotated[float, Field(ge=0)] = 0.05
    """β: weight of the per-token KL penalty to the reference (k1 estimator, inside the reward)."""
    gamma: Fraction = 1.0
    """Discount."""
    gae_lambda: Fraction = 0.95
    """λ of generalised advantage estimation."""
    clip_range: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """ε: the policy ratio is clipped to [1 − ε, 1 + ε]."""
    value_clip_range: Annotated[float, Field(gt=0)] | None = 0.2
    """New values are clipped to within this distance of the old ones; null turns value clipping off."""
    whiten_advantages: bool = True
    """Shift and scale the advantages of a batch to mean 0 and variance 1 (over response tokens only)."""
    missing_eos_penalty: Annotated[float, Field(ge=0)] = 1.0
    """Subtracted from the score of a response that was cut off without an EOS."""
    save_every: PositiveInt = 10
    """Iterations between checkpoints to resume from."""
    eval_every: PositiveInt = 10
    """Iterations between evaluations on held-out prompts."""
    log_samples: Annotated[int, Field(ge=0, le=64)] = 8
    """Completions of each batch that are logged."""

    @model_validator(mode="after")
    def _minibatches_divide_the_batch(self) -> "PPOSpec":
        if self.batch_size % self.minibatches:
            raise ValueError(f"`minibatches` ({self.minibatches}) must divide `batch_size` ({self.batch_size})")
        return self


class EvaluationSpec(Section):
    """The trained policy against the SFT policy on held-out prompts, paired by prompt."""

    prompts: PositiveInt = 128
    """Held-out prompts to use, at most."""
    batch_size: PositiveInt = 64
    """Prompts sampled at once."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Sampling temperature of both policies."""
    judge: str | None = None
    """Name of an installed judge (entry-point group `proximal.judges`) that scores completions beside the reward model."""


class CheckpointSpec(Section):
    """What is kept on the way."""

    keep_last: PositiveInt = 2
    """Intermediate checkpoints kept per stage; the final one of each stage always is."""


class RuntimeSpec(Section):
    """Where and how the run computes."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto` takes a GPU where there is one."""
    threads: PositiveInt | Literal["auto"] | None = None
    """CPU threads. Left out: one per core, but a single one for models below a million parameters, which more only slow down. `auto` times one against all at the start; a resumed run keeps what it had."""


class JobSpec(Section):
    """One RLHF run: SFT → reward model → PPO → evaluation."""

    name: Annotated[str, Field(max_length=200)] = ""
    """For people; shown in lists."""
    model: ModelSpec
    """The model to start from. A bare string is short for `{"path": …}`."""
    data: DataSpec
    """Datasets."""
    sft: SFTSpec | None = SFTSpec()
    """Supervised fine-tuning; null skips it (the model is used as it is)."""
    reward_model: RewardModelSpec = RewardModelSpec()
    """The reward model's training."""
    ppo: PPOSpec
    """The policy's optimisation; `{}` takes every default."""
    evaluation: EvaluationSpec = EvaluationSpec()
    """The comparison at the end."""
    checkpoints: CheckpointSpec = CheckpointSpec()
    """What is kept on the way."""
    runtime: RuntimeSpec = RuntimeSpec()
    """Where and how the run computes."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seeds data order, initial weights and sampling. On a CPU the same spec and seed give the same bits."""

    @model_validator(mode="after")
    def _a_new_model_needs_sft(self) -> "JobSpec":
        if self.model.config is not None and self.sft is None:
            raise ValueError("a model made from `model.config` has random weights: it needs `sft`")
        return self
