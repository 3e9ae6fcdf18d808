"""The reward model: one score per sequence, read at its EOS, trained by Bradley-Terry on pairs or cross-entropy on thumbs.

`train` is the stage. `pairwise` and `pointwise` hold losses, passes and figures for pairs and for thumbs. `report_card`
shows on which held-out pairs the model can be trusted.
"""
