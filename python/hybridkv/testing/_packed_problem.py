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
        """K and V of every token of the batch: (2, token, head, channel)."""
        _, lengths, _ = self.batch(layout)
        _, _, heads, channels = layout.group("k").shape
        rows = np.random.default_rng(19).uniform(-4, 4, (2, int(lengths.sum()), heads, channels))
        return self.element.decode(self.element.encode(rows))

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
        places = (own.reshape(-1, 1, 1, 1), *np.ogrid[tuple(map(slice, layout.group("k").shape))][1:])
        elements = [views[name].of(*places).ravel() for name in ("k", "v")]
        return output, [(each, np.zeros(each.shape)) for each in elements]

    def quirks(self):
        return {}
