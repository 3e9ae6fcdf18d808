"""The sizes that are measured: a model's shape, a batch, and how briefly the models are trained beforehand."""

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Shape:
    """A Llama-like decoder: `layers` blocks of attention and a gated feed-forward."""

    hidden: int
    layers: int
    heads: int
    ffn: int
    kv_heads: int | None = None
    vocab: int | None = None
    """Rows of the embedding; None: as many as the tokenizer has tokens."""
    tied: bool = True

    @property
    def key_values(self) -> int:
        return self.kv_heads or self.heads


@dataclass(frozen=True)
class Size:
    """One benchmark's models, batch and lengths."""

    name: str
    shape: Shape
    batch: int
    response: int
    """Longest response, in tokens."""
    epochs: int = 4
    minibatches: int = 4
    iterations: int = 5
    """Measured by default; the first is not counted."""
    reviews: tuple[int, ...] = (1, 2, 3, 4)
    """A text is one of these many reviews after another: 36 tokens on average, 9 % of them beyond 64."""
    sft_steps: int = 110
    sft_batch: int = 32
    sft_rate: float = 2e-3
    reward_steps: int = 25
    init_std: float = 0.02
    device: str = "cpu"
    dtype: str = "float32"
    lora: bool = False
    full_length: bool = False
    """Every response runs to `response` tokens, by models whose EOS is a token that is never drawn."""
    trained: bool = True
    """False: random weights."""
    base: str | None = None
    """A size whose trained models these are, with a larger vocabulary."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Size":
        """Read the output of `to_json`."""
        found = json.loads(text)
        return cls(**{**found, "shape": Shape(**found["shape"]), "reviews": tuple(found["reviews"])})

    def digest(self) -> str:
        """Changes with whatever changes the model folders."""
        recipe = {
            key: value
            for key, value in asdict(self).items()
            if key not in ("name", "batch", "epochs", "minibatches", "iterations", "full_length", "device", "response")
        }
        return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:10]


_3M = Shape(256, 4, 4, 704)
_28M = Shape(512, 8, 8, 1536)

SIZES = {
    size.name: size
    for size in (
        Size(
            "demo", Shape(128, 2, 4, 352), 64, 40, iterations=12, reviews=(1,), sft_steps=280, sft_rate=4e-3,
            reward_steps=150, init_std=0.05,
        ),
        Size("3m", _3M, 64, 64, init_std=0.05),
        Size("3m-32k", Shape(256, 4, 4, 704, vocab=32_000), 64, 64, epochs=1, iterations=2, base="3m", full_length=True),
        Size("28m", _28M, 32, 64, iterations=3, sft_steps=70, sft_batch=16, sft_rate=1e-3, reward_steps=8),
        Size(
            "0.5b", Shape(896, 24, 14, 4864, kv_heads=2, vocab=151_936), 128, 256, iterations=4, device="cuda",
            dtype="bfloat16", trained=False, full_length=True,
        ),
        Size(
            "7b-lora", Shape(4096, 32, 32, 11_008, vocab=32_000, tied=False), 64, 256, iterations=4, device="cuda",
            dtype="bfloat16", lora=True, trained=False, full_length=True,
        ),
    )
}  # fmt: skip
SIZES["30m"] = SIZES["28m"]
