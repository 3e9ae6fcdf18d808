"""Annotation rounds: people say which completion is better, and what they said becomes a dataset version."""
