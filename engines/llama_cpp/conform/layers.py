"""What architectures have in common: the layers that a request tells, and tensors of attention and feed-forwards."""

HIDDEN = 32
WIDE = 32  # of feed-forwards


class NotAsked(Exception):
    """No architecture here has such layers."""


def attention_of(layers):
    """The attention layers, which have to be alike."""
    attention = [layer for layer in layers if layer["kind"] != "state" and not layer["draft"]]
    for layer in attention:
        if layer["kind"] not in ("full_attention", "mla"):
            raise NotAsked(f"layers of kind {layer['kind']}")
        if (layer["kv_heads"], layer["head_size_k"]) != (attention[0]["kv_heads"], attention[0]["head_size_k"]):
            raise NotAsked("attention layers of two shapes")
    if not attention:
        raise NotAsked("no attention layer")
    return attention


def states_of(layers):
    return [layer for layer in layers if layer["kind"] == "state"]


def attention_tensors(layer, hidden, gated=False):
    query, kv = layer["query_heads"] * layer["head_size_k"], layer["kv_heads"] * layer["head_size_k"]
    return {
        "attn_q.weight": [hidden, query * (2 if gated else 1)],
        "attn_k.weight": [hidden, kv],
        "attn_v.weight": [hidden, kv],
        "attn_output.weight": [query, hidden],
    }


def feed_forward(hidden):
    return {"ffn_gate.weight": [hidden, WIDE], "ffn_up.weight": [hidden, WIDE], "ffn_down.weight": [WIDE, hidden]}
