"""The model to start from, and how it is loaded."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from trainer.spec.architectures import faults
from trainer.spec.facts import ANYTIME, OWN_WIDGET, Amount, Names
from trainer.spec.model_size import ModelSize, absurd, size_of
from trainer.spec.section import Path, PositiveInt, Section


class TokenizerSpec(Section):
    """A byte-level BPE tokenizer trained on the run's own supervised text."""

    vocab_size: Annotated[int, Field(ge=260, le=200_000)] = 1024
    """Largest vocabulary: 256 bytes, the special tokens, and the text's merges up to this size."""


class AdapterSpec(Section):
    """Low-rank adapters of a frozen model (Hu et al. 2021), by peft."""

    rank: Annotated[PositiveInt, Amount("ranks")] = 16
    """r: rank of each adapter."""
    alpha: Annotated[float, Field(gt=0)] = 32.0
    """α: adapters are scaled by α / r."""
    target_modules: list[str] | Literal["all-linear"] = "all-linear"
    """Names of the linear layers that get an adapter; `all-linear` takes every one but the output layer."""


class LoraSpec(AdapterSpec):
    """Low-rank adapters instead of full fine-tuning (Hu et al. 2021), by peft."""

    share_backbone: bool = True
    """One frozen backbone in memory for policy, reference, critic and reward model, each with an adapter (the reference with none): four models cost about one. False: each has a backbone of its own."""
    merge: bool = True
    """A stage's result is the whole model in float32, with the adapter merged in and once more beside it: 27 GB for 7 billion weights. False: the adapter alone, which needs its base to be loaded."""


class ModelSpec(Section):
    """The language model to start from: a pretrained one by `path`, or a new one from `config` and `tokenizer`."""

    path: Annotated[Path | None, OWN_WIDGET, Names("policy")] = None
    """Hub id, local folder or checkpoint of a causal language model with its tokenizer. Weights must be safetensors."""
    config: Annotated[dict[str, JsonValue] | None, OWN_WIDGET] = None
    """A transformers configuration for a model with random weights: `model_type` and sizes and switches of that architecture. Other keys are refused."""
    tokenizer: TokenizerSpec | None = None
    """How to train the tokenizer of a model made from `config`."""
    dtype: Annotated[Literal["auto", "float32", "bfloat16", "float16"], ANYTIME] = "auto"
    """Type in which forward passes compute. It is also the type in which frozen models store their linear layers and a backbone under adapters all of its weights. "auto" is bfloat16 on a GPU that has it, and float32 elsewhere; a run keeps the type it began with. `float16`: 11 bits in place of the 8 of bfloat16, so the log-probabilities of sampler and trainer lie closer together (arXiv 2510.26788), but no numbers above 65504. Trained weights stay in float32. Dynamic loss scaling keeps small gradients from vanishing (Micikevicius et al. 2018). A step whose gradient overflows is left out, and the metric `overflows` counts it."""
    output_layer: Annotated[Literal["dtype", "float32"], ANYTIME] = "dtype"
    """Type in which the output layer of policies and references computes the logits. `dtype`: that of `dtype`. `float32`: from hidden states in `dtype`, logits in float32, when sampling and in training. Log-probabilities of the sampler and of the trainer then lie closer together (MiniMax 2025, arXiv 2506.13585, §3.2). Logits take twice the memory, and their products are slower."""
    tf32: Annotated[bool, ANYTIME] = False
    """On a GPU, multiply float32 matrices in TF32, which keeps 10 of their 23 bits and is several times as fast. Off by default, because a spec that sets float32 expects its precision. bfloat16 is faster still."""
    trained_weights: Literal["float32", "bfloat16"] = "float32"
    """Type of weights that are trained. `bfloat16` (needs `dtype` = "bfloat16"): weights and gradients take half the memory. The optimizer keeps float32 masters, so that steps too small for bfloat16 add up."""
    gradient_checkpointing: Annotated[bool, ANYTIME] = False
    """Keep only the layers' inputs for the backward pass and compute the rest again: less memory, about a third slower."""
    lora: LoraSpec | None = None
    """Train low-rank adapters, not the weights themselves. Left out: full fine-tuning."""
    quantization: Literal["8bit", "4bit"] | None = None
    """Load the frozen backbone in 8 or 4 bits (bitsandbytes, where installed; QLoRA, Dettmers et al. 2023). Needs `lora`."""

    @model_validator(mode="before")
    @classmethod
    def _a_bare_string_is_a_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value

    @field_validator("config")
    @classmethod
    def _only_known_keys(cls, config: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
        if config is None or "model_type" not in config:
            return config
        if found := "; ".join(faults(config)) or "; ".join(absurd(config)):
            raise ValueError(found)
        return config

    @property
    def size(self) -> ModelSize | None:
        """The size of a new model; None for a pretrained one, whose configuration is not part of the spec."""
        if self.config is None or self.tokenizer is None:
            return None
        return size_of(self.config, self.tokenizer.vocab_size)

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

    @model_validator(mode="after")
    def _adapters_need_a_backbone(self) -> "ModelSpec":
        if self.quantization is not None and self.lora is None:
            raise ValueError("`quantization` freezes the weights: it needs `lora`")
        if self.quantization is not None and self.lora is not None:
            self.lora.refuse_idle(["merge"], "with `quantization`: nothing can be merged into such a backbone")
        if self.lora is not None and self.config is not None:
            raise ValueError("`lora` adapts a pretrained model: it needs `path`, not `config`")
        return self

    @model_validator(mode="after")
    def _output_layer_has_an_effect(self) -> "ModelSpec":
        if self.dtype == "float32":
            self.refuse_idle(["output_layer"], 'with `dtype` = "float32", in which it computes already')
        return self

    @model_validator(mode="after")
    def _trained_weights_fit(self) -> "ModelSpec":
        if self.lora is not None:
            self.refuse_idle(["trained_weights"], "with `lora`: adapters are in float32")
        if self.trained_weights == "bfloat16" and self.dtype != "bfloat16":
            raise ValueError('`trained_weights` = "bfloat16" needs `dtype` = "bfloat16", which they compute in')
        return self
