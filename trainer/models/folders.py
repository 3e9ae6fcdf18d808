"""The folder in which a model's files lie: a local one, or a snapshot of a hub repository in the cache.

Every model and tokenizer is loaded from the folder that `located` returns, never by name: transformers would follow an
adapter's `base_model_name_or_path` to any folder of this machine, and asks an unreachable hub for minutes.
"""

import json
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

from trainer import allowed_paths
from trainer.errors import ModelError
from trainer.models.adapters import is_adapter
from trainer.models.vetting import vet
from trainer.spec.path_rules import is_hub_id

_SMALL_FILES = ["*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken"]
# What huggingface_hub's HTTP client raises for a connection that breaks; the client's name differs between its releases.
_TRANSPORT: tuple[type[Exception], ...] = tuple(
    kind for kind in HfHubHTTPError.__mro__ if issubclass(kind, Exception) and kind.__name__ == "HTTPError"
)
_INDEX, _WEIGHTS = "model.safetensors.index.json", "model.safetensors"


def located(name: str | Path, weights: bool = False) -> Path:
    """The folder of a model, whose configuration files are fit to be read by transformers and peft.

    `weights`: a hub repository's weights are wanted too, not only its configuration and tokenizer. Raises ModelError, or
    SpecError for a local folder that this process may not read.
    """
    folder = _local(str(name))
    if folder is None:
        folder = _from_hub(str(name), weights)
    vet(folder)
    return folder


def _local(name: str) -> Path | None:
    """None for the id of a model on the hub. A confined process reads a hub id never as a folder."""
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
        raise ModelError(f"{index} does not say which files hold the weights: {error}") from error


def _snapshot(name: str, files: list[str], revision: str | None = None) -> Path:
    """These files of a repository, from the cache where the hub does not answer. Raises ModelError."""
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=files))
    except LocalEntryNotFoundError as error:
        raise _not_here(name, error.__cause__ or error) from error
    except HfHubHTTPError as error:
        raise ModelError(
            f"There is no folder {name} on this machine, and the hub does not give out a model {name}: {_first_line(error)}"
        ) from error
    except _TRANSPORT as error:
        try:
            return Path(snapshot_download(name, revision=revision, allow_patterns=files, local_files_only=True))
        except LocalEntryNotFoundError:
            raise _not_here(name, error) from error


def _not_here(name: str, reason: BaseException) -> ModelError:
    return ModelError(
        f"There is no folder {name} on this machine, and the model {name} of the hub is not in this machine's cache "
        f"and cannot be downloaded: the hub cannot be reached ({type(reason).__name__}: {_first_line(reason)})."
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
