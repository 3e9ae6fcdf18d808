"""The folder of a model's files, local or a cached snapshot of a hub repository, and the checks before it is read.

Every model and tokenizer is loaded from the folder that `located` returns, never by name. By name, transformers would
follow an adapter's `base_model_name_or_path` to any folder of this machine, and retry an unreachable hub for minutes.

Configuration files of a model come from third parties. Some of their keys make transformers and peft run code, load other
files or write outside the folder. Files with such keys are refused. Removing a key would change the model.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import transformers
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

from trainer import allowed_paths
from trainer.errors import ModelError
from trainer.models.adapters import is_adapter
from trainer.spec.path_rules import is_hub_id

_SMALL_FILES = ["*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken"]
# The base error of huggingface_hub's HTTP client, whose module differs between releases.
_TRANSPORT: tuple[type[Exception], ...] = tuple(
    kind for kind in HfHubHTTPError.__mro__ if issubclass(kind, Exception) and kind.__name__ == "HTTPError"
)
_INDEX, _WEIGHTS = "model.safetensors.index.json", "model.safetensors"


def located(name: str | Path, weights: bool = False) -> Path:
    """The folder of a model, after its configuration files have been checked.

    `weights`: download a hub repository's weights too, not only its configuration and tokenizer. Raises ModelError, and
    SpecError for a local folder that this process may not read.
    """
    folder = _local(str(name))
    if folder is None:
        folder = _from_hub(str(name), weights)
    check_config_files(folder)
    return folder


def _local(name: str) -> Path | None:
    """The local folder of that name; None for a hub id. With restricted paths a hub id is never read as a folder."""
    confined = allowed_paths.current() is not None
    if not (confined and is_hub_id(name)):
        folder = allowed_paths.permitted_folder(name)
        if folder.is_dir():
            return folder
        if not is_hub_id(name):
            hint = " `~` is not replaced by the home folder." if name.startswith("~") else ""
            raise ModelError(f"There is no folder {name} on this machine.{hint}")
    return None


def _from_hub(name: str, weights: bool) -> Path:
    folder = _snapshot(name, _SMALL_FILES)
    if is_adapter(folder):
        raise ModelError(f"{name} is an adapter on the hub. Download it, and give its folder as path.")
    if weights:
        _snapshot(name, _weight_files(folder), folder.name)
    return folder


def _weight_files(folder: Path) -> list[str]:
    index = folder / _INDEX
    if not index.is_file():
        return [_WEIGHTS]
    try:
        return sorted({str(file) for file in json.loads(index.read_text())["weight_map"].values()})
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ModelError(f"{index} does not list the files of the weights: {error}") from error


def _snapshot(name: str, files: list[str], revision: str | None = None) -> Path:
    """Download these files of a repository, or find them in the cache if the hub does not respond. Raises ModelError."""
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=files))
    except LocalEntryNotFoundError as error:
        raise _not_here(name, error.__cause__ or error) from error
    except HfHubHTTPError as error:
        raise ModelError(
            f"There is no folder {name} on this machine, and the hub does not provide a model {name}: {_first_line(error)}"
        ) from error
    except _TRANSPORT as error:
        try:
            return Path(snapshot_download(name, revision=revision, allow_patterns=files, local_files_only=True))
        except LocalEntryNotFoundError:
            raise _not_here(name, error) from error


_ASK_SECONDS = 5.0


def why_unavailable(name: str) -> str | None:
    """Why a run on this machine could not download a model of the hub; None if the hub has it. It downloads nothing."""
    try:
        HfApi().model_info(name, timeout=_ASK_SECONDS)
    except HfHubHTTPError as error:
        return f"the hub does not provide it: {_first_line(error)}"
    except OfflineModeIsEnabled:
        return "it is not in the cache, and HF_HUB_OFFLINE forbids a download"
    except _TRANSPORT as error:
        return f"the hub cannot be reached ({type(error).__name__}: {_first_line(error)})"
    return None


def _not_here(name: str, reason: BaseException) -> ModelError:
    return ModelError(
        f"There is no folder {name} on this machine, and the hub's model {name} is not in this machine's cache. "
        f"It cannot be downloaded, because the hub cannot be reached ({type(reason).__name__}: {_first_line(reason)})."
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


FILES = (
    "config.json",
    "generation_config.json",
    "adapter_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "processor_config.json",
    "preprocessor_config.json",
)
_CODE = {
    "auto_map", "trust_remote_code", "custom_pipelines", "custom_generate", "attn_implementation", "_attn_implementation",
    "_attn_implementation_internal", "_attn_implementation_autoset", "experts_implementation", "_experts_implementation",
    "_experts_implementation_internal", "kernel_config", "use_kernels", "megatron_core", "megatron_config",
}  # fmt: skip
"""Keys that name code: modules of the folder or another repository, kernels of the hub, Python modules."""
_PATHS = {
    "vocab_file", "merges_file", "tokenizer_file", "spm_file", "source_spm", "target_spm", "sp_model_file",
    "cache_file", "covariance_file", "tokenizer_name_or_path", "prompt_tuning_init_state_dict_path", "gguf_file",
}  # fmt: skip
"""Keys that name another file, which would be read instead of the folder's own."""
_CODE_PREFIX = "custom_"
_QUANTIZED = "quantization_config"
_QUANTIZATION_KINDS = ("bitsandbytes", "bitsandbytes_4bit", "bitsandbytes_8bit")
_DEEPEST = 64
# Values that have no effect. Libraries write them into every file.
_IDLE: tuple[Any, ...] = (None, False, "", {}, [])
_HARMLESS = {"_attn_implementation_autoset": (True,), "megatron_core": ("megatron.core",)}
_IMPLEMENTATIONS = (
    "eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention", "batched_mm", "grouped_mm",
)  # fmt: skip
"""Values of `…_implementation` that name code of transformers itself."""
_NAMES = ("label2id", "id2label", "extra_special_tokens", "model_specific_special_tokens", "added_tokens_decoder")
"""Keys whose own keys are labels or tokens, with any name."""
_ADAPTERS = ("LORA", "ADALORA", "LOHA", "LOKR", "IA3", "OFT", "BOFT", "HRA", "VERA")
"""Kinds of adapters that can be merged into their base; prompt learning loads models and tokenizers by name."""


def check_config_files(folder: Path) -> None:
    """Raise ModelError, with file and key, for a configuration that runs code or reads files outside the folder."""
    for name in FILES:
        path = folder / name
        if path.is_file():
            _check_file(path)


def _check_file(path: Path) -> None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not readable JSON: {error}") from error
    for key, why in _faults(content, path.name):
        raise ModelError(f"{path}: {key} {why}. Proximal does not load such a model.")


def _faults(content: Any, file: str) -> Iterator[tuple[str, str]]:
    """Yield each refused key as it is written in the file, with the reason."""
    for key, name, value in _entries(content):
        if name in _CODE or name.startswith(_CODE_PREFIX):
            if not (_is_idle(name, value) or (key == "auto_map" and _is_built_in(content))):
                yield f"`{key}`", "names code that is not part of transformers or peft"
        elif name in _PATHS:
            if isinstance(value, str) and _leaves(value):
                yield f"`{key}`", "names a file outside the folder"
        elif name == _QUANTIZED:
            kind = value.get("quant_method") if isinstance(value, dict) else value
            if value not in _IDLE and kind not in _QUANTIZATION_KINDS:
                yield f"`{key}`", f"has the kind {kind!r}; use the unquantized weights and set `model.quantization`"
        elif name == "chat_template":
            yield from _template_faults(key, value)
    if file == "adapter_config.json" and isinstance(content, dict):
        yield from _adapter_faults(content)


def _entries(content: Any, at: str = "", depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    """Yield the path, name and value of every key at any depth."""
    if depth > _DEEPEST:
        raise ModelError(f"`{at}`: a configuration is nested at most {_DEEPEST} levels deep.")
    if isinstance(content, dict):
        for name, value in content.items():
            yield f"{at}{name}", name, value
            if name not in _NAMES:
                yield from _entries(value, f"{at}{name}.", depth + 1)
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from _entries(value, f"{at}{number}.", depth + 1)


def _is_idle(name: str, value: Any) -> bool:
    if value in _IDLE or value in _HARMLESS.get(name, ()):
        return True
    return "_implementation" in name and value in _IMPLEMENTATIONS


def _is_built_in(content: dict[str, Any]) -> bool:
    """Whether transformers itself has the class that a file's top-level `auto_map` replaces.

    Folders published before their architecture was added to transformers keep that key. With `trust_remote_code=False`
    it is ignored at the top level, but not in nested configurations (CVE-2026-5241).
    """
    if "model_type" in content:
        return content["model_type"] in transformers.CONFIG_MAPPING
    name = content.get("tokenizer_class")
    return isinstance(name, str) and name.isidentifier() and hasattr(transformers, name)


def _template_faults(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """transformers saves a named template under its name as a file (CVE-2026-9856)."""
    names = [entry.get("name") for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
    names += list(value) if isinstance(value, dict) else []
    for name in names:
        if not isinstance(name, str) or not name.replace("_", "").replace("-", "").isalnum():
            yield f"`{key}`", f"has a template named {name!r}; a name consists of letters, digits, `_` and `-`"


def _adapter_faults(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if (kind := content.get("peft_type", "LORA")) not in _ADAPTERS:
        yield "`peft_type`", f"is {kind!r}; adapters of these kinds are read: {', '.join(_ADAPTERS)}"
    library = (content.get("auto_mapping") or {}).get("parent_library") or "transformers"
    if str(library).partition(".")[0] != "transformers":
        yield "`auto_mapping.parent_library`", f"names the Python module {library!r}"


def _leaves(value: str) -> bool:
    """Whether a file name points outside the folder."""
    return "/" in value or "\\" in value or value == ".."
