"""A small policy in a folder, and roles on it whose adapters really do something."""

from pathlib import Path

import torch

from tests.trainer.stage_tools import CPU, new_codec
from tests.trainer.tiny_models import gpt2, llama
from trainer.models import Model, ModelBuilder, builder_for
from trainer.models.sequences import Batch
from trainer.spec import LoraSpec, ModelSpec

LORA = LoraSpec(rank=2, alpha=4.0)
BATCH = Batch.from_ids([[5, 6], [7, 8, 9]], [[10, 11, 1], [12, 1]], pad_id=0)


def policy_in(folder: Path, kind: str = "llama") -> Path:
    model = {"llama": llama, "gpt2": gpt2}[kind]()
    model.save_pretrained(folder)
    new_codec().tokenizer.save_pretrained(folder)
    return folder


def maker(folder: Path, **changes: object) -> ModelBuilder:
    spec = ModelSpec.model_validate({"path": str(folder), "lora": LORA.model_dump()} | changes)
    return builder_for(spec, CPU, lambda part: len(part))


@torch.no_grad()
def stir(role: Model, seed: int) -> Model:
    """Adapter and head as after some training: fresh ones change nothing."""
    draws = torch.Generator().manual_seed(seed)
    for weight in role.parameters():
        weight.copy_(0.3 * torch.randn(weight.shape, generator=draws))
    return role
