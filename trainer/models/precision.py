"""The type in which a run computes, and quantized backbones.

`model.dtype` = "auto" becomes bfloat16 on a GPU that has it, and float32 elsewhere. The type is chosen when a run begins and
recorded in its folder. A run that is resumed on another machine keeps it, because another type gives other weights.
"""

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import torch

from trainer.errors import ModelError, StorageError
from trainer.spec import JobSpec, ModelSpec

Dtype = Literal["float32", "bfloat16", "float16"]
RECORD = "dtype"
"""The file in the run folder with the type chosen for "auto"."""
Spec = TypeVar("Spec", JobSpec, ModelSpec)


def auto(device: str) -> Dtype:
    """The type for "auto" on a device of this kind. Without a GPU at hand, "cuda" is assumed to have bfloat16."""
    if device != "cuda" or (torch.cuda.is_available() and not torch.cuda.is_bf16_supported(including_emulation=False)):
        return "float32"
    return "bfloat16"


def resolved(spec: Spec, device: str, dtype: Dtype | None = None) -> Spec:
    """The spec with "auto" replaced by `dtype` or, without it, by the type for the device."""
    if isinstance(spec, JobSpec):
        return spec.model_copy(update={"model": resolved(spec.model, device, dtype)})
    return spec if spec.dtype != "auto" else spec.model_copy(update={"dtype": dtype or auto(device)})


def recorded(run_dir: Path, device: str) -> Dtype:
    """The type for "auto" in this run. It is chosen and recorded in the first call for a run folder.

    Raises StorageError if the record is damaged.
    """
    path = run_dir / RECORD
    if not path.exists():
        draft = path.with_suffix(".new")
        draft.write_text(auto(device))
        draft.replace(path)
    text = path.read_bytes().decode(errors="replace")
    for dtype in get_args(Dtype):
        if text == dtype:
            return dtype  # type: ignore[no-any-return]
    raise StorageError(
        f"{path} is damaged: it names no type. Write the `dtype` of the event `run_started` into it, so that the run goes on "
        "with the same type."
    )


def describe_dtype(dtype: Dtype, device: str) -> str:
    """The message about the type that was chosen for "auto"."""
    usual = auto(device)
    if dtype == usual:
        return f'Computing in {dtype} (`model.dtype` = "auto").'
    return (
        f"Computing in {dtype}, in which this run began; a new run on this machine would compute in {usual}. "
        "Set `model.dtype` and another run folder to change it."
    )


def multiply_float32(model: ModelSpec, device: str) -> None:
    """Apply `model.tf32` to the float32 matrix products of this process."""
    torch.set_float32_matmul_precision("high" if model.tf32 and device == "cuda" else "highest")


def check_quantization(spec: ModelSpec) -> None:
    """Raise ModelError where the spec asks for quantization and bitsandbytes is not installed."""
    if spec.quantization is not None and find_spec("bitsandbytes") is None:
        raise ModelError(
            '`model.quantization` needs bitsandbytes, which is not installed here: `pip install "bitsandbytes>=0.46"`, '
            "or leave it out."
        )


def quantization_options(spec: ModelSpec, dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    """Arguments of `from_pretrained` for QLoRA (Dettmers et al. 2023) by bitsandbytes; empty without quantization."""
    if spec.quantization is None:
        return {}
    check_quantization(spec)
    from transformers import BitsAndBytesConfig

    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it logs its casts at every call
    if spec.quantization == "8bit":
        config = BitsAndBytesConfig(load_in_8bit=True)
    else:
        config = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
        )
    return {"quantization_config": config, "device_map": {"": device}}
