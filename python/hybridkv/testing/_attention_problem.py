"""Attention over paged K and V, of one query token a request or of several: its inputs, and what it gives at given
addresses."""

import numpy as np

from ._kernel_layouts import KvProblem

_QUERIES_PER_HEAD = 2


class AttentionProblem(KvProblem):
    """Three requests whose blocks lie anywhere. Block 0 is nobody's, the last block somebody's; a row of the block
    table has an entry beyond the blocks of its request, which names a block of nobody."""
    check, exact, row = "attention", True, "request"
    group_names = ("k", "v")

    def __init__(self, sizes, element, queries_per_head=_QUERIES_PER_HEAD):
        self.sizes, self.element, self.queries_per_head = sizes, element, queries_per_head
        self._kept = {}

    def batch(self, layout):
        """Block table, lengths and queries for the extents of a layout."""
        blocks, tokens, heads, channels = layout.group("k").shape
        if (blocks, tokens, heads, channels) not in self._kept:
            random = np.random.default_rng(7)
            lengths = np.array([2 * tokens + max(1, tokens // 5), tokens, max(1, tokens // 3)], np.int32)
            needed = -(-lengths // tokens)
            ids = np.concatenate([[blocks - 1], 1 + random.permutation(blocks - 2)])
            # The last block holds whole rows, and comes behind others of its request.
            order, taken = [ids[1], ids[0], ids[2], ids[3], ids[4]], 0
            table = np.full((3, int(needed.max()) + 1), ids[5], np.int32)
            for row, count in enumerate(needed):
                table[row, :count] = order[taken:taken + count]
                taken += count
            count = int(self.queries(tokens).sum())
            query = random.uniform(-1, 1, (count, heads * self.queries_per_head, channels))
            self._kept[blocks, tokens, heads, channels] = (table, lengths,
                                                           self.element.decode(self.element.encode(query)))
        return self._kept[blocks, tokens, heads, channels]

    def queries(self, tokens):
        """Query tokens of each request, its last ones, for blocks of so many tokens."""
        return np.ones(3, np.int32)

    def inputs(self, layout, arrays):
        table, lengths, query = self.batch(layout)
        scale = layout.group("k").shape[-1] ** -0.5
        return {"q": arrays.values(query), "block_table": arrays.plain(table), "lengths": arrays.plain(lengths)}, {
            "scale": scale}

    def slots(self, layout):
        """(blocks, tokens within them) of each request."""
        table, lengths, _ = self.batch(layout)
        tokens = layout.group("k").shape[1]
        return [(table[row, np.arange(length) // tokens], np.arange(length) % tokens)
                for row, length in enumerate(lengths)]

    def regions(self, layout):
        """What the batch does not address of K and V, by name: elements."""
        table, lengths, _ = self.batch(layout)
        blocks, tokens, heads, channels = layout.group("k").shape
        visible, own = np.zeros((blocks, tokens), bool), np.zeros(blocks, bool)
        for block, token in self.slots(layout):
            visible[block, token] = True
            own[block] = True
        beyond = np.zeros(blocks, bool)
        beyond[table[0, -1]] = True
        found = {}
        for group in layout.groups:
            elements = group.elements()
            found[f"stale slots of {group.name}"] = elements[own[:, None] & ~visible].ravel()
            found[f"the entry beyond a row of the block table, in {group.name}"] = elements[beyond].ravel()
            found[f"blocks of nobody in {group.name}"] = elements[~own & ~beyond].ravel()
        return found

    def run(self, read, views, layout, quirks):
        """(output, nothing written) where K and V are read at these addresses, under these quirks."""
        _, lengths, query = self.batch(layout)
        _, tokens, _, channels = layout.group("k").shape
        output = np.zeros((*query.shape[:2], layout.group("v").shape[3]))
        number = 0
        for row, (length, queries) in enumerate(zip(lengths, self.queries(tokens))):
            for behind in reversed(range(queries)):  # query tokens
                count = int(length) - (0 if "not causal" in quirks else behind)
                key, value = self._seen(read, views, layout, quirks, row, count)
                output[number] = softmax_over(query[number], key, value, channels ** -0.5, "interleaved" in quirks)
                number += 1
        return output, []

    def _seen(self, read, views, layout, quirks, row, count):
        """K and V of the first `count` tokens of a request, under quirks those that are taken for them."""
        table, _, _ = self.batch(layout)
        blocks, tokens = layout.group("k").shape[:2]
        if "stale" in quirks:
            count = -(-count // tokens) * tokens
        if "row" in quirks:
            count = table.shape[1] * tokens
        if "short" in quirks:
            count -= 1
        if "long" in quirks:
            count += 1
        position = np.arange(count)
        line = table[0 if "first row" in quirks else row]
        block, token = line[np.minimum(position // tokens, table.shape[1] - 1)], position % tokens
        if "last is null" in quirks:
            position = position[block != blocks - 1]
            block, token = line[position // tokens], position % tokens
        if "first block" in quirks:
            block = np.full_like(block, line[0])
        if "dense table" in quirks:
            block = line[0] + position // tokens
        key, value = (read(views[name].of(*places_of(layout.group(name), block, token))) for name in ("k", "v"))
        return (value, key) if "exchanged" in quirks and key.shape == value.shape else (key, value)

    def quirks(self):
        """What else can be wrong with a kernel: (sentence, what it needs of strides) by name."""
        found = {
            "stale": "slots behind the last token of a request, in its last block, are not masked",
            "row": "every entry of a row of the block table is read, whatever the length",
            "short": "the last token of a request is left out",
            "long": "one token too many of each request is read",
            "exchanged": "K and V are exchanged",
            "last is null": "the last block is taken for the null block and left out",
            "first row": "every request uses the first row of the block table",
            "first block": "every token is read from the first block of its request",
            "dense table": "blocks of a request are taken to lie one behind the other",
            "interleaved": "query head h reads KV head h modulo the KV heads",
        }
        return {name: (text, ()) for name, text in found.items()}


class PrefillProblem(AttentionProblem):
    """The same batch with several query tokens a request, which see the tokens before them and themselves: the last
    five of the first request, across a block's end; all of the second; one of the third, as in a mixed batch."""
    phase, row = "prefill", "query token"

    def queries(self, tokens):
        return np.array([min(5, 2 * tokens), tokens, 1], np.int32)

    def inputs(self, layout, arrays):
        needed, optional = super().inputs(layout, arrays)
        starts = np.concatenate([[0], np.cumsum(self.queries(layout.group("k").shape[1]))]).astype(np.int32)
        return {**needed, "query_starts": arrays.plain(starts)}, optional

    def quirks(self):
        return {**super().quirks(), "not causal": ("query tokens see those that come after them", ())}


def places_of(group, block, token):
    """Indices of all heads and channels of some tokens of K or V."""
    return (block[:, None, None], token[:, None, None], np.arange(group.shape[2])[None, :, None],
            np.arange(group.shape[3])[None, None, :])


def softmax_over(query, key, value, scale, interleaved=False):
    """Attention of one query token: (query head, channel) over (token, head, channel)."""
    heads = key.shape[1]
    of = np.arange(len(query)) % heads if interleaved else np.arange(len(query)) // (len(query) // heads)
    with np.errstate(all="ignore"):
        scores = np.einsum("hc,thc->ht", query, key[:, of]) * scale
        weights = np.exp(scores - scores.max(1, keepdims=True, initial=-np.inf))
        return np.einsum("ht,thc->hc", weights / weights.sum(1, keepdims=True), value[:, of])
