"""Reports of a run: events, progress, metrics, completions, console output, measurements of the machine."""
