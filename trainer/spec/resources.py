"""How many processes work on a run."""

from trainer.spec.base import PositiveInt, Section


class ResourcesSpec(Section):
    """How many processes share the work. Not part of what the run is: it may be resumed with others."""

    processes: PositiveInt = 1
    """Processes on each machine: one for each GPU, or for each core or two on a CPU. They split every batch and sum their gradients; the result is that of one process, but for rounding."""
    machines: PositiveInt = 1
    """Machines, each with `processes` processes. The worker that takes the job must be the first of a group of at least as many."""

    @property
    def total(self) -> int:
        """Processes over all machines."""
        return self.processes * self.machines
