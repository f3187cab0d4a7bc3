"""The keys and tensors of tiny models: heads, states and order of layers as a request tells, everything else small.

An architecture is a function of the layers that answers its name, the size of its hidden states, its own keys and the
tensors of each layer. Sizes of hidden states and of feed-forwards change no cache.
"""

HIDDEN = 32
WIDE = 32  # of feed-forwards
TRAINED = 1 << 20


class NotAsked(Exception):
    """No architecture here has such layers."""


def attention_of(layers):
    """The attention layers, which have to be alike."""
    attention = [layer for layer in layers if layer["kind"] != "state" and not layer["draft"]]
    for layer in attention:
        if layer["kind"] != "full_attention":
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


def gdn_keys(state):
    if state["key_head_dim"] != state["value_head_dim"]:
        raise NotAsked("heads of K and of V of two sizes")
    return {
        "ssm.conv_kernel": state["conv_kernel"],
        "ssm.inner_size": state["value_heads"] * state["value_head_dim"],
        "ssm.state_size": state["key_head_dim"],
        "ssm.time_step_rank": state["value_heads"],
        "ssm.group_count": state["key_heads"],
    }


def qwen35(layers, count):
    """Gated delta nets with gated attention between, at any positions."""
    state = states_of(layers)[0]
    size, values = state["key_head_dim"], state["value_heads"] * state["value_head_dim"]
    channels = 2 * size * state["key_heads"] + values
    states = {layer["layer"] for layer in states_of(layers)}
    rotated = attention_of(layers)[0]["head_size_k"] // 4
    keys = gdn_keys(state) | {
        "rope.dimension_count": rotated,
        "rope.dimension_sections": [rotated // 2, 0, 0, 0],
        "attention.recurrent_layers": [number in states for number in range(count)],
        # States are told by the key above, and every layer has the same heads.
        "attention.head_count_kv": attention_of(layers)[0]["kv_heads"],
    }

    def tensors(told):
        own = {"attn_norm.weight": [HIDDEN], "post_attention_norm.weight": [HIDDEN]} | feed_forward(HIDDEN)
        if told["kind"] != "state":
            norm = {f"attn_{one}_norm.weight": [told["head_size_k"]] for one in "qk"}
            return own | attention_tensors(told, HIDDEN, gated=True) | norm
        return own | {
            "attn_qkv.weight": [HIDDEN, channels],
            "attn_gate.weight": [HIDDEN, values],
            "ssm_conv1d.weight": [state["conv_kernel"], channels],
            "ssm_dt.bias": [state["value_heads"]],
            "ssm_a": [state["value_heads"]],
            "ssm_beta.weight": [HIDDEN, state["value_heads"]],
            "ssm_alpha.weight": [HIDDEN, state["value_heads"]],
            "ssm_norm.weight": [state["value_head_dim"]],
            "ssm_out.weight": [values, HIDDEN],
        }

    return "qwen35", HIDDEN, keys, tensors


def lfm2(layers, _):
    """Short convolutions over the hidden states themselves."""
    state = states_of(layers)[0]
    hidden = state["channels"]

    def tensors(told):
        own = {"attn_norm.weight": [hidden], "ffn_norm.weight": [hidden]} | feed_forward(hidden)
        if told["kind"] != "state":
            norm = {f"attn_{one}_norm.weight": [told["head_size_k"]] for one in "qk"}
            return own | attention_tensors(told, hidden) | norm
        return own | {
            "shortconv.conv.weight": [state["conv_kernel"], hidden],
            "shortconv.in_proj.weight": [hidden, 3 * hidden],
            "shortconv.out_proj.weight": [hidden, hidden],
        }

    return "lfm2", hidden, {"shortconv.l_cache": state["conv_kernel"]}, tensors


def falcon_h1(layers, _):
    """Attention and a mamba2 in every layer."""
    state = states_of(layers)[0]
    inner = state["heads"] * state["head_dim"]
    channels = inner + 2 * state["groups"] * state["state_size"]
    keys = {
        "ssm.conv_kernel": state["conv_kernel"],
        "ssm.inner_size": inner,
        "ssm.state_size": state["state_size"],
        "ssm.time_step_rank": state["heads"],
        "ssm.group_count": state["groups"],
    }

    def tensors(told):
        if told["kind"] != "state":
            norm = {"attn_norm.weight": [HIDDEN], "ffn_norm": [HIDDEN]}
            return norm | feed_forward(HIDDEN) | attention_tensors(told, HIDDEN)
        return {
            "ssm_in.weight": [HIDDEN, inner + channels + state["heads"]],
            "ssm_conv1d.weight": [state["conv_kernel"], channels],
            "ssm_conv1d.bias": [channels],
            "ssm_dt.bias": [state["heads"]],
            "ssm_a": [1, state["heads"]],
            "ssm_d": [1, state["heads"]],
            "ssm_out.weight": [inner, HIDDEN],
        }

    return "falcon-h1", HIDDEN, keys, tensors


def architecture_of(model):
    """The one whose states the model has."""
    families = {layer["family"] for layer in states_of(model["layers"])}
    known = {("gdn", "Qwen3.5"): qwen35, ("short_conv", "LFM2"): lfm2, ("mamba2", "Falcon-H1"): falcon_h1}
    for (family, name), architecture in known.items():
        if families == {family} and model["name"].startswith(name):
            return architecture
    raise NotAsked(f"the architecture of {model['name']}")


def byte_tokens():
    """A token for each byte, as tokenizers of bytes write them, and one that ends."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = iter(range(256, 512))
    return [chr(byte if byte in shown else next(hidden)) for byte in range(256)] + ["<|end|>"]


def vocabulary():
    tokens = byte_tokens()
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": [f"{tokens[65]} {tokens[66]}"],
        "tokenizer.ggml.bos_token_id": len(tokens) - 1,
        "tokenizer.ggml.eos_token_id": len(tokens) - 1,
    }


def keys_and_tensors(model):
    """Of the file of a tiny model with these layers."""
    layers = [layer for layer in model["layers"] if not layer.get("draft")]
    count = 1 + max(layer["layer"] for layer in layers)
    name, hidden, own, tensors_of = architecture_of(model)(layers, count)
    attention = {layer["layer"]: layer for layer in attention_of(layers)}
    heads = next(iter(attention.values()))
    # A layer without heads of K and V is one of states.
    kv_heads = [attention[number]["kv_heads"] if number in attention else 0 for number in range(count)]
    fields = {
        "context_length": TRAINED,
        "embedding_length": hidden,
        "block_count": count,
        "feed_forward_length": WIDE,
        "attention.head_count": heads["query_heads"],
        "attention.head_count_kv": kv_heads,
        "attention.key_length": heads["head_size_k"],
        "attention.value_length": heads["head_size_v"],
        "attention.layer_norm_rms_epsilon": 1e-6,
    } | own
    keys = {"general.architecture": name, "general.name": "tiny"}
    keys |= {f"{name}.{key}": value for key, value in fields.items()} | vocabulary()
    words = len(byte_tokens())
    tensors = {"token_embd.weight": [hidden, words], "output.weight": [hidden, words]}
    tensors["token_embd_norm.weight" if name == "lfm2" else "output_norm.weight"] = [hidden]
    for layer in layers:
        for tensor, shape in tensors_of(layer).items():
            tensors[f"blk.{layer['layer']}.{tensor}"] = shape
    return keys, tensors
