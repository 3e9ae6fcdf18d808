"""Groups of jobs, and sweeps."""
