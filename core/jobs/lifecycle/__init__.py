"""The row of a job: its states, attempts, and what changes them."""
