"""The speed and memory of PPO: against TRL's, against the measured ceilings of the machine, and against the preflight."""
