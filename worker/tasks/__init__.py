"""The data worker: imports, search indexes, reports and whatever else is done to data, beside the jobs."""
