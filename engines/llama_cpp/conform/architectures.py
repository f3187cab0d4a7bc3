"""The keys and tensors of tiny models: heads, states and order of layers as a request tells, everything else small.

An architecture is a function of the layers that answers its name, the size of its hidden states, its own keys and the
tensors of each layer. Sizes of hidden states and of feed-forwards change no cache.
"""

from delta_nets import kimi_linear, qwen3next, qwen35
from layers import WIDE, NotAsked, attention_of, attention_tensors, feed_forward, states_of
from mambas import falcon_h1, granite, nemotron_h

TRAINED = 1 << 20


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


def architecture_of(model):
    """The one whose states the model has."""
    families = {layer["family"] for layer in states_of(model["layers"])}
    known = {
        ("gdn", "Qwen3.5"): qwen35,
        ("gdn", "Qwen3-Next"): qwen3next,
        ("kda", "Kimi-Linear"): kimi_linear,
        ("short_conv", "LFM2"): lfm2,
        ("mamba2", "Falcon-H1"): falcon_h1,
        ("mamba2", "granite"): granite,
        ("mamba2", "Nemotron"): nemotron_h,
    }
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
    told = {layer["layer"] for layer in layers}
    # Layers that keep nothing are not told of.
    gaps = [{"layer": number, "kind": "feed_forward"} for number in range(count) if number not in told]
    for layer in layers + gaps:
        for tensor, shape in tensors_of(layer).items():
            tensors[f"blk.{layer['layer']}.{tensor}"] = shape
    return keys, tensors
