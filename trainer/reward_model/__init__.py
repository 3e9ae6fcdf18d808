"""The reward model: Bradley-Terry on preference pairs, one scalar per sequence, read at its EOS.

pairs.py        comparisons as token ids; all pairs of one ranking belong together
loss.py         the loss of a pair, from the two scores
scoring.py      one forward pass per answer, gradient of a batch, held-out figures
normalise.py    where the scale of the scores ends up
report_card.py  where the reward model can be trusted and where not
train.py        the stage
"""

from trainer.reward_model.loss import bradley_terry_loss
from trainer.reward_model.normalise import mean_score, normalise, unscale
from trainer.reward_model.pairs import Pair, encode, rankings
from trainer.reward_model.scoring import accumulate, evaluate
from trainer.reward_model.train import train

__all__ = [
    "Pair",
    "accumulate",
    "bradley_terry_loss",
    "encode",
    "evaluate",
    "mean_score",
    "normalise",
    "rankings",
    "train",
    "unscale",
]
