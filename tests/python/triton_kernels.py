"""Attention in Triton for test_kernels_torch.py: a program a request and query head, block after block."""

import torch
import triton
import triton.language as tl


@triton.jit
def _attend(q, k, v, out, table, lengths, scale, entries, blocks, per_head, sk0: tl.int64, sk1, sk2: tl.int64, sk3,
            sv0: tl.int64, sv1, sv2: tl.int64, sv3, HEADS: tl.constexpr, TOKENS: tl.constexpr, CHANNELS: tl.constexpr,
            WHOLE: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    length, channel, token = tl.load(lengths + row), tl.arange(0, CHANNELS), tl.arange(0, TOKENS)
    query = tl.load(q + (row * HEADS + head) * CHANNELS + channel)
    top, total, weighted = -float("inf"), 0.0, tl.zeros([CHANNELS], tl.float32)
    for number in range(0, tl.cdiv(length, TOKENS)):
        block = tl.load(table + row * entries + number).to(tl.int64)
        seen = number * TOKENS + token < length
        loaded = ((block < blocks) & seen)[:, None]  # in the interpreter a mask of numbers
        at_k = block * sk0 + token[:, None] * sk1 + (head // per_head) * sk2 + channel[None, :] * sk3
        at_v = block * sv0 + token[:, None] * sv1 + (head // per_head) * sv2 + channel[None, :] * sv3
        if WHOLE:
            key = tl.where(seen[:, None], tl.load(k + at_k), 0.0)
            value = tl.where(seen[:, None], tl.load(v + at_v), 0.0)
        else:
            key = tl.load(k + at_k, mask=loaded, other=0.0)
            value = tl.load(v + at_v, mask=loaded, other=0.0)
        scores = tl.where(seen, tl.sum(key * query[None, :], 1) * scale, -float("inf"))
        now = tl.maximum(top, tl.max(scores, 0))
        weights, old = tl.exp(scores - now), tl.exp(top - now)
        total = total * old + tl.sum(weights, 0)
        weighted = weighted * old + tl.sum(weights[:, None] * value, 0)
        top = now
    tl.store(out + (row * HEADS + head) * CHANNELS + channel, weighted / total)


# The same with a stride whose width is that of its value.
@triton.jit
def _attend_narrow(q, k, v, out, table, lengths, scale, entries, blocks, per_head, sk0: tl.int64, sk1, sk2, sk3,
                   sv0: tl.int64, sv1, sv2: tl.int64, sv3, HEADS: tl.constexpr, TOKENS: tl.constexpr,
                   CHANNELS: tl.constexpr, WHOLE: tl.constexpr):
    _attend(q, k, v, out, table, lengths, scale, entries, blocks, per_head, sk0, sk1, sk2, sk3, sv0, sv1, sv2, sv3,
            HEADS, TOKENS, CHANNELS, WHOLE)


def _run(kernel, whole, q, k, v, block_table, lengths, scale):
    out = torch.empty_like(q)
    kernel[(q.shape[0], q.shape[1])](q, k, v, out, block_table, lengths, scale, block_table.shape[1],
                                     k.shape[0], q.shape[1] // k.shape[2], *k.stride(), *v.stride(), q.shape[1],
                                     k.shape[1], k.shape[3], whole)
    return out


def attend(q, k, v, block_table, lengths, scale):
    return _run(_attend, False, q, k, v, block_table, lengths, scale)


def attend_narrow(q, k, v, block_table, lengths, scale):
    return _run(_attend_narrow, False, q, k, v, block_table, lengths, scale)


def attend_whole_blocks(q, k, v, block_table, lengths, scale):
    return _run(_attend, True, q, k, v, block_table, lengths, scale)
