"""Architectures whose states are of mamba2."""

from layers import HIDDEN, WIDE, attention_tensors, feed_forward, states_of


def mamba2_keys(state):
    return {
        "ssm.conv_kernel": state["conv_kernel"],
        "ssm.inner_size": state["heads"] * state["head_dim"],
        "ssm.state_size": state["state_size"],
        "ssm.time_step_rank": state["heads"],
        "ssm.group_count": state["groups"],
    }


def mamba2_tensors(state, hidden):
    inner = state["heads"] * state["head_dim"]
    channels = inner + 2 * state["groups"] * state["state_size"]
    return {
        "ssm_in.weight": [hidden, inner + channels + state["heads"]],
        "ssm_conv1d.weight": [state["conv_kernel"], channels],
        "ssm_conv1d.bias": [channels],
        "ssm_dt.bias": [state["heads"]],
        "ssm_a": [1, state["heads"]],
        "ssm_d": [1, state["heads"]],
        "ssm_out.weight": [inner, hidden],
    }


def norm_of_groups(state):
    return {"ssm_norm.weight": [state["heads"] * state["head_dim"] // state["groups"], state["groups"]]}


def falcon_h1(layers, _):
    """Attention and a mamba2 in every layer."""
    state = states_of(layers)[0]

    def tensors(told):
        if told["kind"] == "state":
            return mamba2_tensors(state, HIDDEN)
        norm = {"attn_norm.weight": [HIDDEN], "ffn_norm": [HIDDEN]}
        return norm | feed_forward(HIDDEN) | attention_tensors(told, HIDDEN)

    return "falcon-h1", HIDDEN, mamba2_keys(state), tensors


def granite(layers, _):
    """One of both in a layer, with hidden states half as wide as those of mamba2."""
    state = states_of(layers)[0]
    hidden = state["heads"] * state["head_dim"] // 2

    def tensors(told):
        own = {"attn_norm.weight": [hidden], "ffn_norm.weight": [hidden]} | feed_forward(hidden)
        if told["kind"] != "state":
            return own | attention_tensors(told, hidden)
        return own | mamba2_tensors(state, hidden) | norm_of_groups(state)

    return "granitehybrid", hidden, mamba2_keys(state), tensors


def nemotron_h(layers, count):
    """Attention, a mamba2 or a feed-forward in a layer: the last in those that keep nothing."""
    state = states_of(layers)[0]
    told_layers = {layer["layer"] for layer in layers}
    wide = [0 if number in told_layers else WIDE for number in range(count)]
    keys = mamba2_keys(state) | {"feed_forward_length": wide, "attention.layer_norm_epsilon": 1e-6}

    def tensors(told):
        own = {"attn_norm.weight": [HIDDEN]}
        if told["kind"] == "feed_forward":
            return own | {"ffn_up.weight": [HIDDEN, WIDE], "ffn_down.weight": [WIDE, HIDDEN]}
        if told["kind"] != "state":
            return own | attention_tensors(told, HIDDEN)
        return own | mamba2_tensors(state, HIDDEN) | norm_of_groups(state)

    return "nemotron_h", HIDDEN, keys, tensors
