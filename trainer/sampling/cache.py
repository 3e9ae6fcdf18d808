"""A key-value cache that is allocated once and written in place.

Shapes: B rows, L layers, H key heads, W columns (positions), D size of a head.

Every row ends at the same column: prompts stand at the right of their part, so that all rows write their next token into
one column. Live rows stand first. The last live row overwrites a row that has ended, and nothing else of the cache is
copied. The cache of transformers (DynamicCache) copies all of itself at every token and every time a row ends.
"""

from dataclasses import dataclass, field

from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import CacheLayerMixin, DynamicLayer, DynamicSlidingWindowLayer

from trainer.models import Model


@dataclass
class CacheWindow:
    """The part of the cache that the next forward pass reads and writes. All layers share it."""

    width: int
    """W: columns of the cache."""
    rows: int
    """B: rows of the cache."""
    first: int = 0
    """The first column that a live row uses."""
    at: int = 0
    """The column that the next token is written to."""
    live: int = 0
    """Number of live rows, which stand first."""
    prefilled: tuple[slice, Tensor | None] | None = None
    """While prompts are read: the rows that are written, and the row of the forward pass for each (None: row by row)."""
    column: Tensor | None = field(default=None)
    """(1,) `at` on the device, for captured graphs, whose passes all run over the same memory: the first `columns`."""
    columns: int = 0

    def begin(self) -> None:
        """Forget the previous batch."""
        self.first = self.at = self.live = self.columns = 0
        self.prefilled = self.column = None


class InPlaceLayer(CacheLayerMixin):
    """Keys and values (B, H, W, D) of one layer. A sliding window keeps all columns too; its mask selects those in it."""

    is_compileable = False

    def __init__(self, window: CacheWindow, is_sliding: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.window = window
        self.is_sliding = is_sliding

    keys: Tensor
    values: Tensor

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        def allocated(states: Tensor) -> Tensor:
            shape = (self.window.rows, states.shape[1], self.window.width, states.shape[3])
            # columns that were never written are masked, but 0 × NaN would be NaN
            return states.new_zeros(shape)

        self.keys, self.values = allocated(key_states), allocated(value_states)
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        # under autocast rotated keys are float32; stored so, all of them would be cast at every step
        key_states = key_states.to(value_states.dtype)
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        return self._put(self.keys, key_states), self._put(self.values, value_states)

    def _put(self, kept: Tensor, states: Tensor) -> Tensor:
        """Write new states, and return all states that the pass attends to."""
        window = self.window
        if window.prefilled is not None:
            rows, source = window.prefilled
            columns = slice(window.at, window.at + states.shape[2])
            kept[rows, :, columns] = states if source is None else states.index_select(0, source)
            return states
        if window.column is not None:
            kept[: window.live].index_copy_(2, window.column, states)
            return kept[: window.live, :, : window.columns]
        kept[: window.live, :, window.at] = states[:, :, 0]
        return kept[: window.live, :, window.first : window.at + 1]

    def move(self, sources: Tensor, targets: Tensor) -> None:
        columns = slice(self.window.first, self.window.at + 1)
        for kept in (self.keys, self.values):
            kept[targets, :, columns] = kept[sources, :, columns]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of what `update` returns."""
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        """Columns that were written before this pass."""
        return 0 if self.window.prefilled is not None else self.window.at - self.window.first

    def get_max_length(self) -> int:
        return self.window.width


class InPlaceCache(Cache):
    """For `rows` rows of up to `width` positions. Raises ValueError for a model that `keeps_in_place` rejects."""

    def __init__(self, model: Model, rows: int, width: int) -> None:
        kinds = _layer_kinds(model)
        if not _known(kinds):
            raise ValueError(f"{model.config.model_type} keeps more than keys and values")
        self.window = CacheWindow(width, rows)
        super().__init__(layers=[InPlaceLayer(self.window, kind is DynamicSlidingWindowLayer) for kind in kinds])

    def move(self, sources: Tensor, targets: Tensor) -> None:
        """Overwrite the rows `targets` by the rows `sources`."""
        for layer in self.layers:
            if isinstance(layer, InPlaceLayer) and layer.is_initialized:
                layer.move(sources, targets)


_GROWING: set[str] = set()
"""Architectures whose samples are correct only with the cache that transformers makes for them."""


def keeps_in_place(model: Model) -> bool:
    """Whether all layers of the model keep keys and values and nothing else. Linear attention keeps other states."""
    return model.config.model_type not in _GROWING and _known(_layer_kinds(model))


def use_growing_cache(model_type: str, grow: bool = True) -> None:
    """Sample models of this type with transformers' own cache from now on, or (`grow` False) with the in-place one again."""
    (_GROWING.add if grow else _GROWING.discard)(model_type)


def _layer_kinds(model: Model) -> list[type]:
    return [type(layer) for layer in DynamicCache(config=model.config).layers]


def _known(kinds: list[type]) -> bool:
    return bool(kinds) and all(kind in (DynamicLayer, DynamicSlidingWindowLayer) for kind in kinds)
