"""Lists of jobs, and where a job comes from."""
