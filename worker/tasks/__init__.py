"""The data worker: imports, search indexes, reports and annotation rounds, beside the jobs."""
