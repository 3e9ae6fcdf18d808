"""The reward model: one score per sequence, read at its EOS, trained by Bradley-Terry on pairs or cross-entropy on
thumbs, or a score per step.

`train` is the stage. `pairwise`, `pointwise` and `stepwise` hold losses, passes and figures for pairs, thumbs and steps. `report_card`
shows on which held-out pairs the model can be trusted.
"""
