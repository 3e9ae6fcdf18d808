"""Whether a critic pays off on tasks with long credit, against GRPO at equal samples: `make bench-critic JSON=FILE`."""
