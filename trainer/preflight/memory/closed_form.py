"""Passes by formula, for architectures that cannot be followed on fake tensors, such as mixtures of experts.

Numbers kept for the backward pass, per token and layer: 6·H for the two norms (each keeps its input, the normalised and the
weighed), 2·K for keys and values, 3·A for queries, attention's output and its copy, 4·F for the gated feed-forward part
(gate before and after its activation, the other branch, their product). H hidden size, K and A widths of keys and queries, F
feed-forward width times the experts that a token goes through. That is Korthikanti et al. (2022, "Reducing activation
recomputation in large transformer models"), §4, for RMSNorm, SwiGLU and an attention that keeps no scores.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Widths:
    """Of one architecture; `size`: bytes per number."""

    layers: int
    hidden: int
    queries: int
    keys: int
    feed: int
    vocabulary: int
    size: int

    @classmethod
    def of(cls, config: Any, size: int) -> "Widths":
        hidden, heads = int(config.hidden_size), int(getattr(config, "num_attention_heads", 1))
        head = int(getattr(config, "head_dim", None) or hidden // heads)
        key_heads = int(getattr(config, "num_key_value_heads", None) or heads)
        feed = (
            getattr(config, "moe_intermediate_size", None) or getattr(config, "intermediate_size", None) or 4 * hidden
        )
        experts = int(getattr(config, "num_experts_per_tok", None) or 1)
        layers, vocabulary = int(config.num_hidden_layers), int(config.vocab_size)
        return cls(layers, hidden, heads * head, key_heads * head, int(feed) * experts, vocabulary, size)

    def kept(self, tokens: int, recompute: bool) -> int:
        """Bytes kept for the backward pass; of recomputed layers their inputs, and one layer whole."""
        layer = 6 * self.hidden + 2 * self.keys + 3 * self.queries + 4 * self.feed
        numbers = self.layers * self.hidden + layer if recompute else self.layers * layer
        return tokens * numbers * self.size

    def working(self, tokens: int) -> int:
        """Bytes in use while one layer is computed without gradients."""
        return tokens * (2 * self.hidden + 2 * self.queries + 3 * self.feed) * self.size

    def logits(self, counted: int) -> int:
        return counted * self.vocabulary * self.size

    def cache(self, tokens: int) -> int:
        return 2 * self.layers * self.keys * tokens * self.size
