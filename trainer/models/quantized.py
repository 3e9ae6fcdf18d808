"""Backbones in 8 or 4 bits, by bitsandbytes where it is installed (QLoRA, Dettmers et al. 2023)."""

import logging
from importlib.util import find_spec
from typing import Any

import torch

from trainer.errors import ModelError
from trainer.spec import ModelSpec


def check_quantization(spec: ModelSpec) -> None:
    """Raise ModelError where the spec asks for it and the library is not there."""
    if spec.quantization is not None and find_spec("bitsandbytes") is None:
        raise ModelError(
            '`model.quantization` needs bitsandbytes, which is not installed here: `pip install "bitsandbytes>=0.46"`, '
            "or leave it out."
        )


def quantization_options(spec: ModelSpec, dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    """What `from_pretrained` needs for it; nothing where the spec asks for none."""
    if spec.quantization is None:
        return {}
    check_quantization(spec)
    from transformers import BitsAndBytesConfig

    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it tells of its casts at every call
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
