"""The reward model: one scalar per sequence, read at its EOS; Bradley-Terry on pairs, or cross-entropy on thumbs.

pairs.py        comparisons as token ids; all pairs of one ranking belong together
loss.py         the loss of a pair, from the two scores
scoring.py      pairs: one forward pass per answer, gradient of a batch, held-out figures
pointwise.py    the same of thumbs, and their report card
normalise.py    where the scale of the scores ends up
report_card.py  where the reward model can be trusted and where not
train.py        the stage
"""
