"""Helpers of every benchmark: folders, the machine, a browser, parts within a time budget. No module here imports torch."""
