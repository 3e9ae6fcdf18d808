"""The least work that a PPO iteration is, on paper. Pure functions; docs/explanation/performance.md derives them.

A product of an (m, k) and a (k, n) matrix is 2·m·k·n operations. Padding, positions whose output is not used, and repeated
work do not count. Norms, activations, softmax and the optimizer are left out. They are no matrix products, and 1 to 3 % of
the operations at these sizes.
"""

from dataclasses import dataclass

from benchmarks.ppo.sizes import Shape

FLOAT = 4
"""Bytes of a float32."""


@dataclass(frozen=True)
class Batch:
    """The batch of an iteration: `responses` of `response` tokens after prompts of `prompt` tokens, on average.

    Attention grows with the square of a length, so the mean length gives a lower bound.
    """

    responses: int
    prompt: float
    response: float

    @property
    def length(self) -> float:
        return self.prompt + self.response


@dataclass(frozen=True)
class Floors:
    """Operations of each phase."""

    rollout: float
    score: float
    train: float


def body_parameters(shape: Shape) -> int:
    """Weights of all layers' matrices: what a token is multiplied with on its way to the last hidden state."""
    key_value = shape.hidden // shape.heads * shape.key_values
    attention = 2 * shape.hidden * shape.hidden + 2 * shape.hidden * key_value
    return shape.layers * (attention + 3 * shape.hidden * shape.ffn)


def parameters(shape: Shape, vocab: int) -> int:
    """All weights of the policy, its norms included."""
    embeddings = vocab * shape.hidden * (1 if shape.tied else 2)
    return body_parameters(shape) + embeddings + (2 * shape.layers + 1) * shape.hidden


def pass_over(shape: Shape, tokens: float) -> float:
    """Operations of one sequence's way through the layers.

    Each token t looks at t tokens, itself included: 2·hidden for the scores and as many for the sum, in every layer.
    """
    return 2 * body_parameters(shape) * tokens + 4 * shape.hidden * shape.layers * tokens * (tokens + 1) / 2


def head(shape: Shape, vocab: int, tokens: float) -> float:
    """Operations of the output layer."""
    return 2 * shape.hidden * vocab * tokens


def iteration(shape: Shape, vocab: int, batch: Batch, epochs: int, adapters: bool = False) -> Floors:
    """Operations of one PPO iteration with a separate critic.

    Rollout: each token but a response's last goes through the policy once, the head sees the positions that are drawn from.
    Score: the reference's and the critic's pass over the same tokens, and the reward model's over the last token too. The
    policy's log-probabilities come with the sampling. Train: forward and backward of policy and critic, `epochs` times. A
    backward pass is two products, one for the inputs' gradient and one for the weights'. Frozen weights under `adapters`
    need only the first.
    """
    but_last = pass_over(shape, batch.length - 1)
    policy = but_last + head(shape, vocab, batch.response)
    score = policy + but_last + pass_over(shape, batch.length)
    train = (2 if adapters else 3) * epochs * (policy + but_last)
    return Floors(*(batch.responses * each for each in (policy, score, train)))


def decode_bytes(shape: Shape, vocab: int, batch: Batch, bytes_per_weight: int = FLOAT) -> float:
    """Bytes that must be read for a batch's responses: at each step all weights once, and each row's keys and values.

    The step for token t reads the keys and values of the prompt and the t tokens before. The number of steps is the length
    of an average response. This is a lower bound, because the longest response decides.
    """
    steps = batch.response
    weights = (body_parameters(shape) + vocab * shape.hidden) * bytes_per_weight
    per_position = 2 * shape.layers * shape.hidden // shape.heads * shape.key_values * bytes_per_weight
    positions = batch.prompt * steps + steps * (steps - 1) / 2
    return steps * weights + batch.responses * per_position * positions
