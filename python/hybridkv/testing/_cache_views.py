"""What a kernel is given: strided views of one memory, and the addresses of their elements. All in elements."""

import dataclasses

import numpy as np

KV_AXES = ("block", "token", "head", "channel")
_HALF = 1 << 31


def wrapped(number):
    """What a product is that is computed in 32 bits with a sign."""
    return (number + _HALF) % (2 * _HALF) - _HALF


@dataclasses.dataclass(frozen=True)
class Addresses:
    """Where the elements of a view lie, or where a kernel believes that they do.

    strides: one for each axis
    offset:  of element (0, 0, …) from the front of the memory
    wraps:   axes whose product of index and stride is computed in 32 bits; "all": their sum too
    """
    strides: tuple
    offset: int
    wraps: frozenset = frozenset()

    def of(self, *indices):
        """Elements from the front of the memory, for index arrays (one an axis) that broadcast."""
        total = 0
        for axis, (index, stride) in enumerate(zip(indices, self.strides)):
            product = np.asarray(index, np.int64) * stride
            total = total + (wrapped(product) if axis in self.wraps else product)
        return self.offset + (wrapped(total) if "all" in self.wraps else total)


@dataclasses.dataclass(frozen=True)
class Group:
    """One view: k, v, state or slots, with an extent and a stride for each axis."""
    name: str
    axes: tuple
    shape: tuple
    strides: tuple
    offset: int

    @property
    def addresses(self):
        return Addresses(self.strides, self.offset)

    @property
    def lowest(self):
        return self.offset + sum(min(0, (extent - 1) * stride) for extent, stride in zip(self.shape, self.strides))

    @property
    def end(self):
        """One behind the last element."""
        return 1 + self.offset + sum(max(0, (extent - 1) * stride) for extent, stride in zip(self.shape, self.strides))

    def merges(self, first=0, last=None):
        """Whether the axes from first to last are one to `reshape`, which copies otherwise."""
        last = len(self.shape) - 1 if last is None else last
        return all(self.strides[axis] == self.shape[axis + 1] * self.strides[axis + 1] for axis in range(first, last))

    def elements(self):
        """Where each element lies, in the shape of the view."""
        return self.addresses.of(*np.ogrid[tuple(slice(extent) for extent in self.shape)])


@dataclasses.dataclass(frozen=True)
class KernelLayout:
    """Where the views of a kernel lie in one memory.

    kind:       dense, probe (one stride is not what the dense one is), far (one is so large that products pass 2^31),
                named (of a release), plan (of a plan that was given), own
    elements:   from the front to behind the last one of any view; beyond it is apron
    stretched:  (group, axis) of a probe
    neighbours: what else lies in the memory, as views with a name
    """
    name: str
    kind: str
    groups: tuple
    elements: int
    stretched: tuple = None
    neighbours: tuple = ()

    def __str__(self):
        return self.name

    def group(self, name):
        return next(group for group in self.groups if group.name == name)

    @property
    def key(self):
        """Layouts with the same key put every element at the same place."""
        first = min(group.offset for group in self.groups)
        return tuple((group.shape, group.strides, group.offset - first) for group in self.groups)


def whose(name):
    """k's, slots'."""
    return name + ("'" if name.endswith("s") else "'s")


def needs_of_merging(group, axes, whole=False):
    """What strides must be for axes to be one: (group, axis, rule, extents) as in the card; whole: of stride 1."""
    needs = [(group, axis, "next", (following,)) for axis, following in zip(axes, axes[1:])]
    return (*needs, (group, axes[-1], "extents", ())) if whole else tuple(needs)


def dense_strides(shape, order=None):
    """Strides of an array without gaps whose axes lie in memory in this order, the last the nearest."""
    strides, total = [0] * len(shape), 1
    for axis in reversed(order if order is not None else range(len(shape))):
        strides[axis], total = total, total * shape[axis]
    return tuple(strides)
