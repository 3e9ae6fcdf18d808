"""TRL's PPO as the peer, in a virtual environment of its own."""
