"""Architectures whose states are delta nets."""

from layers import HIDDEN, WIDE, NotAsked, attention_of, attention_tensors, feed_forward, states_of


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


def gated_attention_tensors(told):
    norm = {f"attn_{one}_norm.weight": [told["head_size_k"]] for one in "qk"}
    return attention_tensors(told, HIDDEN, gated=True) | norm


def gdn_tensors(state):
    """All but what gates the decay."""
    size, values = state["key_head_dim"], state["value_heads"] * state["value_head_dim"]
    channels = 2 * size * state["key_heads"] + values
    return {
        "attn_qkv.weight": [HIDDEN, channels],
        "attn_gate.weight": [HIDDEN, values],
        "ssm_conv1d.weight": [state["conv_kernel"], channels],
        "ssm_dt.bias": [state["value_heads"]],
        "ssm_a": [state["value_heads"]],
        "ssm_norm.weight": [state["value_head_dim"]],
        "ssm_out.weight": [values, HIDDEN],
    }


def order_keys(layers, count):
    """States are told by a key of their own, and every layer has the same heads."""
    states = {layer["layer"] for layer in states_of(layers)}
    return {
        "attention.recurrent_layers": [number in states for number in range(count)],
        "attention.head_count_kv": attention_of(layers)[0]["kv_heads"],
    }


def qwen35(layers, count):
    """Gated delta nets with gated attention between, at any positions."""
    state = states_of(layers)[0]
    rotated = attention_of(layers)[0]["head_size_k"] // 4
    rope = {"rope.dimension_count": rotated, "rope.dimension_sections": [rotated // 2, 0, 0, 0]}

    def tensors(told):
        own = {"attn_norm.weight": [HIDDEN], "post_attention_norm.weight": [HIDDEN]} | feed_forward(HIDDEN)
        if told["kind"] != "state":
            return own | gated_attention_tensors(told)
        gates = {f"ssm_{one}.weight": [HIDDEN, state["value_heads"]] for one in ("beta", "alpha")}
        return own | gdn_tensors(state) | gates

    return "qwen35", HIDDEN, gdn_keys(state) | rope | order_keys(layers, count), tensors


def qwen3next(layers, count):
    """The same with both gates in one tensor, and experts, of which one is enough."""
    state = states_of(layers)[0]
    experts = {
        "expert_count": 1,
        "expert_used_count": 1,
        "expert_feed_forward_length": WIDE,
        "expert_shared_feed_forward_length": WIDE,
    }

    def tensors(told):
        own = {"attn_norm.weight": [HIDDEN], "post_attention_norm.weight": [HIDDEN]}
        own |= {"ffn_gate_inp.weight": [HIDDEN, 1], "ffn_gate_inp_shexp.weight": [HIDDEN]}
        for name, shape in feed_forward(HIDDEN).items():
            own[name.replace(".", "_shexp.")] = shape
            own[name.replace(".", "_exps.")] = [*shape, 1]
        if told["kind"] != "state":
            return own | gated_attention_tensors(told)
        return own | gdn_tensors(state) | {"ssm_ba.weight": [HIDDEN, 2 * state["value_heads"]]}

    return "qwen3next", HIDDEN, gdn_keys(state) | experts | order_keys(layers, count), tensors


def kimi_linear(layers, count):
    """Delta nets with gates by channel, and attention over latents, without experts."""
    state, attention = states_of(layers)[0], attention_of(layers)[0]
    heads, size, latent = state["heads"], state["head_dim"], attention["head_size_v"]
    rotated = attention["head_size_k"] - latent
    if attention["kind"] != "mla" or heads != attention["query_heads"]:
        raise NotAsked("other attention than over latents with as many heads as states")
    keys = {
        "kda.head_dim": size,
        "ssm.conv_kernel": state["conv_kernel"],
        "attention.kv_lora_rank": latent,
        "attention.key_length_mla": size + rotated,
        "attention.value_length_mla": size,
        "rope.dimension_count": rotated,
        "leading_dense_block_count": count,
        "expert_feed_forward_length": WIDE,
        "expert_shared_count": 0,
        "expert_gating_func": 2,
    }

    def tensors(told):
        own = {"attn_norm.weight": [HIDDEN], "ffn_norm.weight": [HIDDEN]} | feed_forward(HIDDEN)
        own["attn_output.weight"] = [heads * size, HIDDEN]
        if told["kind"] != "state":
            return own | {
                "attn_q.weight": [HIDDEN, heads * (size + rotated)],
                "attn_kv_a_mqa.weight": [HIDDEN, latent + rotated],
                "attn_kv_a_norm.weight": [latent],
                "attn_k_b.weight": [size, latent, heads],
                "attn_v_b.weight": [latent, size, heads],
            }
        for one in "qkv":
            own[f"attn_{one}.weight"] = [HIDDEN, heads * size]
            own[f"ssm_conv1d_{one}.weight"] = [state["conv_kernel"], 1, heads * size]
        for one in "fg":
            own |= {f"ssm_{one}_a.weight": [HIDDEN, size], f"ssm_{one}_b.weight": [size, heads * size]}
        return own | {
            "ssm_beta.weight": [HIDDEN, heads],
            "ssm_a": [1, heads],
            "ssm_dt.bias": [heads * size],
            "ssm_norm.weight": [size],
        }

    return "kimi-linear", HIDDEN, keys, tensors
