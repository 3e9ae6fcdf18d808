"""Loading and making models: the policy, the reward model and the critic are plain transformers models.

All of them stay in eval mode, in training too: dropout is off everywhere (a policy with dropout has no ratio of 1).
"""

import math
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from trainer.errors import ModelError
from trainer.models.heads import Model, has_linear_score, head_logits, trunk
from trainer.spec import ModelSpec
from trainer.text import Tokenizer

SAFELY = {"use_safetensors": True, "trust_remote_code": False}
"""No pickle, and no code from a model's folder, not even when somebody at a terminal would say yes."""


def load_tokenizer(path: str | Path) -> Tokenizer:
    return _loading(path, lambda: AutoTokenizer.from_pretrained(str(path), trust_remote_code=False))


def load_policy(path: str | Path) -> Model:
    """A causal language model in fp32, refused if the house cannot compute its logits."""
    model = _loading(path, lambda: AutoModelForCausalLM.from_pretrained(str(path), dtype=torch.float32, **SAFELY))
    _check_head(model)
    return model.eval()


def new_policy(spec: ModelSpec, tokenizer: Tokenizer, seed: int) -> Model:
    """A model with random weights from `spec.config`, its vocabulary and special ids taken from the tokenizer."""
    sizes = {key: value for key, value in (spec.config or {}).items() if key != "model_type"}
    sizes |= {
        "vocab_size": len(tokenizer),
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    sizes.setdefault("bos_token_id", None)
    torch.manual_seed(seed)
    try:
        config = AutoConfig.for_model(str((spec.config or {})["model_type"]), **sizes)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    except (ValueError, TypeError, KeyError, RuntimeError, ZeroDivisionError, StrictDataclassError) as error:
        raise ModelError(f"`model.config` does not make a causal language model: {error}") from error
    _check_head(model)
    return model.eval()


def new_reward_model(policy_path: str | Path, seed: int) -> Model:
    """The policy's body with a scalar head, initialised with standard deviation 1/√(H + 1) (Huang et al. 2024)."""
    model = _load_scalar(policy_path, fresh_head=True)
    torch.manual_seed(seed)
    nn.init.normal_(model.score.weight, std=1 / math.sqrt(model.config.hidden_size + 1))
    return model


def load_reward_model(path: str | Path) -> Model:
    """A model with a scalar head: a reward model, or a critic."""
    return _load_scalar(path, fresh_head=False)


def load_classifier(path: str | Path) -> Model:
    """Any sequence classifier, with all of its weights: a head made up on loading would make up its scores."""
    return _load_classifier(path, {})


def _load_classifier(path: str | Path, extra: dict[str, int]) -> Model:
    model, loading = _loading(
        path,
        lambda: AutoModelForSequenceClassification.from_pretrained(
            str(path), dtype=torch.float32, output_loading_info=True, **SAFELY, **extra
        ),
    )
    if loading["missing_keys"] and not extra:
        raise ModelError(
            f"{path} lacks the weights {', '.join(sorted(loading['missing_keys'])[:3])}: "
            "it is a model of another kind, not one that was trained to score."
        )
    return model.eval()


def _load_scalar(path: str | Path, fresh_head: bool) -> Model:
    model = _load_classifier(path, {"num_labels": 1} if fresh_head else {})
    if not has_linear_score(model):
        raise ModelError(
            f"{path}: a reward model needs a linear `score` head with one output; this architecture has none."
        )
    for name, default in (("score_bias", 0.0), ("score_scale", 1.0)):
        if not hasattr(model.config, name):
            setattr(model.config, name, default)
    return model


@torch.no_grad()
def _check_head(model: Model) -> None:
    """Some architectures scale or cap their logits in ways of their own; those are refused, not trained wrongly."""
    model.eval()
    ids = torch.arange(1, 5)[None] % model.config.get_text_config().vocab_size
    sampling = {"attention_mask": torch.ones_like(ids), "position_ids": torch.arange(4)[None], "logits_to_keep": 4}
    try:
        expected = model(input_ids=ids, use_cache=False, **sampling).logits
    except TypeError as error:
        raise ModelError(
            f"{model.config.model_type}: this architecture cannot be sampled from here: {error}"
        ) from error
    hidden = trunk(model)(input_ids=ids, use_cache=False).last_hidden_state
    if not torch.allclose(head_logits(model, hidden[0]), expected[0], rtol=1e-3, atol=1e-3):
        raise ModelError(
            f"{model.config.model_type}: this architecture transforms its logits in a way that is not supported."
        )


def _loading(path: str | Path, load: Any) -> Any:
    try:
        return load()
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        if Path(path).is_absolute() and not Path(path).is_dir():
            raise ModelError(f"There is no folder {path} on this machine.") from error
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"{path} cannot be loaded: {first_line}") from error
