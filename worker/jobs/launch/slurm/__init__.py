"""The launcher `slurm`: each trainer is a batch job of a Slurm cluster, and goes on while its worker restarts."""
