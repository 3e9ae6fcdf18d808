"""Launching of trainers: one interface, with an engine for each place where a trainer may run."""
