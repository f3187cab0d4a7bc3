"""Ways in which engines read and write a paged cache with PyTorch's operations alone."""

import torch
import torch.nn.functional as functional


def _attended(q, key, value):
    """One query token over (token, head, channel)."""
    rows = (rows.transpose(0, 1).repeat_interleave(q.shape[0] // rows.shape[1], 0) for rows in (key, value))
    return functional.scaled_dot_product_attention(q[:, None], *rows)[:, 0]


def gather_and_sdpa(q, k, v, block_table, lengths):
    """k[block, token], then scaled_dot_product_attention."""
    output = []
    for row, length in enumerate(lengths.tolist()):
        position = torch.arange(length)
        place = block_table[row, position // k.shape[1]].long(), position % k.shape[1]
        output.append(_attended(q[row], k[place], v[place]))
    return torch.stack(output)


def index_select_and_sdpa(q, k, v, block_table, lengths):
    """k.index_select(0, blocks), then scaled_dot_product_attention under a mask."""
    keys, values = (x.index_select(0, block_table.flatten().long()).unflatten(0, block_table.shape).flatten(1, 2)
                    for x in (k, v))
    seen = torch.arange(keys.shape[1]) < lengths[:, None]
    keys, values = (x.transpose(1, 2).repeat_interleave(q.shape[1] // k.shape[2], 1) for x in (keys, values))
    return functional.scaled_dot_product_attention(q[:, :, None], keys, values,
                                                   attn_mask=seen[:, None, None])[:, :, 0]


def view_slots_and_sdpa(q, k, v, block_table, lengths):
    """k.view(slots, head, channel)[slot], then scaled_dot_product_attention."""
    return _from_slots(q, k.view(-1, *k.shape[2:]), v.view(-1, *v.shape[2:]), k.shape[1], block_table, lengths)


def reshape_slots_and_sdpa(q, k, v, block_table, lengths):
    """k.reshape(slots, head, channel)[slot], then scaled_dot_product_attention."""
    return _from_slots(q, k.reshape(-1, *k.shape[2:]), v.reshape(-1, *v.shape[2:]), k.shape[1], block_table, lengths)


def _from_slots(q, k, v, tokens, block_table, lengths):
    output = []
    for row, length in enumerate(lengths.tolist()):
        position = torch.arange(length)
        slot = block_table[row, position // tokens].long() * tokens + position % tokens
        output.append(_attended(q[row], k[slot], v[slot]))
    return torch.stack(output)


def _kept(slot_mapping):
    kept = slot_mapping >= 0
    return kept, slot_mapping[kept]


def write_by_index(key, value, k, v, slot_mapping):
    """k[block, token] = x."""
    kept, slot = _kept(slot_mapping)
    place = slot // k.shape[1], slot % k.shape[1]
    k[place], v[place] = key[kept], value[kept]


def write_reshaped(key, value, k, v, slot_mapping):
    """k.reshape(slots, head, channel)[slot] = x."""
    kept, slot = _kept(slot_mapping)
    k.reshape(-1, *k.shape[2:])[slot], v.reshape(-1, *v.shape[2:])[slot] = key[kept], value[kept]


def write_flattened_index_copy(key, value, k, v, slot_mapping):
    """k.flatten(0, 1).index_copy_(0, slot, x)."""
    kept, slot = _kept(slot_mapping)
    k.flatten(0, 1).index_copy_(0, slot, key[kept])
    v.flatten(0, 1).index_copy_(0, slot, value[kept])


def write_viewed_index_copy(key, value, k, v, slot_mapping):
    """k.view(slots, head, channel).index_copy_(0, slot, x)."""
    kept, slot = _kept(slot_mapping)
    k.view(-1, *k.shape[2:]).index_copy_(0, slot, key[kept])
    v.view(-1, *v.shape[2:]).index_copy_(0, slot, value[kept])


def write_all_slots(key, value, k, v, slot_mapping):
    """k.view(slots, head, channel)[slot] = x, with -1 for padding."""
    k.view(-1, *k.shape[2:])[slot_mapping], v.view(-1, *v.shape[2:])[slot_mapping] = key, value


def write_head_first(key, value, k, v, slot_mapping):
    """k.permute(head, block, token, channel).reshape(head, slots, channel)[:, slot] = x."""
    kept, slot = _kept(slot_mapping)
    for cache, rows in ((k, key[kept]), (v, value[kept])):
        heads, channels = cache.shape[2:]
        cache.permute(2, 0, 1, 3).reshape(heads, -1, channels)[:, slot] = rows.transpose(0, 1)


def state_by_index(state, slots, q, k, v, g, beta, scale):
    """state[slots] = new."""
    held, output = _delta_rule(state[slots], q, k, v, g, beta, scale)
    state[slots] = held
    return output


def state_index_copy(state, slots, q, k, v, g, beta, scale):
    """state.index_copy_(0, slots, new)."""
    held, output = _delta_rule(state[slots], q, k, v, g, beta, scale)
    state.index_copy_(0, slots.long(), held)
    return output


def state_flattened(state, slots, q, k, v, g, beta, scale):
    """state.flatten(1)[slots] = new."""
    flat = state.flatten(1)
    held, output = _delta_rule(flat[slots].unflatten(1, state.shape[1:]), q, k, v, g, beta, scale)
    flat[slots] = held.flatten(1)
    return output


def _delta_rule(held, q, k, v, g, beta, scale):
    held = held * g.exp()[:, :, None, None]
    wrong = v - torch.einsum("rhvk,rhk->rhv", held, k)
    held = held + torch.einsum("rh,rhv,rhk->rhvk", beta, wrong, k)
    return held, torch.einsum("rhvk,rhk->rhv", held, q) * scale


KERNELS = [("attention", each, {}) for each in (gather_and_sdpa, index_select_and_sdpa, view_slots_and_sdpa,
                                                reshape_slots_and_sdpa)]
KERNELS += [("write", each, {}) for each in (write_by_index, write_viewed_index_copy, write_reshaped,
                                             write_flattened_index_copy, write_head_first, write_all_slots)]
KERNELS += [("state", each, dict(family="gdn")) for each in (state_by_index, state_index_copy, state_flattened)]
