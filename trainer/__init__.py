"""Training of RLHF runs: SFT, reward model, DPO, KTO, PPO and evaluation. PPO starts at `trainer/ppo/loop.py`.

The name of a tensor ends in one letter per dimension, as in `logprobs_BR`:

    B  sequences: prompts with their responses       U  different prompts of a batch
    R  response positions                            G  groups of responses to one prompt
    S  states: before each response token and        W  columns of the key-value cache
       after the last one, R + 1                     C  blocks of the vocabulary, or chunks
    T  positions of prompt and response together     X  columns of any kind
    N  tokens of a batch laid end to end             1  a dimension of size 1
    V  vocabulary
    H  hidden size

B alone stands for one number per sequence. Files about the inside of a model define further letters.
"""
