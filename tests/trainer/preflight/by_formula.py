"""Passes without counting, for tests that look at other parts of the estimate: a count takes two seconds per check."""

from collections.abc import Callable

from trainer.preflight.memory.passes import Passes, T, Widths


class ByFormula(Passes):
    """The passes of an architecture that cannot be followed, but without the finding about it."""

    def _counted(self, count: Callable[[], T], by_formula: Callable[[Widths], T], of: Callable[[Passes], T]) -> T:
        return by_formula(Widths.from_config(self.blueprint.config.get_text_config(), self.blueprint.dtype.itemsize))
