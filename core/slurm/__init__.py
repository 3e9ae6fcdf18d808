"""Slurm by its commands: their errors, the jobs that it runs, and the state of its cluster."""
