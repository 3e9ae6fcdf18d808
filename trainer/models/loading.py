"""Loading and creating plain models, tokenizers and stops. An adapter folder is loaded merged into its base."""

import json
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from trainer.errors import ModelError
from trainer.models import adapters
from trainer.models.folders import located
from trainer.models.heads import Model, head_logits, trunk
from trainer.models.members import members_of, new_members, set_levels
from trainer.models.rounding import slack
from trainer.models.step_scores import mark_steps
from trainer.models.value_units import BIAS, with_bias, with_saved_bias
from trainer.spec import ModelSpec
from trainer.text.codec import Tokenizer
from trainer.text.stops import Stops

_OWN_FILES = {"trust_remote_code": False, "local_files_only": True}
"""Run no code from a model's folder and download nothing. `located` has downloaded the files."""
SAFELY = {"use_safetensors": True, **_OWN_FILES}
"""The same for weights, without pickle files."""
_VOCABULARIES = (
    "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
)  # fmt: skip
_LOADING_OPTIONS = ("is_local", "local_files_only")
"""Options that transformers would write into the `tokenizer_config.json` of every checkpoint. They describe the loading."""
FreshHead = int | Literal["zero"]
"""The initial weights of a scalar head.

A seed: drawn with standard deviation 1/√(H + 1), for a reward model (Huang et al. 2024). `zero`: for a critic, whose values
are then 0. Drawn weights would give values of standard deviation 1, whatever the scale of the rewards."""


def load_tokenizer(path: str | Path) -> Tokenizer:
    """A model's tokenizer, or that of an adapter's base where the adapter folder has none. Raises ModelError."""
    folder = located(path)
    if adapters.is_adapter(folder) and not (folder / "tokenizer_config.json").is_file():
        return load_tokenizer(adapters.base_of(folder))
    try:
        tokenizer: Tokenizer = _loading(path, lambda: AutoTokenizer.from_pretrained(str(folder), **_OWN_FILES))
    except ModelError as error:
        files = [name for name in (*_VOCABULARIES, "tokenizer_config.json") if (folder / name).is_file()]
        raise ModelError(
            f"{path} holds no complete tokenizer. The files {', '.join(_VOCABULARIES)} and tokenizer_config.json are looked for; "
            f"found: {' and '.join(files) or 'none'}. Copy the tokenizer's files into the folder. ({error})"
        ) from error
    for option in _LOADING_OPTIONS:
        tokenizer.init_kwargs.pop(option, None)
    return tokenizer


def load_config(path: str | Path) -> Any:
    """A model's configuration, or that of an adapter's base."""
    folder = located(path)
    if adapters.is_adapter(folder):
        return load_config(adapters.base_of(folder))
    return _loading(path, lambda: AutoConfig.from_pretrained(str(folder), **_OWN_FILES))


def load_policy(path: str | Path, dtype: torch.dtype = torch.float32, **options: Any) -> Model:
    """A causal language model. `options` go to `from_pretrained`. Raises ModelError where `head_logits` differs from its logits."""
    folder = located(path, weights=True)
    if adapters.is_adapter(folder):
        return _merged(folder, load_policy(adapters.base_of(folder), dtype, **options))
    load = AutoModelForCausalLM.from_pretrained
    model = _aligned(_loading(path, lambda: load(str(folder), dtype=dtype, **SAFELY, **options)))
    _keep_differentiable(model)
    _check_head(model)
    return model.eval()


def new_policy(spec: ModelSpec, tokenizer: Tokenizer, seed: int, dtype: torch.dtype = torch.float32) -> Model:
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
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    except (ValueError, TypeError, KeyError, RuntimeError, ZeroDivisionError, StrictDataclassError) as error:
        raise ModelError(f"`model.config` does not make a causal language model: {error}") from error
    _check_head(model)
    return model.eval()


def new_reward_model(
    policy_path: str | Path, head: FreshHead, dtype: torch.dtype = torch.float32, members: int = 1
) -> Model:
    """The policy's body with a fresh scalar head, or one with an output per member."""
    if adapters.is_adapter(located(policy_path)):
        model = _scorer_on(load_policy(policy_path, dtype))
    else:
        model = _load_classifier(policy_path, dtype, fresh_head=True)
    set_fresh(new_members(_with_scalar_head(policy_path, model), members).score, head)
    return model


def load_reward_model(
    path: str | Path, dtype: torch.dtype = torch.float32, several: bool = False, **options: Any
) -> Model:
    """A model with a scalar head: a reward model, or a critic. `options` go to `from_pretrained`.

    `several`: the head may have several outputs, as that of a critic with bins. That of an ensemble always may.
    """
    folder = located(path)
    if not adapters.is_adapter(folder):
        return with_saved_bias(_with_scalar_head(path, _load_classifier(path, dtype, **options), several), folder)
    adapter = adapters.read(folder)
    if "score.weight" not in adapter.weights:
        raise ModelError(f"{path} is an adapter without a `score` head: it was not trained to score.")
    model = _merged(folder, new_reward_model(adapters.base_of(folder), 0, dtype, len(adapter.levels) or 1))
    if adapter.levels:
        set_levels(model.config, adapter.levels)
    model.config.score_bias, model.config.score_scale = adapter.score_bias, adapter.score_scale
    mark_steps(model.config, adapter.step_delimiter)
    return with_bias(model, adapter.weights[BIAS]) if BIAS in adapter.weights else model


def load_classifier(path: str | Path, dtype: torch.dtype = torch.float32) -> Model:
    """Any sequence classifier. Raises ModelError where weights are missing, because transformers would draw a random head."""
    return _load_classifier(path, dtype)


def set_fresh(linear: nn.Linear, head: FreshHead) -> None:
    """Set the initial weights of a new head; see `FreshHead`."""
    if head == "zero":
        nn.init.zeros_(linear.weight)
    else:
        torch.manual_seed(head)
        for row in range(linear.out_features):  # the first member of an ensemble begins as the only one would
            nn.init.normal_(linear.weight[row : row + 1], std=1 / math.sqrt(linear.in_features + 1))


def _load_classifier(path: str | Path, dtype: torch.dtype, fresh_head: bool = False, **options: Any) -> Model:
    options |= {"dtype": dtype, "output_loading_info": True} | ({"num_labels": 1} if fresh_head else {})
    load = AutoModelForSequenceClassification.from_pretrained
    folder = located(path, weights=True)
    if adapters.is_adapter(folder):  # transformers would load its base from any folder
        raise ModelError(
            f"{path} is an adapter, not a whole model. Merge it into its base, and set the result as path."
        )
    model, loading = _loading(path, lambda: load(str(folder), **SAFELY, **options))
    if loading["missing_keys"] and not fresh_head:
        raise ModelError(
            f"{path} lacks the weights {', '.join(sorted(loading['missing_keys'])[:3])}: "
            "it was not trained as a classifier or reward model."
        )
    return _aligned(model).eval()


def _aligned(model: Model) -> Model:
    """Copy CPU weights that are not aligned to 64 bytes to new memory.

    Loaded weights are views into the mapped file, at addresses that depend on its header. Matrix products round
    differently at unaligned addresses, so a resumed run would end in other bits than one that was not interrupted.
    """
    for weights in model.parameters():
        if weights.device.type == "cpu" and weights.is_floating_point() and weights.data_ptr() % 64:
            weights.data = weights.data.clone()
    return model


def _keep_differentiable(model: Model) -> None:
    """Keep bitsandbytes from packing 4-bit weights for inference on a CPU.

    On a processor with AVX512-BF16 the first forward pass in evaluation mode packs them. A product of packed weights has no
    backward (`Linear4bit.forward` in bitsandbytes 0.50), so only the adapters after the last such layer would learn.
    """
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def _scorer_on(policy: Model) -> Model:
    """The architecture's scoring model with the policy's trunk."""
    policy.config.num_labels = 1
    model = AutoModelForSequenceClassification.from_config(policy.config, dtype=policy.dtype)
    model.base_model.load_state_dict(policy.base_model.state_dict())
    return model.eval()


def _with_scalar_head(path: str | Path, model: Model, several: bool = False) -> Model:
    head = getattr(model, "score", None)
    if not isinstance(head, nn.Linear):
        raise ModelError(
            f"{path}: a reward model needs a linear `score` head with one output; this architecture has none."
        )
    if head.out_features != members_of(model.config) and not several:
        raise ModelError(
            f"{path}: a reward model needs a `score` head with one output. This one has {head.out_features}."
        )
    for name, default in (("score_bias", 0.0), ("score_scale", 1.0)):
        if not hasattr(model.config, name):
            setattr(model.config, name, default)
    return model


def _merged(folder: Path, base: Model) -> Model:
    """The base with the adapter in `folder` merged into it by peft. Raises ModelError for an adapter without safetensors."""
    from peft import PeftModel  # takes two seconds to import

    adapters.require_safetensors(folder)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated")  # raised inside peft
        return _loading(folder, lambda: PeftModel.from_pretrained(base, str(folder)).merge_and_unload()).eval()


@torch.no_grad()
def _check_head(model: Model) -> None:
    """Raise ModelError where `head_logits` differs from the model's logits: some architectures scale or cap them."""
    model.eval()
    ids = torch.arange(1, 5, device=model.device)[None] % model.config.get_text_config().vocab_size
    positions = torch.arange(4, device=model.device)[None]
    sampling = {"attention_mask": torch.ones_like(ids), "position_ids": positions, "logits_to_keep": 4}
    try:
        expected = model(input_ids=ids, use_cache=False, **sampling).logits
    except TypeError as error:
        raise ModelError(
            f"{model.config.model_type}: this architecture cannot be sampled from here: {error}"
        ) from error
    hidden = trunk(model)(input_ids=ids, use_cache=False).last_hidden_state
    near = slack(model.dtype)
    if not torch.allclose(head_logits(model, hidden[0]), expected[0], rtol=near, atol=near):
        raise ModelError(
            f"{model.config.model_type}: this architecture transforms its logits in a way that is not supported."
        )


T = TypeVar("T")


def _loading(path: str | Path, load: Callable[[], T]) -> T:
    try:
        return load()
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"{path} cannot be loaded: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """The first line of a library's error message, with further lines while they end in a colon."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    last = next((number for number, line in enumerate(lines, 1) if not line.endswith(":")), len(lines))
    return " ".join(lines[:last])


_FILE = "generation_config.json"


def load_stops(tokenizer: Tokenizer, path: str | Path | None, strings: Sequence[str] = ()) -> Stops:
    """The tokenizer's EOS, the spec's `strings`, and the stops in the files of the model at `path` unless it is None.

    These are `eos_token_id` and `stop_strings` of generation_config.json; without that file, `eos_token_id` of config.json.
    Raises ModelError for a file that cannot be read.
    """
    if path is None:
        return Stops.for_tokenizer(tokenizer, (), strings)
    settings = _settings(path)
    ids = _listed(path, "eos_token_id", settings.get("eos_token_id"), int)
    texts = _listed(path, "stop_strings", settings.get("stop_strings"), str)
    # transformers writes a negative id for none
    return Stops.for_tokenizer(tokenizer, [number for number in ids if number >= 0], (*strings, *filter(None, texts)))


def set_stops(model: Model, stops: Stops) -> Model:
    """Set these stops in the generation configuration that is saved with the model, and return the model."""
    generation = getattr(model, "generation_config", None)
    if generation is not None and stops.ids:
        generation.eos_token_id = stops.ids[0] if len(stops.ids) == 1 else list(stops.ids)
        generation.stop_strings = list(stops.strings) or None
    return model


def _settings(path: str | Path) -> dict[str, Any]:
    """The generation settings of a model. An adapter folder without the file has its base's settings."""
    folder = located(path)
    if (folder / _FILE).is_file():
        return _read(folder / _FILE)
    if adapters.is_adapter(folder):
        return _settings(adapters.base_of(folder))
    config = _read(folder / "config.json") if (folder / "config.json").is_file() else {}
    nested = config.get("text_config")
    return {
        "eos_token_id": config.get("eos_token_id", nested.get("eos_token_id") if isinstance(nested, dict) else None)
    }


def _read(file: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises ModelError where the JSON is not an object."""
    settings = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(settings, dict):
        raise ModelError(f"{file} must hold a JSON object.")
    return settings


def _listed(path: str | Path, name: str, value: object, kind: type) -> list[Any]:
    """A value, a list of values or None, as a list. Raises ModelError for a value of another kind."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(type(one) is kind for one in values):
        what = "an integer or a list of integers" if kind is int else "a text or a list of texts"
        raise ModelError(f"{path}: `{name}` of its generation settings must be {what}; found {value!r}.")
    return values
