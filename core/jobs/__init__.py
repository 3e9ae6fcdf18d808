"""Jobs, in folders of which each imports only the ones below it.

- `actions`: what a user asks of a job: commands, retry, extension, branch
- `groups`: groups of jobs, and sweeps
- `submission`: specs, their limits and checks, templates
- `checkpoints`: recorded, pruned, checked for damage
- `run`: events, progress, metrics, completions, console output, measurements of the machine
- `lifecycle`: the row, its states and attempts
- `queue`: workers, and the jobs that wait for them
- `overview`: lists of jobs, and where a job comes from
"""
