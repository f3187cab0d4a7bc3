"""One call of a kernel in one layout: what it gave and left, and whether that is what addresses give."""

import numpy as np

from ._lazy_memory import memory_of

_LARGEST = 4  # of what lies in a cache
_PRIME = 65521


class Case:
    """The memory of a layout, filled; what a kernel made of it.

    poison: names of regions that are NaN; "beside" is everything that no view has
    """

    def __init__(self, problem, layout, arrays, poison=()):
        self.problem, self.layout = problem, layout
        self._arrays, self._element = arrays, problem.element
        self._packed = hasattr(problem, "prepare")  # blocks in a form of their own
        self.memory = memory = memory_of(layout, self._element.bits)
        some = _Noise(self._element)

        memory.fill((lambda count: np.full(count, self._element.nan())) if "beside" in poison else some)
        if "beside" in poison:
            for group in layout.groups:
                memory.write(group.elements(), some(group.elements().size).reshape(group.shape))
        regions = problem.regions(layout)
        for name in poison:
            if name != "beside":
                memory.write(regions[name], self._element.nan())
        if hasattr(problem, "at_first"):
            memory.write(*problem.at_first(layout))
        self.before = memory.snapshot()
        self.output = self.after = None

    def run(self, call):
        """call(views by name, inputs by name, optional inputs by name) -> what the kernel returns."""
        views = {group.name: self._arrays.cache(self.memory, group) for group in self.layout.groups}
        if self._packed:
            self.problem.prepare(views, self.layout, self._arrays)
        inputs, optional = self.problem.inputs(self.layout, self._arrays)
        returned = call(views, inputs, optional)
        del views
        self._arrays.take_back(self.memory)
        self.output = self._arrays.result(returned) if returned is not None else None
        self.after = self.memory.snapshot()
        self.changed = np.flatnonzero(_bits(self.before) != _bits(self.after))
        return self

    def _read(self, elements):
        position = self.memory.positions(elements)
        values = self._element.decode(self.before[np.maximum(position, 0)])
        return np.where(position < 0, 0.0, values)  # what nobody touched is zero

    def expected(self, views, quirks=frozenset()):
        """(output, positions that are written, their bits) at these addresses; None: outside of the memory."""
        output, writes = self.problem.run(self._read, views, self.layout, quirks)
        if not writes:
            return output, np.empty(0, np.int64), np.empty(0, self.before.dtype)
        elements, values = (np.concatenate(parts) for parts in zip(*writes))
        position = self.memory.positions(elements)
        if (position < 0).any():
            return None
        # Of several writes to one place the last.
        unique, last = np.unique(position[::-1], return_index=True)
        values = values[::-1][last]
        if self._packed and unique.size < position.size:
            output = None  # tokens lie on each other: what comes back is the writer's affair too
        return output, unique, values if self.problem.check == "slots" else self._element.encode(values)

    def matches(self, views, quirks=frozenset()):
        """Whether output and memory are what these addresses give."""
        with np.errstate(all="ignore"):
            made = self.expected(views, quirks)
            if made is None:
                return False
            output, position, bits = made
            return self._same_output(output) and self._same_memory(position, bits)

    def _same_output(self, output):
        if output is None:
            return True
        return self.output is not None and self.output.shape == output.shape and self._close(self.output, output)

    def _close(self, found, wanted):
        return np.allclose(found, wanted, rtol=self._element.tolerance, atol=self._element.tolerance, equal_nan=True)

    def _same_memory(self, position, bits):
        if position.size == 0 and self.changed.size:
            return False
        if self._packed:  # what is written there is the writer's affair
            return np.isin(self.changed, position).all()
        held = np.searchsorted(position, self.changed)
        if self.changed.size and not (position[np.minimum(held, position.size - 1)] == self.changed).all():
            return False
        if self.problem.exact:
            return (_bits(self.after[position]) == _bits(bits)).all()
        return self._close(self._element.decode(self.after[position]), self._element.decode(bits))

    def true_views(self):
        return {group.name: group.addresses for group in self.layout.groups}

    def what_is_wrong(self):
        """One line: the rows that differ, the bytes that changed beside those that had to, and whose they are."""
        output, position, bits = self.expected(self.true_views())
        said = []
        if output is not None:
            said += self._wrong_output(output)
        beside = np.setdiff1d(self.changed, position)
        if beside.size:
            owners = self.owners(self.memory.elements(beside))
            said.append(f"wrote {beside.size:,} elements that are not its own: " +
                        ", ".join(f"{count:,} of {owner}" for owner, count in owners.items()))
        if position.size and not self._packed:
            missing = (_bits(self.after[position]) != _bits(bits)) if self.problem.exact else ~np.isclose(
                self._element.decode(self.after[position]), self._element.decode(bits), self._element.tolerance,
                self._element.tolerance, equal_nan=True)
            if missing.any():
                said.append(f"{missing.sum():,} of {position.size:,} elements to be written are wrong")
        return "; ".join(said)

    def _wrong_output(self, output):
        if self.output is None:
            return ["returned nothing"]
        if self.output.shape != output.shape:
            return [f"returned shape {tuple(self.output.shape)} in place of {tuple(output.shape)}"]
        rows = (len(output), -1)
        with np.errstate(all="ignore"):
            error = np.abs(self.output - output).reshape(rows).max(1)
            wrong = [row for row in range(len(output)) if not self._close(self.output[row], output[row])]
        if not wrong:
            return []
        largest = "NaN" if np.isnan(error[wrong]).any() else f"up to {error[wrong].max():.3g}"
        what = getattr(self.problem, "row", "request")
        return [f"output of {what}{'s' if len(wrong) > 1 else ''} {', '.join(map(str, wrong))} off by {largest}"]

    def owners(self, elements):
        """Whose elements these are: how many of each owner."""
        owner_of = np.full(len(self.before), -1)
        names = []
        own = [(group.name, group.elements().ravel()) for group in self.layout.groups]
        near = [(group.name, group.elements().ravel()) for group in self.layout.neighbours]
        for name, held in near + own + list(self.problem.regions(self.layout).items()):
            position = self.memory.positions(held)
            owner_of[position[position >= 0]] = len(names)
            names.append(name)
        position, found = self.memory.positions(elements), {}
        for number, count in zip(*np.unique(np.where(position < 0, -2, owner_of[position]), return_counts=True)):
            name = names[number] if number >= 0 else "padding and other layers" if number == -1 else "far away"
            found[name] = found.get(name, 0) + int(count)
        return found


class _Noise:
    """Numbers out of a table, over and over: its length is a prime, so that no stride meets the same ones again."""

    def __init__(self, element):
        random = np.random.default_rng(5)
        self._table = (random.integers(0, 256, _PRIME, np.uint8) if element.name == "uint8" else
                       element.encode(random.uniform(-_LARGEST, _LARGEST, _PRIME).astype(np.float32)))
        self._at = 0

    def __call__(self, count):
        made = np.resize(np.roll(self._table, -self._at), count)
        self._at = (self._at + count) % _PRIME
        return made


def _bits(array):
    return array.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[array.itemsize])
