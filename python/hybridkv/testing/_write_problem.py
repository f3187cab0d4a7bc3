"""Writing new tokens into paged K and V: its inputs, and what it leaves at given addresses."""

import numpy as np

from ._attention_problem import places_of
from ._cache_views import KV_AXES, needs_of_merging
from ._kernel_layouts import KvProblem


class WriteProblem(KvProblem):
    """Eight tokens of which two are padding (slot -1, not written). Among the slots are the last of a block and the
    last of all."""
    check, exact = "write", True

    def __init__(self, sizes, element, padding=True):
        self.sizes, self.element, self.padding = sizes, element, padding

    def batch(self, layout):
        """Slots and the rows of K and V for them."""
        blocks, tokens, _, _ = layout.group("k").shape
        slots = np.array([3 * tokens - 1, blocks * tokens - 1, 5 * tokens, 5 * tokens + 1, tokens + tokens // 2,
                          (blocks - 2) * tokens + 1], np.int64)
        if self.padding:
            slots = np.concatenate([slots[:2], [-1], slots[2:], [-1]])
        random = np.random.default_rng(11)
        rows = [random.uniform(-4, 4, (len(slots), *group.shape[2:])) for group in layout.groups]
        return slots, [self.element.decode(self.element.encode(each)) for each in rows]

    def inputs(self, layout, arrays):
        slots, rows = self.batch(layout)
        return {"key": arrays.values(rows[0]), "value": arrays.values(rows[1]), "slot_mapping": arrays.plain(slots)}, {}

    def regions(self, layout):
        """What is not written of K and V, by name: elements."""
        slots, _ = self.batch(layout)
        blocks, tokens, _, _ = layout.group("k").shape
        written = np.zeros((blocks, tokens), bool)
        written.reshape(-1)[slots[slots >= 0]] = True
        own = written.any(1)
        found = {}
        for group in layout.groups:
            elements = group.elements()
            found[f"other tokens of the blocks in {group.name}"] = elements[own[:, None] & ~written].ravel()
            found[f"other blocks of {group.name}"] = elements[~own].ravel()
        return found

    def run(self, read, views, layout, quirks):
        """(no output, what is written: elements and values of k, of v) at these addresses, under these quirks."""
        slots, rows = self.batch(layout)
        blocks, tokens, _, _ = layout.group("k").shape
        last, writes = blocks * tokens - 1, []
        if "padding last" in quirks:
            slots = np.where(slots < 0, last, slots)
        elif "padding first" in quirks:
            slots = np.maximum(slots, 0)
        keep = slots >= 0
        if "last is null" in quirks:
            keep &= slots // tokens != blocks - 1
        exchanged = "exchanged" in quirks and rows[0].shape == rows[1].shape
        for name, values in zip(("k", "v"), rows[::-1] if exchanged else rows):
            group = layout.group(name)
            if not group.merges(0, 1) and quirks & {f"reshape {name}", "reshape"}:
                continue
            if not group.merges() and quirks & {f"flat {name}", "flat"}:
                continue
            for step in (1, 0) if "next slot" in quirks else (0,):
                slot = slots[keep] + step
                places = places_of(group, slot // tokens, slot % tokens)
                writes.append((views[name].of(*places).ravel(), values[keep].ravel()))
        return None, writes

    def quirks(self):
        """What else can be wrong with a kernel: (sentence, what it needs of strides) by name."""
        found = {
            "padding last": "padding (slot -1) is written to the last slot of the cache",
            "padding first": "padding (slot -1) is written to slot 0",
            "exchanged": "K and V are exchanged",
            "next slot": "the row is written into the slot behind its own too",
            "last is null": "the last block is taken for the null block and left out",
        }
        found = {name: (text, ()) for name, text in found.items()}
        for what, names in (("K and V", ("k", "v")), ("K", ("k",)), ("V", ("v",))):
            suffix = f" {names[0]}" if len(names) == 1 else ""
            found["reshape" + suffix] = (
                f"{what}: written through a reshape to slots, which is a copy where blocks do not follow each other",
                tuple(need for name in names for need in needs_of_merging(name, KV_AXES[:2])))
            found["flat" + suffix] = (
                f"{what}: written through a reshape to one axis, which is a copy where anything has gaps",
                tuple(need for name in names for need in needs_of_merging(name, KV_AXES, whole=True)))
        return found
