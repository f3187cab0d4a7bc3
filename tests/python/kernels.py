"""Kernels for test_kernels.py: right ones, awkward ones among them, and ones with a fault that is known."""

import numpy as np


def softmax_of(query, key, value, scale):
    """One query token: (query head, channel) over (token, head, channel). Narrow elements are widened, as kernels do."""
    query, key, value = (x.astype(np.promote_types(x.dtype, np.float32)) for x in (query, key, value))
    per_head = len(query) // key.shape[1]
    key, value = np.repeat(key, per_head, 1), np.repeat(value, per_head, 1)
    scores = np.einsum("hc,thc->ht", query, key) * scale
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return np.einsum("ht,thc->hc", weights / weights.sum(1, keepdims=True), value)


def attend(q, block_table, lengths, scale, rows, block_tokens):
    """rows: (blocks, tokens within them) -> K and V of these tokens."""
    output = np.zeros(q.shape)
    for request, length in enumerate(lengths):
        position = np.arange(length)
        output[request] = softmax_of(q[request], *rows(block_table[request, position // block_tokens],
                                                       position % block_tokens), scale)
    return output


# ------------------------------------------------------------------------------------------------ right: attention

def gather(q, k, v, block_table, lengths, scale):
    return attend(q, block_table, lengths, scale, lambda block, token: (k[block, token], v[block, token]), k.shape[1])


def gather_sizes(q, k, v, block_table, lengths, scale):
    """V's channels apart from K's."""
    parts = [gather(q, k, v[..., part:part + 1], block_table, lengths, scale)[..., :1] for part in range(v.shape[3])]
    return np.concatenate(parts, -1)


def prefill(q, k, v, block_table, lengths, query_starts, scale, kernel=gather, causal=True):
    """Each query token as a request of its own, as long as what it sees."""
    counts = np.diff(query_starts)
    behind = np.concatenate([np.arange(count)[::-1] for count in counts]) if causal else 0
    return kernel(q, k, v, np.repeat(block_table, counts, 0), np.repeat(lengths, counts) - behind, scale)


def prefill_not_causal(**inputs):
    return prefill(**inputs, causal=False)


def prefill_exchanged(**inputs):
    return prefill(**inputs, kernel=exchanged)


def copies(q, k, v, block_table, lengths, scale):
    return gather(q, np.ascontiguousarray(k), np.array(v), block_table, lengths, scale)


def by_address(q, k, v, block_table, lengths, scale):
    rows = lambda block, token: (addressed(k, block, token), addressed(v, block, token))
    return attend(q, block_table, lengths, scale, rows, k.shape[1])


def blocks_backwards(q, k, v, block_table, lengths, scale):
    """With a running softmax, the last block first."""
    per_head, tokens = q.shape[1] // k.shape[2], k.shape[1]
    output = np.zeros(q.shape)
    for request, length in enumerate(lengths):
        top, total = np.full(q.shape[1], -np.inf), np.zeros(q.shape[1])
        weighted = np.zeros(q.shape[1:])
        for number in reversed(range(-(-length // tokens))):
            here = slice(0, min(tokens, length - number * tokens))
            key, value = (np.repeat(x[block_table[request, number], here], per_head, 1) for x in (k, v))
            scores = np.einsum("hc,thc->ht", q[request], key) * scale
            now = np.maximum(top, scores.max(1))
            weights, old = np.exp(scores - now[:, None]), np.exp(top - now)
            total = total * old + weights.sum(1)
            weighted = weighted * old[:, None] + np.einsum("ht,thc->hc", weights, value)
            top = now
        output[request] = weighted / total[:, None]
    return output


def head_by_head(q, k, v, block_table, lengths, scale):
    per_head = q.shape[1] // k.shape[2]
    heads = [gather(q[:, head * per_head:(head + 1) * per_head], k[:, :, head:head + 1], v[:, :, head:head + 1],
                    block_table, lengths, scale) for head in range(k.shape[2])]
    return np.concatenate(heads, 1)


def whole_blocks_masked(q, k, v, block_table, lengths, scale):
    """Reads whole blocks, and the entry beyond each row, and replaces what is not of the request."""
    output = np.zeros(q.shape)
    for request, length in enumerate(lengths):
        key, value = (x[block_table[request]].reshape(-1, *x.shape[2:]) for x in (k, v))
        seen = (np.arange(len(key)) < length)[:, None, None]
        key, value = np.where(seen, key, 0), np.where(seen, value, 0)
        scores = np.einsum("hc,thc->ht", q[request], np.repeat(key, q.shape[1] // k.shape[2], 1)) * scale
        scores = np.where(seen[:, 0, 0], scores, -np.inf)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        output[request] = np.einsum("ht,thc->hc", weights / weights.sum(1, keepdims=True),
                                    np.repeat(value, q.shape[1] // k.shape[2], 1))
    return output


def refuses_gaps(q, k, v, block_table, lengths, scale):
    if k.strides[3] != k.itemsize or v.strides[3] != v.itemsize:
        raise ValueError("channels must be contiguous")
    return gather(q, k, v, block_table, lengths, scale)


# ---------------------------------------------------------------------------------------------------- right: writes

def write(key, value, k, v, slot_mapping):
    for row, slot in enumerate(slot_mapping):
        if slot >= 0:
            place = slot // k.shape[1], slot % k.shape[1]
            k[place], v[place] = key[row], value[row]


def write_at_once(key, value, k, v, slot_mapping):
    kept = slot_mapping >= 0
    block, token = slot_mapping[kept] // k.shape[1], slot_mapping[kept] % k.shape[1]
    k[block, token], v[block, token] = key[kept], value[kept]


def write_heads_backwards(key, value, k, v, slot_mapping):
    for head in reversed(range(k.shape[2])):
        write_at_once(key[:, head:head + 1], value[:, head:head + 1], k[:, :, head:head + 1], v[:, :, head:head + 1],
                      slot_mapping)


def write_blocks_back(key, value, k, v, slot_mapping):
    """Reads a block, changes its tokens, writes all of it back."""
    for cache, rows in ((k, key), (v, value)):
        for row, slot in enumerate(slot_mapping):
            if slot >= 0:
                block = np.array(cache[slot // cache.shape[1]])
                block[slot % cache.shape[1]] = rows[row]
                cache[slot // cache.shape[1]] = block


# ---------------------------------------------------------------------------------------------------- right: states

def mamba2(state, slots, x, dt, A, B, C, D):
    before = state[slots].astype(float)
    after = before * np.exp(dt * A)[:, :, None, None] + np.einsum("rh,rhp,rn->rhpn", dt, x, B)
    state[slots] = after
    return np.einsum("rhpn,rn->rhp", after, C) + D[:, None] * x


def mamba2_prefill(state, slots, x, dt, A, B, C, D):
    return np.stack([mamba2(state, slots, x[:, at], dt[:, at], A, B[:, at], C[:, at], D) for at in range(x.shape[1])],
                    1)


def gdn(state, slots, q, k, v, g, beta, scale):
    output = []
    for request, slot in enumerate(slots):
        held = state[slot]
        held *= np.exp(g[request])[:, None, None]
        wrong = v[request] - np.einsum("hvk,hk->hv", held, k[request])
        held += np.einsum("h,hv,hk->hvk", beta[request], wrong, k[request])
        output.append(np.einsum("hvk,hk->hv", held, q[request]) * scale)
    return np.stack(output)


def linear(state, slots, q, k, v, slope):
    state[slots] = state[slots] * np.exp(-slope)[:, None, None] + np.einsum("rhv,rhk->rhvk", v, k)
    return np.einsum("rhvk,rhk->rhv", state[slots], q)


def conv(state, slots, x, weight):
    window = np.concatenate([state[slots], x[:, :, None]], -1)
    state[slots] = window[:, :, 1:]
    return (window * weight).sum(-1)


def pack(values, slots, slot_mapping):
    """A scale in four bytes, then int8; eight bytes at the end stay what they are."""
    for row, slot in zip(values, slot_mapping):
        scale = np.float32(np.abs(row).max() / 127)
        held = np.concatenate([np.frombuffer(scale.tobytes(), np.uint8), np.rint(row / scale).astype(np.int8).view(
            np.uint8)])
        slots[slot // slots.shape[1], slot % slots.shape[1], :len(held)] = held


def unpack(slots, slot_mapping):
    rows = [np.ascontiguousarray(slots[slot // slots.shape[1], slot % slots.shape[1]]) for slot in slot_mapping]
    return np.stack([row[4:-8].view(np.int8) * row[:4].view(np.float32)[0] for row in rows])


def write_packed(key, value, k, v, slot_mapping):
    """Tokens of a block backwards, channels of K too, V with another sign."""
    write_at_once(key[:, :, ::-1], -value, k[:, ::-1], v[:, ::-1], slot_mapping)


def attend_packed(q, k, v, block_table, lengths, scale):
    return -gather(q[:, :, ::-1], k[:, ::-1], v[:, ::-1], block_table, lengths, scale)


# ------------------------------------------------------------------------------------------------------ by address

class _Around:
    """Elements before and behind the first one of a view, as a kernel with a pointer has them."""

    def __init__(self, view):
        self.before = min(view.__array_interface__["data"][0] // view.itemsize, 1 << 36) & -1024
        self.__array_interface__ = {"shape": (1 << 38,), "typestr": view.dtype.str, "version": 3, "data": (
            view.__array_interface__["data"][0] - self.before * view.itemsize, False)}


def elements_of(view, offsets):
    """(array, indices) of elements so many behind the first of a view."""
    around = _Around(view)
    return np.asarray(around), np.asarray(offsets, np.int64) + around.before


def offsets_of(view, block, token, strides=None, narrow=(), whole=False):
    """Offsets as kernels compute them. narrow: axes whose products are of 32 bits; whole: the sum too."""
    strides = strides or [stride // view.itemsize for stride in view.strides]
    grid = (block[:, None, None], token[:, None, None], np.arange(view.shape[2])[:, None], np.arange(view.shape[3]))
    with np.errstate(over="ignore"):
        products = [(np.asarray(index, np.int64) * stride).astype(np.int32 if axis in narrow else np.int64)
                    for axis, (index, stride) in enumerate(zip(grid, strides))]
    total = sum(product.astype(np.int64) for product in products)
    return total.astype(np.int32) if whole else total


def addressed(view, block, token, **how):
    array, index = elements_of(view, offsets_of(view, block, token, **how))
    return array[index]


def dense(view):
    """Strides of a view without gaps."""
    _, tokens, heads, channels = view.shape
    return [tokens * heads * channels, heads * channels, channels, 1]


def with_stride(view, axis):
    strides = [stride // view.itemsize for stride in view.strides]
    strides[axis] = dense(view)[axis]
    return strides


# ----------------------------------------------------------------------------------------------------------- wrong

def reads(of_k=None, of_v=None):
    """Attention that finds K and V in other ways: (k, v, block, token) -> rows."""
    def kernel(q, k, v, block_table, lengths, scale):
        rows = lambda block, token: ((of_k or (lambda k, v, *at: addressed(k, *at)))(k, v, block, token),
                                     (of_v or (lambda k, v, *at: addressed(v, *at)))(k, v, block, token))
        return attend(q, block_table, lengths, scale, rows, k.shape[1])
    return kernel


def derives(name, axis):
    if name == "k":
        return reads(of_k=lambda k, v, *at: addressed(k, *at, strides=with_stride(k, axis)))
    return reads(of_v=lambda k, v, *at: addressed(v, *at, strides=with_stride(v, axis)))


def narrow(name, axes, whole=False):
    if name == "k":
        return reads(of_k=lambda k, v, *at: addressed(k, *at, narrow=axes, whole=whole))
    return reads(of_v=lambda k, v, *at: addressed(v, *at, narrow=axes, whole=whole))


strides_of_k = reads(of_v=lambda k, v, *at: addressed(v, *at, strides=[each // k.itemsize for each in k.strides]))


def half_a_page(q, k, v, block_table, lengths, scale):
    def value(block, token):
        strides = [each // k.itemsize for each in k.strides]
        array, index = elements_of(k, offsets_of(k, block, token) + strides[0] // 2)
        return array[index]
    return attend(q, block_table, lengths, scale, lambda *at: (addressed(k, *at), value(*at)), k.shape[1])


def stale_unmasked(q, k, v, block_table, lengths, scale):
    return gather(q, k, v, block_table, -(-lengths // k.shape[1]) * k.shape[1], scale)


def masked_by_weight(q, k, v, block_table, lengths, scale, entries=None):
    """Slots behind the last token get weight 0, and 0 * NaN is NaN."""
    output = np.zeros(q.shape)
    per_head, tokens = q.shape[1] // k.shape[2], k.shape[1]
    for request, length in enumerate(lengths):
        used = block_table[request, :-(-length // tokens) if entries is None else entries]
        key, value = (np.repeat(x[used].reshape(-1, *x.shape[2:]), per_head, 1) for x in (k, v))
        scores = np.einsum("hc,thc->ht", q[request], key) * scale
        scores[:, length:] = -np.inf
        weights = np.exp(scores - scores.max(1, keepdims=True))
        output[request] = np.einsum("ht,thc->hc", weights / weights.sum(1, keepdims=True), value)
    return output


def table_beyond_by_weight(q, k, v, block_table, lengths, scale):
    return masked_by_weight(q, k, v, block_table, lengths, scale, block_table.shape[1])


def table_beyond(q, k, v, block_table, lengths, scale):
    return gather(q, k, v, block_table, np.full_like(lengths, block_table.shape[1] * k.shape[1]), scale)


def exchanged(q, k, v, block_table, lengths, scale):
    return gather(q, v, k, block_table, lengths, scale)


def last_token_missing(q, k, v, block_table, lengths, scale):
    return gather(q, k, v, block_table, lengths - 1, scale)


def first_row(q, k, v, block_table, lengths, scale):
    return gather(q, k, v, np.repeat(block_table[:1], len(lengths), 0), lengths, scale)


def last_block_is_null(q, k, v, block_table, lengths, scale):
    output = np.zeros(q.shape)
    for request, length in enumerate(lengths):
        position = np.arange(length)
        block, token = block_table[request, position // k.shape[1]], position % k.shape[1]
        kept = block != k.shape[0] - 1
        output[request] = softmax_of(q[request], k[block[kept], token[kept]], v[block[kept], token[kept]], scale)
    return output


def write_past(key, value, k, v, slot_mapping):
    """Two rows at a time: the one behind each token's too."""
    for step in (1, 0):
        moved = np.where(slot_mapping >= 0, slot_mapping + step, -1)
        for cache, rows in ((k, key), (v, value)):
            kept = moved >= 0
            offsets = offsets_of(cache, moved[kept] // cache.shape[1], moved[kept] % cache.shape[1])
            array, index = elements_of(cache, offsets)
            array[index] = rows[kept]


def write_exchanged(key, value, k, v, slot_mapping):
    write(value, key, k, v, slot_mapping)


def write_padding(key, value, k, v, slot_mapping):
    for row, slot in enumerate(slot_mapping):
        k[slot // k.shape[1], slot % k.shape[1]] = key[row]
        v[slot // k.shape[1], slot % k.shape[1]] = value[row]


def write_padding_to_null(key, value, k, v, slot_mapping):
    write_padding(key, value, k, v, np.maximum(slot_mapping, 0))


def write_reshaped(key, value, k, v, slot_mapping):
    kept = slot_mapping >= 0
    for cache, rows in ((k, key), (v, value)):
        cache.reshape(-1, *cache.shape[2:])[slot_mapping[kept]] = rows[kept]


def write_strides_of_k(key, value, k, v, slot_mapping):
    write(key, value, k, np.lib.stride_tricks.as_strided(v, v.shape, k.strides), slot_mapping)


def _as_dense_blocks(k, v):
    """Views with the stride of block of K alone, the rest computed."""
    strides = [k.strides[0], *(stride * k.itemsize for stride in dense(k)[1:])]
    return (np.lib.stride_tricks.as_strided(each, each.shape, strides) for each in (k, v))


def write_packed_dense(key, value, k, v, slot_mapping):
    write_packed(key, value, *_as_dense_blocks(k, v), slot_mapping)


def attend_packed_dense(q, k, v, block_table, lengths, scale):
    return attend_packed(q, *_as_dense_blocks(k, v), block_table, lengths, scale)


def inner_strides_derived(state, **inputs):
    _, heads, values, keys = state.shape
    size = state.itemsize
    return gdn(np.lib.stride_tricks.as_strided(
        state, state.shape, (state.strides[0], values * keys * size, keys * size, size)), **inputs)


def state_into_a_copy(state, **inputs):
    return mamba2(np.ascontiguousarray(state), **inputs)


def state_of_zero(state, slots, **inputs):
    state[slots] = 0
    return mamba2(state, slots, **inputs)


def slot_in_32_bits(state, slots, x, weight):
    size, shape = state.itemsize, (len(slots), *state.shape[1:])
    strides = [each // size for each in state.strides]
    start = (slots.astype(np.int64) * strides[0]).astype(np.int32).astype(np.int64)
    inner = np.arange(shape[1])[:, None] * strides[1] + np.arange(shape[2]) * strides[2]
    array, index = elements_of(state, start[:, None, None] + inner)
    window = np.concatenate([array[index], x[:, :, None]], -1)
    array[index] = window[:, :, 1:]
    return (window * weight).sum(-1)
