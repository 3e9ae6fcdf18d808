"""Scheduling of jobs: the policy as pure functions, the claim that applies it in the database, and the use of each owner."""
