"""The job's own model: whether it is here, fits its tokenizer, its data and the spec, and how large it is."""

import copy
import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch
from huggingface_hub import try_to_load_from_cache
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForSequenceClassification

from trainer import allowed_paths
from trainer.errors import ModelError
from trainer.models import adapters, check_quantization, has_linear_score, load_tokenizer
from trainer.models.folders import check_config_files, why_unavailable
from trainer.preflight.memory.fake_models import Blueprint
from trainer.preflight.memory.layers import shortened
from trainer.preflight.report import Finding, Level, ModelReport
from trainer.sampling.engine import check_engine
from trainer.sampling.vllm_support import require_vllm, why_refused
from trainer.spec import JobSpec, ModelSpec
from trainer.spec.path_rules import is_hub_id
from trainer.stages.tokenize import TokenizedData, learns_from
from trainer.text.codec import Tokenizer, embedding_rows

Device = Literal["cpu", "cuda"]


@dataclass
class ModelFiles:
    """The files of the job's model. Parts that could not be read are None."""

    findings: list[Finding]
    folder: Path | None = None
    tokenizer: Tokenizer | None = None
    config: Any = None
    blueprint: Blueprint | None = None

    def problem(self, where: str, code: str, error: Exception | str, fix: str | None = None) -> None:
        self.findings.append(finding("error", code, where, str(error), fix))


def finding(level: Level, code: str, where: str, detail: str, fix: str | None = None) -> Finding:
    return Finding(level=level, area="model", code=code, where=where, detail=detail, fix=fix)


def read_model(spec: JobSpec, device: Device, elsewhere: bool = False) -> ModelFiles:
    """Check the model's folder, its tokenizer, the machine and the libraries, before the data is read.

    `elsewhere`: the run is for another machine, so a part that is missing here is a warning and no error.
    """
    found = ModelFiles(list(settings(spec, device, elsewhere)))
    if spec.model.path is not None:
        _find(found, spec.model.path, elsewhere)
    return found


def settings(spec: JobSpec, device: Device, elsewhere: bool = False) -> Iterator[Finding]:
    """Findings about the model's settings, the libraries and the machine, before any file is read."""
    yield from _machine(spec, device, elsewhere)
    for where, check in (("#/model/config", check_config), ("#/model/quantization", check_quantization)):
        try:
            check(spec.model)
        except ModelError as error:
            yield finding("error", "invalid_model", where, str(error))
    try:
        check_engine(spec)
    except ModelError as error:
        level: Level = "warning" if elsewhere else "error"
        yield finding(level, "engine", "#/ppo/rollout/engine", str(error))


def check_config(spec: ModelSpec) -> None:
    """Raise ModelError, with the nearest known name, for a `model.config` with an unknown `model_type` or key."""
    if spec.config is None:
        return
    model_type, config = str(spec.config["model_type"]), spec.config.keys() - {"model_type"}
    if model_type not in CONFIG_MAPPING:
        near = _nearest(model_type, list(CONFIG_MAPPING))
        raise ModelError(f"`model.config`: unknown `model_type` {model_type!r}{near}")
    known_config = CONFIG_MAPPING[model_type]()
    known = {*known_config.to_dict(), *known_config.attribute_map}
    for key in sorted(config):
        if key not in known:
            raise ModelError(f"`model.config` has an unknown field {key!r}{_nearest(key, sorted(known))}")


def check_architecture(found: ModelFiles, spec: JobSpec, tokenizer: Tokenizer, device: Device) -> None:
    """Check the model's sizes, heads and adapters with the tokenizer, and add the findings to `found`."""
    try:
        config = found.config if spec.model.path is not None else _new_config(spec.model, tokenizer)
    except ModelError as error:
        found.problem("#/model/config", "invalid_model", error)
        return
    if config is None:
        return
    found.findings += vocabulary_and_head(spec, config, tokenizer)
    found.findings += vllm_findings(spec, config, device)
    blueprint = Blueprint(config, spec.model, device, spec.runtime.packing)
    try:
        blueprint.shortened.trained("policy")
    except ModelError as error:
        where = "#/model/lora/target_modules" if "target_modules" in str(error) else "#/model"
        found.problem(where, "invalid_model", error)
        return
    except (ValueError, TypeError, KeyError, RuntimeError, ZeroDivisionError, AttributeError) as error:
        found.problem("#/model", "invalid_model", f"No causal language model can be made of this: {error}")
        return
    unfit = list(critic_findings(spec, blueprint))
    found.findings += unfit
    if unfit:
        return
    found.config, found.blueprint = config, blueprint


def critic_findings(spec: JobSpec, blueprint: Blueprint) -> Iterator[Finding]:
    """An error where the architecture lacks the parts that `ppo.critic.train` names."""
    if "ppo" not in spec.stages or not spec.ppo.critic.has_frozen_parts:
        return
    try:
        blueprint.for_critic(spec.ppo.critic)
    except ModelError as error:
        field = "last_layers" if "`ppo.critic.last_layers`" in str(error) else "train"
        yield finding("error", "invalid_critic", f"#/ppo/critic/{field}", str(error))


def vllm_findings(spec: JobSpec, config: Any, device: str) -> Iterator[Finding]:
    """An error if the vLLM that is installed here cannot sample this model. One that is absent has its own finding."""
    if "ppo" not in spec.stages or spec.ppo.rollout.engine != "vllm":
        return
    try:
        require_vllm()
    except ModelError:
        return
    if (reason := why_refused(config, device)) is not None:
        yield finding("error", "engine", "#/ppo/rollout/engine", reason)


def describe(blueprint: Blueprint) -> ModelReport:
    config = blueprint.config.get_text_config()
    return ModelReport(
        architecture=blueprint.config.model_type,
        parameters=blueprint.parameters("policy"),
        trained_parameters=blueprint.trained_parameters("policy"),
        vocabulary=config.vocab_size,
        context=getattr(config, "max_position_embeddings", None),
        layers=config.num_hidden_layers,
        hidden_size=config.hidden_size,
        dtype=blueprint.spec.dtype,
    )


def vocabulary_and_head(spec: JobSpec, config: Any, tokenizer: Tokenizer) -> Iterator[Finding]:
    """Errors of a model whose vocabulary is too small, or that cannot have the scalar head that a stage needs."""
    tokens, vocabulary = embedding_rows(tokenizer), int(config.get_text_config().vocab_size)
    if tokens > vocabulary:
        detail = f"The tokenizer has {tokens} tokens, the model only {vocabulary}: they do not match."
        yield finding("error", "vocabulary", "#/model", detail)
    if _needs_scalar_head(spec):
        yield from _scalar_head(config)


def context_findings(spec: JobSpec, config: Any, encoded: TokenizedData) -> Iterator[Finding]:
    """Errors for sequences longer than the model's context, one for each field to change."""
    context = getattr(config.get_text_config(), "max_position_embeddings", None)
    for where, what, tokens, knobs in _longest(spec, encoded):
        if context is not None and tokens > context:
            detail = f"{what}: {tokens} tokens, but the model's context is {context}."
            yield finding("error", "context", where, detail, f"Lower {' or '.join(knobs)}.")


def _longest(spec: JobSpec, encoded: TokenizedData) -> Iterator[tuple[str, str, int, tuple[str, ...]]]:
    """The longest sequence of each use: the field to point at, its description, its tokens and the fields to lower."""
    stages = set(spec.stages)
    prompt, completion, response = "`data.max_prompt_tokens`", "`data.max_completion_tokens`", "`ppo.max_new_tokens`"
    completions, both = "#/data/max_completion_tokens", (prompt, completion)
    if "sft" in stages:
        yield completions, "The longest demonstration", encoded.longest_demonstration(), both
    if learns_from(spec, "comparisons"):
        yield completions, "The longest preference pair", encoded.longest_side(), both
    if learns_from(spec, "thumbs"):
        yield completions, "The longest completion with a thumb", encoded.longest_thumb(), both
    if learns_from(spec, "solutions"):
        yield completions, "The longest solution with labelled steps", encoded.longest_solution(), both
    if "kto" in stages:
        what = "The longest prompt and completion of `data.thumbs`, which KTO pairs for its reference point,"
        yield completions, what, encoded.longest_thumb(mismatched=True), both
    if "ppo" in stages:
        tokens = encoded.longest_prompt() + spec.ppo.max_new_tokens
        what = "The longest prompt and `ppo.max_new_tokens` together"
        yield "#/ppo/max_new_tokens", what, tokens, (prompt, response)
        text = max(map(len, encoded.texts), default=0)
        yield "#/ppo/ptx/max_tokens", "The longest text of `data.pretraining`", text, ("`ppo.ptx.max_tokens`",)
    if stages & {"ppo", "evaluation"}:
        own = spec.evaluation.max_new_tokens is not None or "ppo" not in stages
        tokens = max((len(one.ids) for one in encoded.held_out_prompts), default=0)
        tokens += spec.evaluation.max_new_tokens or spec.ppo.max_new_tokens
        knobs = (prompt, "`evaluation.max_new_tokens`" if own else response)
        yield "#/evaluation/max_new_tokens", "The longest held-out prompt and its response together", tokens, knobs


def _float16(spec: JobSpec, device: Device, has_gpu: bool) -> Iterator[Finding]:
    """GPUs from compute capability 5.3 on compute in float16 (CUDA C programming guide, arithmetic instructions)."""
    where = "#/model/dtype"
    if has_gpu and torch.cuda.get_device_capability() < (5, 3):
        yield finding(
            "error", "dtype", where, "This GPU does not compute in float16.", 'Set it to "auto" or "float32".'
        )
    if device == "cpu":
        detail = "Computing in float16 on a CPU is slower than in float32."
        yield finding("warning", "dtype", where, detail, 'Set it to "auto" or "float32", unless it is a rehearsal.')


def _machine(spec: JobSpec, device: Device, elsewhere: bool) -> Iterator[Finding]:
    if spec.runtime.device == "cuda" and not torch.cuda.is_available():
        fix = 'Set `runtime.device` to "auto", or run it where there is a GPU.'
        level: Level = "warning" if elsewhere else "error"
        yield finding(level, "no_cuda", "#/runtime/device", "There is no CUDA device on this machine.", fix)
    has_gpu = device == "cuda" and torch.cuda.is_available()
    if has_gpu and spec.model.dtype == "bfloat16" and not torch.cuda.is_bf16_supported():
        detail = "This GPU does not compute in bfloat16."
        yield finding("warning", "dtype", "#/model/dtype", detail, 'Set it to "auto" or "float32".')
    if spec.model.dtype == "float16":
        yield from _float16(spec, device, has_gpu)
    if device == "cuda" and spec.model.dtype == "float32":
        products = "TF32" if spec.model.tf32 else "float32"
        detail = f"Computing in float32 on a GPU ({products} products) is several times slower than in bfloat16."
        yield finding("warning", "dtype", "#/model/dtype", detail, 'Set it to "auto" or "bfloat16".')
    if spec.model.quantization is not None and device == "cpu":
        detail = "Quantized weights need a GPU. On a CPU they may be slow or refused."
        yield finding("warning", "quantization", "#/model/quantization", detail)
    adapts = "ppo" in spec.stages and spec.ppo.critic.train == "adapters"
    if (spec.model.lora is not None or adapts) and find_spec("peft") is None:
        where = "#/ppo/critic/train" if spec.model.lora is None else "#/model/lora"
        yield finding("error", "no_peft", where, "peft is not installed here.", "pip install peft")


def _find(found: ModelFiles, path: str, elsewhere: bool) -> None:
    where = "#/model/path"
    try:
        if is_elsewhere(path, elsewhere):
            found.findings.append(absent(path, where, elsewhere))
            return
        found.folder = local(path)
        if found.folder is None:
            found.findings.append(absent(path, where, elsewhere))
            return
        found.config = config_of(found.folder)
        found.tokenizer = load_tokenizer(found.folder)
        if has_weights(found.folder):
            weights_of(found.folder)
        else:
            found.findings.append(_no_weights(path, found.folder, elsewhere))
    except ModelError as error:
        found.problem(where, "invalid_model", error)


def is_elsewhere(path: str, elsewhere: bool) -> bool:
    """Whether a path may name a folder of the machine of the run, and is none of this one."""
    return elsewhere and not is_hub_id(path) and not Path(path).is_dir()


def absent(path: str, where: str, elsewhere: bool) -> Finding:
    """The finding about a model that is not on this machine. It is an error where the run is here and cannot fetch it."""
    if is_elsewhere(path, elsewhere):
        detail = f"There is no folder {path} on this machine. The run is for another one, so it could not be checked."
        return finding("warning", "not_checked", where, detail, "Look for it on the machine of the run.")
    detail = f"{path} is no folder here and not in the hub's cache."
    why = None if elsewhere else why_unavailable(path)
    if why is not None:
        advice = "Correct the name, or put the model where the run can read it."
        return finding("error", "model_missing", where, f"{detail} No run could start: {why}.", advice)
    return finding(
        "warning", "not_checked", where, f"{detail} It could not be checked.", "Download it, then check again."
    )


def _no_weights(path: str, folder: Path, elsewhere: bool) -> Finding:
    """A finding about missing weights. A run downloads the weights of a hub id, but a folder must hold them."""
    detail, where = f"{folder} holds no weights as safetensors", "#/model/path"
    if Path(path).is_dir() and not elsewhere:
        return finding("error", "no_weights", where, f"{detail}: memory is worked out, but no run could start.")
    return finding("warning", "not_checked", where, f"{detail} yet.", "Download them before the run.")


def _new_config(spec: ModelSpec, tokenizer: Tokenizer) -> Any:
    """The configuration that trainer/models/loading.py makes for a new model."""
    sizes = {key: value for key, value in (spec.config or {}).items() if key != "model_type"}
    sizes |= {"vocab_size": embedding_rows(tokenizer), "eos_token_id": tokenizer.eos_token_id}
    sizes |= {"pad_token_id": tokenizer.pad_token_id, "bos_token_id": sizes.get("bos_token_id")}
    try:
        return AutoConfig.for_model(str((spec.config or {})["model_type"]), **sizes)
    except (ValueError, TypeError, KeyError, RuntimeError, StrictDataclassError) as error:
        raise ModelError(f"`model.config` does not make a causal language model: {error}") from error


def _needs_scalar_head(spec: JobSpec) -> bool:
    critic = "ppo" in spec.stages and spec.ppo.has_separate_critic
    return critic or "reward_model" in spec.stages


def _scalar_head(config: Any) -> Iterator[Finding]:
    """An error where the architecture has no reward model with a linear head. The model is made on the meta device."""
    kind, config = config.model_type, copy.deepcopy(shortened(config))
    config.num_labels = 1
    try:
        with torch.device("meta"):
            scorer = AutoModelForSequenceClassification.from_config(config)
    except (ValueError, KeyError, AttributeError):
        detail = f"{kind}: transformers has no reward model for this architecture."
        yield finding("error", "no_score_head", "#/model", detail)
        return
    if not has_linear_score(scorer):
        detail = f"{kind}: the reward model of this architecture has no linear `score` head."
        yield finding("error", "no_score_head", "#/model", detail)


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def local(path: str) -> Path | None:
    """The folder of a model, or its newest snapshot in the hub's cache; None if this machine has neither.

    Raises ModelError for a path that is no folder and cannot be a hub id, and SpecError for a folder that this process may
    not read.
    """
    if Path(path).is_dir():
        return allowed_paths.permitted_folder(path)
    if not is_hub_id(path):
        raise ModelError(f"There is no folder {path} on this machine.")
    cached = try_to_load_from_cache(path, "config.json")
    return Path(cached).parent if isinstance(cached, str) else None


def config_of(folder: Path) -> Any:
    """The model's transformers configuration, or that of an adapter's base. Raises ModelError."""
    if adapters.is_adapter(folder):
        base = local(adapters.base_of(folder))
        if base is None:
            raise ModelError(f"{folder} is an adapter on {adapters.base_of(folder)}, which is not on this machine.")
        return config_of(base)
    check_config_files(folder)
    try:
        return AutoConfig.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{folder} has no usable config.json: {str(error).splitlines()[0]}") from error


def has_weights(folder: Path) -> bool:
    """Whether a folder has weights. A configuration and a tokenizer are enough to estimate memory."""
    return any(folder.glob("*.safetensors"))


def weights_of(folder: Path) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights in a folder, from the files' headers. Raises ModelError if there are none."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelError(f"{folder} holds no weights as safetensors.")
    shapes: dict[str, tuple[int, ...]] = {}
    for file in files:
        try:
            with safe_open(file, "pt") as content:
                shapes |= {name: tuple(content.get_slice(name).get_shape()) for name in content.keys()}  # noqa: SIM118 no dict
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{file} cannot be read: {error}") from error
    missing = _index(folder) - {file.name for file in files}
    if missing:
        raise ModelError(f"{folder} lacks the files {', '.join(sorted(missing))} that its index names.")
    return shapes


def _index(folder: Path) -> set[str]:
    index = folder / "model.safetensors.index.json"
    return set(json.loads(index.read_text())["weight_map"].values()) if index.exists() else set()
