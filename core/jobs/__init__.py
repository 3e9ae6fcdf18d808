"""Jobs: their states, attempts, events, metrics and checkpoints."""
