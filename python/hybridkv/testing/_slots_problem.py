"""Opaque formats of a slot: what is packed comes back, and no byte changes beside the slots."""

import numpy as np

from .._arguments import refused
from ._array_kinds import Element
from ._cache_views import needs_of_merging
from ._kernel_layouts import slot_homes, slot_named


class SlotsProblem:
    """Five tokens packed into slots of bytes that only the kernel understands. What must lie in them is what it put
    into dense ones."""
    check, exact = "slots", True

    def __init__(self, values, slot_bytes, block_tokens, tolerance, num_blocks=8):
        self.values, self.slot_bytes, self.block_tokens, self.num_blocks = values, slot_bytes, block_tokens, num_blocks
        self.tolerance, self.element = tolerance, Element("uint8")
        self.packed = self.unpacked = None
        self.ids = np.array([2 * block_tokens - 1, num_blocks * block_tokens - 1, 3 * block_tokens,
                             3 * block_tokens + 1, 5 * block_tokens + 2], np.int64)[:len(values)]

    def at_first(self, layout):
        """(elements, bytes) of the slots before they are packed: the same in every layout, as a format may leave
        some."""
        places = self.places({"slots": layout.group("slots").addresses})
        return places, np.random.default_rng(17).integers(0, 256, places.shape, np.uint8)

    def learn(self, case):
        """From the dense layout: what lies in the slots and what comes back, which must be near to the values."""
        places = self.places(case.true_views())
        self.packed = case.after[case.memory.positions(places)]
        values = np.asarray(self.values, np.float64)
        near = case.output is not None and case.output.shape == values.shape and (
            np.abs(case.output - values) <= self.tolerance * np.abs(values).max()).all()
        self.unpacked = case.output if near else values

    def homes(self):
        return slot_homes(self.num_blocks, self.block_tokens, self.slot_bytes)

    def named(self):
        return slot_named(self.num_blocks, self.block_tokens, self.slot_bytes)

    def of_plan(self, plan):
        raise refused("layouts", plan, "a plan says nothing of slots in a form of their own",
                      "give 'all', 'probes', 'named', or what they have")

    def inputs(self, layout, arrays):
        return {"values": arrays.plain(np.asarray(self.values)), "slot_mapping": arrays.plain(self.ids)}, {}

    def places(self, views):
        slot = self.ids[:, None]
        return views["slots"].of(slot // self.block_tokens, slot % self.block_tokens,
                                 np.arange(self.slot_bytes)[None, :])

    def regions(self, layout):
        written = np.zeros((self.num_blocks, self.block_tokens), bool)
        written.reshape(-1)[self.ids] = True
        return {"other slots": layout.group("slots").elements()[~written].ravel()}

    def run(self, read, views, layout, quirks):
        """(what comes back, what is written) where the slots are found at these addresses."""
        group = layout.group("slots")
        if ("lost" in quirks or "flat" in quirks and not group.merges() or
                "reshape" in quirks and not group.merges(0, 1)):
            return None, []  # what comes back is that of bytes that nobody packed
        return self.unpacked, [(self.places(views).ravel(), self.packed.ravel())]

    def quirks(self):
        """What else can be wrong with a format: (sentence, what it needs of strides) by name."""
        return {
            "reshape": ("what is packed is written through a reshape to one axis of slots, which is a copy where "
                        "blocks do not follow each other", needs_of_merging("slots", ("block", "token"))),
            "flat": ("what is packed is written into a copy where slots have gaps (contiguous, reshape), which is lost",
                     needs_of_merging("slots", ("block", "token", "byte"), whole=True)),
            "lost": ("what is packed is written into a copy of the view, which is lost", ()),
        }
