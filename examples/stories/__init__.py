"""Real PPO at the size of a laptop: a pretrained storyteller of 260,000 parameters, and rewards that need no reward model."""
