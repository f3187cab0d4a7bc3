"""Memory for views of any extent, of which only what is touched exists."""

import mmap
import sys

import numpy as np

from ._cache_views import wrapped

_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
_APRON = 4096  # elements before and behind everything


class NoRoom(Exception):
    """The system gives no address space of that size."""


class LazyMemory:
    """The elements of a layout between two aprons. Only its islands are filled and compared: all of it where it is
    small; of a far layout what surrounds the elements of its views, where they lie and where products wrap to."""

    def __init__(self, layout, dtype, islands, low):
        """dtype: NumPy's, that holds the bits of an element. islands: (begin, end) in elements, ascending. low: the
        elements before the first one that can be addressed."""
        self.layout, self.islands = layout, islands
        self._low = low + _APRON
        # One view with the strides of another still ends inside.
        elements = self._low + max(2 * layout.elements, islands[-1][1]) + _APRON
        try:
            self._map = mmap.mmap(-1, elements * dtype.itemsize,
                                  flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
        except (OSError, ValueError, OverflowError) as error:
            raise NoRoom(f"{elements * dtype.itemsize:,} bytes of address space cannot be had: {error}") from None
        self.flat = np.frombuffer(self._map, dtype)
        self._begin, self._bytes = self.flat.__array_interface__["data"][0], self.flat.nbytes
        self._itemsize = self.flat.itemsize
        self._starts = np.array([begin for begin, _ in islands])
        self._ends = np.array([end for _, end in islands])
        self._before = np.concatenate([[0], np.cumsum(self._ends - self._starts)[:-1]])

    @property
    def front(self):
        """Elements before the layout's first."""
        return self._low

    def view(self, group):
        """The view of a group, with exactly its strides."""
        size = self.flat.itemsize
        return np.lib.stride_tricks.as_strided(self.flat[self._low + group.offset:], group.shape,
                                               [stride * size for stride in group.strides])

    def write(self, elements, values):
        self.flat[elements + self._low] = values

    def fill(self, make):
        """make(n) gives the bits of n elements."""
        for begin, end in self.islands:
            self.flat[self._low + begin:self._low + end] = make(end - begin)

    def snapshot(self):
        """All islands, one behind the other."""
        return np.concatenate([self.flat[self._low + begin:self._low + end] for begin, end in self.islands])

    def positions(self, elements):
        """Where they stand in a snapshot; -1: in no island."""
        island = np.searchsorted(self._starts, elements, "right") - 1
        held = (island >= 0) & (elements < self._ends[np.maximum(island, 0)])
        return np.where(held, elements - self._starts[island] + self._before[island], -1)

    def elements_at(self, addresses):
        """Which elements lie at these addresses; those that lie elsewhere are left out."""
        inside = (addresses >= self._begin) & (addresses < self._begin + self._bytes)
        return (addresses[inside] - self._begin) // self._itemsize - self._low

    def release(self):
        """Gives the memory back; where elements are in snapshots is known still."""
        self.flat = self._map = None

    def elements(self, positions):
        """What stands at these positions of a snapshot."""
        island = np.searchsorted(self._before, positions, "right") - 1
        return positions - self._before[island] + self._starts[island]


def memory_of(layout, dtype):
    """The memory of a layout with its islands: all of it with its aprons, unless it is too large to be touched."""
    if layout.elements <= 1 << 23:
        return LazyMemory(layout, dtype, [(-_APRON, 2 * layout.elements + _APRON)], 0)
    pieces = []
    begins = [group.offset for group in layout.groups]
    for group in (*layout.groups, *layout.neighbours):
        # Along strides that leave the near, each index by itself; views that begin near each other also with the
        # strides of each other.
        near = [begin for begin in begins if abs(begin - group.offset) < 1 << 20]
        parts = [(min(near, default=group.offset), max(near, default=group.offset) + 1)]
        for extent, stride in zip(group.shape, group.strides):
            if extent * stride < 1 << 22:
                parts = [(begin, end + extent * stride) for begin, end in parts]
            else:
                shifts = {number for i in range(extent) for number in (i * stride, wrapped(i * stride))}
                parts = [(begin + shift, end + shift) for begin, end in parts for shift in shifts]
        pieces += parts
    islands = []
    for begin, end in sorted((begin - _APRON // 8, end + _APRON // 8) for begin, end in pieces):
        if islands and begin <= islands[-1][1]:
            islands[-1] = (islands[-1][0], max(end, islands[-1][1]))
        else:
            islands.append((begin, end))
    return LazyMemory(layout, dtype, islands, max(0, -islands[0][0]))
