"""Annotation rounds: people compare completions, and their answers become a dataset version."""
