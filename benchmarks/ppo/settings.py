"""The settings of both systems: one set of numbers, passed to each by its own option names."""

from dataclasses import dataclass

from benchmarks.ppo.sizes import Size


@dataclass(frozen=True)
class Settings:
    """One comparison. Everything that is not here is in `ours.spec` and `peer.command`, side by side in the docs."""

    size: Size
    iterations: int
    threads: int
    seed: int = 0
    full_length: bool = False
    learn: bool = False
    """At a rate at which the policy learns, for the curves; else at one so small that the lengths stay put."""
    rate: float | None = None
    kl_coef: float = 0.05
    """β of both, in the reward."""
    missing_eos_penalty: float = 1.0

    @property
    def learning_rate(self) -> float:
        return self.rate if self.rate is not None else 3e-4 if self.learn else 1e-6

    @property
    def schedule(self) -> str:
        return "linear" if self.learn else "constant"

    @property
    def own_iterations(self) -> int:
        """The iterations of ours, which evaluates in its last one.

        While timing it takes one more, which does not count. While learning that would change the schedule, so the last
        iteration is left out of the times of both.
        """
        return self.iterations if self.learn else self.iterations + 1

    @property
    def label(self) -> str:
        """For people and folders."""
        kinds = [self.size.name, *(["full"] if self.full_length else []), *(["learn"] if self.learn else [])]
        return "-".join(kinds)
