"""Attention over blocks that an engine's own writer fills, in a form that only its kernels understand."""

import numpy as np

from ._attention_problem import AttentionProblem, softmax_over


class PackedProblem(AttentionProblem):
    """The batch of AttentionProblem, whose tokens the writer puts into the cache first. What it writes may be anything
    inside the blocks of the batch; the output is that of the values which it was given."""

    def __init__(self, sizes, element, queries_per_head, write):
        super().__init__(sizes, element, queries_per_head)
        self.write = write

    def rows(self, layout):
        """K and V of every token of the batch: (token, head, channel) of each."""
        _, lengths, _ = self.batch(layout)
        random = np.random.default_rng(19)
        rows = [random.uniform(-4, 4, (int(lengths.sum()), *group.shape[2:])) for group in layout.groups]
        return [self.element.decode(self.element.encode(each)) for each in rows]

    def prepare(self, views, layout, arrays):
        """Has the writer fill the cache."""
        key, value = (arrays.values(each) for each in self.rows(layout))
        tokens = layout.group("k").shape[1]
        slots = np.concatenate([block.astype(np.int64) * tokens + token for block, token in self.slots(layout)])
        self.write(key=key, value=value, **views, slot_mapping=arrays.plain(slots))

    def run(self, read, views, layout, quirks):
        """(output, where bytes may change) where the blocks of the batch lie at these addresses."""
        _, lengths, query = self.batch(layout)
        key, value = self.rows(layout)
        ends = np.cumsum(lengths)
        output = np.stack([softmax_over(query[row], key[end - length:end], value[end - length:end],
                                        key.shape[-1] ** -0.5)
                           for row, (length, end) in enumerate(zip(lengths, ends))])
        own = np.unique(np.concatenate([block for block, _ in self.slots(layout)]))
        own = own.reshape(-1, 1, 1, 1)
        elements = [views[group.name].of(own, *np.ogrid[tuple(map(slice, group.shape))][1:]).ravel()
                    for group in layout.groups]
        return output, [(each, np.zeros(each.shape)) for each in elements]

    def quirks(self):
        return {}
