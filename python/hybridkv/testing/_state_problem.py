"""A step of recurrent layers on states in slots: its inputs, and what it gives and leaves at given addresses."""

import numpy as np

from .._arguments import refused
from ._cache_views import needs_of_merging
from ._kernel_layouts import distinct, state_homes, state_layout_of, state_named, state_of_releases
from ._recurrences import FAMILIES

_PREFILL_TOKENS = 5


class StateProblem:
    """Three requests whose states lie in any slots, the last among them. In a prefill each has so many tokens, behind
    the state that its slot holds."""
    check, exact = "state", False

    def __init__(self, family, phase, element, shape=None):
        self.recurrence, self.family, self.phase, self.element = FAMILIES[family], family, phase, element
        self.shape = shape or self.recurrence.shape
        random = np.random.default_rng(13)
        self.parameters = self.recurrence.parameters(random, self.shape)
        self.tokens = [self.recurrence.make(random, 3, self.shape)
                       for _ in range(_PREFILL_TOKENS if phase == "prefill" else 1)]
        self.ids = np.array([4, self.shape[0] - 1, 2], np.int32)

    def homes(self):
        return state_homes(self.recurrence.axes, self.shape)

    def named(self):
        axes, states = self.recurrence.axes, self.recurrence.planned
        return distinct(state_named(axes, self.shape) + (state_of_releases(axes, self.shape, states, self.shape[0])
                                                         if states else []))

    def of_plan(self, plan):
        layout = state_layout_of(plan, self.recurrence.axes, f"{plan.model}", "plan", None, self.shape[0])
        found = layout.groups[0].shape
        if found != self.shape:
            raise refused("layouts", plan, f"its states are {found}, those that are checked {self.shape}",
                          f"give the plan alone, or shape={found}")
        return [layout]

    def inputs(self, layout, arrays):
        made = {name: np.stack([token[name] for token in self.tokens], 1) for name in self.tokens[0]}
        if self.phase == "decode":
            made = {name: rows[:, 0] for name, rows in made.items()}
        plain = {name: array if np.isscalar(array) else arrays.plain(array.astype(np.float32))
                 for name, array in {**made, **self.parameters}.items()}
        return {**plain, "slots": arrays.plain(self.ids)}, {}

    def regions(self, layout):
        group = layout.group("state")
        others = np.ones(self.shape[0], bool)
        others[self.ids] = False
        return {"other slots": group.elements()[others].ravel()}

    def run(self, read, views, layout, quirks):
        """(output, what is written: elements and values) where states are found at these addresses."""
        ids = self.ids
        if "first slot" in quirks:
            ids = np.full_like(ids, ids[0])
        if "next slot" in quirks:
            ids = (ids + 1) % self.shape[0]
        places = (ids.reshape(-1, *[1] * (len(self.shape) - 1)), *np.ogrid[tuple(map(slice, self.shape))][1:])
        elements = views["state"].of(*places)
        before = read(elements)
        state, outputs = np.zeros_like(before) if "fresh" in quirks else before, []
        for token in self.tokens:
            state, output = self.recurrence.step(state, token, self.parameters)
            outputs.append(output)
        output = outputs[0] if self.phase == "decode" else np.stack(outputs, 1)
        lost = "lost" in quirks or "flat" in quirks and not layout.group("state").merges()
        return output, [] if lost else [(elements.ravel(), state.ravel())]

    def quirks(self):
        """What else can be wrong with a kernel: (sentence, what it needs of strides) by name."""
        return {
            "flat": ("the new state is written into a copy where the view has gaps (contiguous, reshape), and is lost",
                     needs_of_merging("state", self.recurrence.axes, whole=True)),
            "lost": ("the new state is written into a copy of the view, which is lost", ()),
            "fresh": ("the state that the slot holds is taken for zero", ()),
            "first slot": ("every request uses the slot of the first", ()),
            "next slot": ("slots are counted from 1", ()),
        }
