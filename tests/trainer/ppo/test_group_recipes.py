"""The recipes with a baseline of the group, over an enumeration of all groups of two responses."""

import tomllib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.trainer.ppo.test_toy_gradient import exact_gradient
from tests.trainer.ppo.toy import CODEC, PROMPT, REPRESENTATIVE, STEPS, actors, objective, quarters
from tests.trainer.stage_tools import context_of
from trainer.ppo.experience import build_experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Minibatch
from trainer.rollout.batch import sample_and_score
from trainer.spec import PPOSpec

EXAMPLES = Path(__file__).parents[3] / "examples"
LONGEST = STEPS + 2
PAIRS = torch.cat([torch.stack([one, other]) for one in REPRESENTATIVE for other in REPRESENTATIVE])
"""(8192, 3): the draws of each ordered pair of the 64 equally likely responses, side by side."""


def gradients(name: str, **changes: Any) -> tuple[Tensor, Tensor]:
    """The gradient of the recipe's first optimizer step on all pairs, without its KL, and that of the mean score."""
    parts = tomllib.loads((EXAMPLES / f"{name}.toml").read_text())["ppo"]
    sizes = {"batch_size": len(PAIRS), "samples_per_prompt": 2, "minibatches": 1, "max_new_tokens": LONGEST}
    spec = PPOSpec.model_validate(
        parts | sizes | {"shaping": {"missing_eos_penalty": 0}, "kl": {"coef": 0.0}} | changes
    )
    cast = actors(quarters(0.25))
    context = context_of(cast, spec, CODEC)
    scored = sample_and_score(context, [PROMPT] * len(PAIRS), PAIRS)
    experience = build_experience(context, scored, kl_coef=spec.kl.coef)
    minibatch = Minibatch.select(experience, list(range(len(PAIRS))), spec, KLCoefficients(spec.kl.coef, 1.0))
    minibatch.accumulate(Learners.build(cast, spec), only_critic=False)
    return cast.policy.score.weight.grad, exact_gradient(objective(cast.policy, cast.reference, 0.0), cast.policy)


def test_dr_grpo_has_the_gradient_of_the_score() -> None:
    """Its mean holds the response itself, which leaves (k − 1)/k of the gradient, k = 2; each token counts 1/`max_new_tokens`."""
    found, exact = gradients("dr_grpo")
    torch.testing.assert_close(found, -exact / 2 / LONGEST, rtol=1e-5, atol=1e-6)
    assert float(exact.abs().max()) > 0.1
