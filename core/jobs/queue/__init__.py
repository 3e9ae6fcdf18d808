"""Workers, and the jobs that wait for them."""
