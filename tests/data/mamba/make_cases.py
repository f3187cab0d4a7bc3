"""Makes the cases of the younger families, by running published packages in float64 on a CPU.

    python tests/data/mamba/make_cases.py [FAMILY ...]

Needs torch, transformers 5.23.0 and an unpacked wheel of fla-core 0.6.0 in $FLA_CORE. Nothing here computes a
recurrence: every number comes out of a module or function of the package that case.json names. All inputs are float32,
so that both precisions have them exactly.
"""

import importlib.util
import json
import os
import pathlib
import sys

import numpy
import torch

HERE = pathlib.Path(__file__).parent


def drawn(generator, *shape, low=-1.5, high=1.5):
    return (low + (high - low) * torch.rand(*shape, generator=generator)).to(torch.float32).double()


class Ones(torch.nn.Module):
    """Stands for a branch that multiplies what a recurrence gives."""

    def forward(self, values):
        return torch.ones_like(values)


def save(path, values, kind):
    path.parent.mkdir(parents=True, exist_ok=True)
    numpy.save(path, numpy.ascontiguousarray(values.detach().numpy().astype(kind)))


def write(name, family, spec, inputs, row, weights, start, run, splits, source, notes=()):
    """`run(first, last, conv, ssm)` gives outputs and the state after the last token."""
    folder = HERE / name
    tokens = inputs[row[0]].shape[0]
    outputs, conv, ssm = run(0, tokens, *start)
    for key, values in {**inputs, "initial_conv": start[0], "initial_ssm": start[1]}.items():
        if values is not None:
            save(folder / "inputs" / f"{key}.npy", values, numpy.float32)
    save(folder / "outputs.npy", outputs, numpy.float64)
    states = [run(0, position, *start)[1:] for position in splits]
    second = splits[-1]
    again = run(second, tokens, *states[-1])
    for part, values, of_splits in (("conv", conv, [s[0] for s in states]), ("ssm", ssm, [s[1] for s in states])):
        if values is not None:
            save(folder / "final_state" / f"{part}.npy", values, numpy.float64)
            save(folder / "split" / f"{part}.npy", torch.stack(of_splits), numpy.float64)
    save(folder / "split" / "outputs_second.npy", again[0], numpy.float64)
    case = {
        "case": name,
        "family": family,
        "tokens": tokens,
        "spec": spec,
        "row": row,
        "weights": weights,
        "split": {"positions": splits, "second_part_from": second},
        "implementation": source,
        "notes": list(notes),
        "versions": {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": numpy.__version__},
    }
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    print(name, tokens, "tokens; two runs differ by", float((outputs[second:] - again[0]).abs().max()))


def rg_lru(number, generator, width, heads, kernel, tokens, begins):
    from transformers.models.recurrent_gemma import modeling_recurrent_gemma as package
    from transformers.models.recurrent_gemma.configuration_recurrent_gemma import RecurrentGemmaConfig

    config = RecurrentGemmaConfig(hidden_size=width, lru_width=width, num_attention_heads=heads,
                                  num_key_value_heads=1, conv1d_width=kernel)
    block = package.RecurrentGemmaRecurrentBlock(config, 0).double()
    # The scan's own accumulator is fp32 unless told.
    package.RecurrentGemmaRglru._rnn_scan.__defaults__ = (torch.float64,)
    # The projections and the branch beside it are the network's.
    block.linear_x = block.linear_out = torch.nn.Identity()
    block.linear_y, block.act_fn = torch.nn.Identity(), Ones()
    size = width // heads
    inputs = {"x": drawn(generator, tokens, width)}
    weights = {
        "conv_weight": drawn(generator, kernel, width, low=-0.5, high=0.5),
        "conv_bias": drawn(generator, width, low=-0.1, high=0.1),
        "recurrent_param": drawn(generator, width, low=-6, high=1),
        "gate_bias": drawn(generator, 2, width, low=-2, high=0.5),
        "gate_weight": drawn(generator, 2, heads, size, size, low=-0.5, high=0.5),
    }
    with torch.no_grad():
        block.conv_1d.weight.copy_(weights["conv_weight"].T[:, None, :])
        block.conv_1d.bias.copy_(weights["conv_bias"])
        unit = block.rg_lru
        unit.recurrent_param.copy_(weights["recurrent_param"])
        unit.input_gate_bias.copy_(weights["gate_bias"][0].reshape(heads, size))
        unit.recurrent_gate_bias.copy_(weights["gate_bias"][1].reshape(heads, size))
        unit.input_gate_weight.copy_(weights["gate_weight"][0])
        unit.recurrent_gate_weight.copy_(weights["gate_weight"][1])
    start = (torch.zeros(kernel - 1, width).double(), torch.zeros(width).double())
    if begins != "zero":
        start = (drawn(generator, kernel - 1, width), drawn(generator, width))

    def run(first, last, conv, ssm):
        # From position 1 on: at position 0 the published unit leaves its square root out.
        block.conv1d_state, unit.recurrent_states = conv.T[None].clone(), ssm[None].clone()
        rows = inputs["x"][None, first:last]
        with torch.no_grad():
            if first == 0 and begins == "zero":
                out = [block(rows, torch.arange(1, last + 1)[None], None)[0]]
            else:
                out = [block(rows[:, i:i + 1], torch.tensor([[1 + first + i]]), None)[0] for i in range(last - first)]
        return torch.cat(out, 1)[0], block.conv1d_state[0].T.clone(), unit.recurrent_states[0].clone()

    write(f"rg_lru-{number}", "rg_lru", {"lru_width": width, "heads": heads, "conv_kernel": kernel},
          {**inputs, **weights}, ["x"],
          {"conv": "conv_weight", "conv_bias": "conv_bias", "decay_log": "recurrent_param", "step_bias": "gate_bias",
           "gates": "gate_weight"},
          start, run, [1, 2, 17, tokens - 20],
          "transformers 5.23.0: recurrent_gemma RecurrentGemmaRecurrentBlock.forward, "
          + ("one call over the prompt" if begins == "zero" else "a call a token"),
          ["positions from 1 on", "the projections around it are the identity"])


class Doubled:
    """A torch whose float32 is float64, for functions that compute in fp32 whatever comes in."""

    def __getattr__(self, name):
        return getattr(torch, "float64" if name == "float32" else name)


def from_fla(path, name):
    """A function of a file of fla-core that imports nothing of the package, computing in float64."""
    spec = importlib.util.spec_from_file_location("published", pathlib.Path(os.environ["FLA_CORE"]) / "fla" / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.torch = Doubled()
    return getattr(module, name)


class Open(torch.nn.Module):
    """Stands for a projection behind which a sigmoid is one."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, values):
        return torch.full((*values.shape[:-1], self.width), 100.0, dtype=torch.float64)


def rounded(_, __, output):
    """What a projection gives, rounded to float32, so that it can be given as an input too."""
    return output.to(torch.float32).double()


def shift_weights(generator, hidden):
    # Ratios in whole 256ths, whose complement is exact too.
    mix = torch.randint(0, 257, (2, hidden), generator=generator).double() / 256
    return mix, torch.stack([(1 - mix).reshape(-1), mix.reshape(-1)])


def rwkv4(number, generator, hidden, attention, tokens, begins):
    from transformers.models.rwkv import modeling_rwkv as package
    from transformers.models.rwkv.configuration_rwkv import RwkvConfig

    config = RwkvConfig(hidden_size=hidden, attention_hidden_size=attention, intermediate_size=2 * hidden,
                        num_hidden_layers=1)
    time, channel = package.RwkvSelfAttention(config).double(), package.RwkvFeedForward(config).double()
    mix, conv = shift_weights(generator, hidden)
    inputs = {"x": drawn(generator, tokens, hidden), "m": drawn(generator, tokens, hidden)}
    weights = {"conv_weight": conv, "conv_bias": torch.zeros(2 * hidden).double(),
               "time_decay": drawn(generator, attention, low=-4, high=1),
               "time_first": drawn(generator, attention, low=-2, high=2)}
    # An open receptance and no output projection: what comes out is the average itself.
    time.receptance, time.output = Open(attention), torch.nn.Identity()
    with torch.no_grad():
        time.time_decay.copy_(weights["time_decay"])
        time.time_first.copy_(weights["time_first"])
        for ratio in (time.time_mix_key, time.time_mix_value, time.time_mix_receptance):
            ratio.copy_(mix[0])
        for ratio in (channel.time_mix_key, channel.time_mix_receptance):
            ratio.copy_(mix[1])
        for linear in (time.key, time.value):
            linear.weight.copy_(drawn(generator, attention, hidden))
    seen = {}
    for name in ("key", "value"):
        getattr(time, name).register_forward_hook(rounded)
        getattr(time, name).register_forward_hook(lambda _, __, output, name=name: seen.update({name: output}))
    time.key.register_forward_pre_hook(lambda _, given: seen.update(x=given[0]))
    channel.key.register_forward_pre_hook(lambda _, given: seen.update(m=given[0]))
    start = (torch.zeros(1, 2 * hidden).double(), torch.zeros(attention, 3).double())
    if begins != "zero":
        start = (drawn(generator, 1, 2 * hidden), drawn(generator, attention, 3))
        start[1][:, 1] = drawn(generator, attention, low=0.5, high=2)

    def run(first, last, conv, ssm):
        # The package marks what has seen nothing by its scale, a state of zeros here by its denominator.
        scale = torch.where(ssm[:, 1] == 0, torch.tensor(-1e38).double(), ssm[:, 2])
        state = [conv[0, hidden:], conv[0, :hidden], ssm[:, 0], ssm[:, 1], scale]
        state = [part[None, :, None].clone() for part in state]
        with torch.no_grad():
            out, state = time(inputs["x"][None, first:last], state=state, use_cache=True)
            _, state = channel(inputs["m"][None, first:last], state=state)
        if first == 0 and last == tokens:
            inputs.update(k=seen["key"][0], v=seen["value"][0])
        return (torch.cat([out[0], seen["x"][0], seen["m"][0]], -1),
                torch.cat([state[1][0, :, 0], state[0][0, :, 0]])[None],
                torch.stack([part[0, :, 0] for part in state[2:]], -1))

    run(0, tokens, *start)  # what the projections give is an input of the case
    write(f"rwkv4-{number}", "rwkv4", {"hidden_size": hidden, "attention_size": attention}, {**inputs, **weights},
          ["x", "m", "k", "v"],
          {"conv": "conv_weight", "conv_bias": "conv_bias", "decay_log": "time_decay", "skip": "time_first"},
          start, run, [1, 2, 17, tokens - 20],
          "transformers 5.23.0: rwkv RwkvSelfAttention.forward and RwkvFeedForward.forward",
          ["k and v are what the published projections give, rounded to float32 by a hook",
           "the receptance is one and the output projection the identity", "all ratios of a mixing are one"])


def rwkv(number, generator, version, hidden, heads, size, tokens, begins):
    from transformers.models.rwkv import modeling_rwkv as package
    from transformers.models.rwkv.configuration_rwkv import RwkvConfig

    # The shift is that of RWKV-4's feed forward, run for both mixings.
    channel = package.RwkvFeedForward(RwkvConfig(hidden_size=2 * hidden, num_hidden_layers=1)).double()
    mix, conv = shift_weights(generator, hidden)
    mixed = []
    with torch.no_grad():
        channel.time_mix_key.copy_(mix.reshape(-1))
        channel.time_mix_receptance.copy_(mix.reshape(-1))
    channel.key.register_forward_pre_hook(lambda _, given: mixed.append(given[0]))
    row = ["x", "m", "r", "k", "v", "w", "n", "a"][: {5: 5, 6: 6, 7: 8}[version]]
    inputs = {name: drawn(generator, tokens, hidden if name in "xm" else heads * size) for name in row}
    weights = {"conv_weight": conv, "conv_bias": torch.zeros(2 * hidden).double(),
               "decay": drawn(generator, heads, size, low=-4, high=1)}
    if version < 7:
        weights["bonus"] = drawn(generator, heads, size, low=-1, high=1)
    start = (torch.zeros(1, 2 * hidden).double(), torch.zeros(heads, size, size).double())
    if begins != "zero":
        start = (drawn(generator, 1, 2 * hidden), drawn(generator, heads, size, size))
    published = (from_fla("ops/generalized_delta_rule/dplr/naive.py", "dplr_recurrence") if version == 7
                 else from_fla("ops/rwkv6/recurrent_naive.py", "naive_recurrent_rwkv6"))

    def run(first, last, conv, ssm):
        part = {name: inputs[name][first:last].reshape(-1, heads, size).transpose(0, 1)[None] for name in row[2:]}
        gate = weights["decay"][None, :, None] + part.get("w", torch.zeros_like(part["k"]))
        before = ssm.transpose(1, 2)[None].clone()  # the package keeps (key, value)
        if version == 7:
            # As the layer of flash-linear-attention prepares them: log decay, a key of length one, a rate.
            log = -0.6065306597126334 * torch.sigmoid(gate)
            removed = part["n"] * torch.rsqrt(part["n"].square().sum(-1, keepdim=True) + 1e-6)
            out, after = published(part["r"] * size**0.5, part["k"], part["v"], -removed,
                                   removed * torch.sigmoid(part["a"]), log, before)
        else:
            out, after = published(part["r"], part["k"], part["v"], -torch.exp(gate), weights["bonus"], 1.0, before,
                                   True)
        state = [conv[0][None, :, None].clone()]
        with torch.no_grad():
            channel(torch.cat([inputs["x"], inputs["m"]], -1)[None, first:last], state=state)
        out = out[0].transpose(0, 1).reshape(last - first, heads * size)
        return torch.cat([out, mixed.pop()[0]], -1), state[0][:, :, 0], after[0].transpose(1, 2)

    write(f"rwkv{version}-{number}", "rwkv",
          {"version": version, "hidden_size": hidden, "heads": heads, "head_dim": size}, {**inputs, **weights}, row,
          {"conv": "conv_weight", "conv_bias": "conv_bias", "decay_log": "decay",
           **({"skip": "bonus"} if version < 7 else {})},
          start, run, [1, 2, 17, tokens - 20],
          "fla-core 0.6.0: " + ("ops/generalized_delta_rule/dplr/naive.py dplr_recurrence" if version == 7
                                else "ops/rwkv6/recurrent_naive.py naive_recurrent_rwkv6, with decays "
                                + ("of every token" if version == 6 else "that are one for all tokens"))
          + "; the shift by transformers 5.23.0 RwkvFeedForward",
          ["scale one", "the gates' own functions (exp, sigmoid, length one) are torch's, as the layer calls them"])


def xlstm(number, generator, heads, keys, values, tokens, begins):
    from transformers.models.xlstm import modeling_xlstm as package

    widths = {"q": keys, "k": keys, "v": values, "i": 1, "f": 1}
    inputs = {name: drawn(generator, tokens, heads * width) for name, width in widths.items()}
    # Minus the bias of the forget gate, as the library here counts decays.
    weights = {"decay": drawn(generator, heads, low=-5, high=1), "bias": drawn(generator, heads, low=-3, high=1)}
    numbers = (values + 1) * keys + 1
    ssm = torch.zeros(heads, numbers).double() if begins == "zero" else drawn(generator, heads, numbers)

    def run(first, last, _, ssm):
        part = {name: inputs[name][first:last].reshape(-1, heads, width).transpose(0, 1)[None]
                for name, width in widths.items()}
        memory = ssm[:, : values * keys].reshape(heads, values, keys).transpose(1, 2)[None]
        out, (memory, normaliser, scale) = package.mlstm_recurrent_sequence_native(
            part["q"], part["k"], part["v"], part["i"][..., 0] + weights["bias"][None, :, None],
            part["f"][..., 0] - weights["decay"][None, :, None],
            memory, ssm[None, :, values * keys : -1], ssm[None, :, -1:], True, dtype_state=torch.float64)
        state = [memory[0].transpose(1, 2).reshape(heads, -1), normaliser[0], scale[0]]
        return out[0].transpose(0, 1).reshape(last - first, -1), None, torch.cat(state, -1)

    write(f"xlstm-{number}", "xlstm", {"heads": heads, "key_head_dim": keys, "value_head_dim": values},
          {**inputs, **weights}, list(widths), {"decay_log": "decay", "step_bias": "bias"},
          (None, ssm), run, [1, 2, 17, tokens - 20],
          "transformers 5.23.0: xlstm mlstm_recurrent_sequence_native",
          ["without the soft caps of the gates, which come before", "state: memory (value, key), normaliser, scale"])


class States:
    """Stands for a cache of one layer: a convolution state and a recurrent one."""

    def __init__(self, conv, recurrent):
        self.conv, self.recurrent = conv, recurrent

    def get_conv_state(self, layer, state_idx=0):
        return self.conv

    def get_recurrent_state(self, layer, state_idx=0):
        return self.recurrent

    def update_conv_state(self, conv, layer, state_idx=0, conv_kernel_size=None):
        self.conv = conv if conv_kernel_size is None else torch.cat([self.conv, conv], -1)
        return self.conv

    def is_recording_past(self, layer):
        return True

    def update_recurrent_state(self, recurrent, layer):
        self.recurrent = recurrent


def cca(number, generator, queries, keys, size, taps, tokens, begins):
    from transformers.models.zaya import modeling_zaya as package
    from transformers.models.zaya.configuration_zaya import ZayaConfig

    hidden = 16
    config = ZayaConfig(hidden_size=hidden, num_attention_heads=queries, num_key_value_heads=keys, head_dim=size,
                        cca_time0=taps[0], cca_time1=taps[1])
    layer = package.ZayaCCAProjection(config, 0).double()
    channels, heads, delayed, rows = (queries + keys) * size, queries + keys, keys * size // 2, sum(taps) - 2
    given = drawn(generator, tokens, hidden)
    weights = {
        "conv_weight": drawn(generator, taps[0], channels, low=-0.7, high=0.7),
        "conv_bias": drawn(generator, channels, low=-0.2, high=0.2),
        "grouped_weight": drawn(generator, taps[1], heads, size, size, low=-0.5, high=0.5),
        "grouped_bias": drawn(generator, channels, low=-0.2, high=0.2),
    }
    with torch.no_grad():
        layer.conv_qk_depthwise.weight.copy_(weights["conv_weight"].T[:, None])
        layer.conv_qk_depthwise.bias.copy_(weights["conv_bias"])
        # The package has (output, input of the group, tap).
        grouped = weights["grouped_weight"].permute(1, 3, 2, 0).reshape(channels, size, taps[1])
        layer.conv_qk_grouped.weight.copy_(grouped)
        layer.conv_qk_grouped.bias.copy_(weights["grouped_bias"])
    seen = {}
    for name in ("q_proj", "k_proj", "v_proj_delayed"):
        linear = getattr(layer, name)
        torch.nn.init.uniform_(linear.weight, -0.4, 0.4, generator=generator)
        linear.register_forward_hook(rounded)
        linear.register_forward_hook(lambda _, __, output, name=name: seen.update({name: output[0]}))
    layer.conv_qk_grouped.register_forward_hook(lambda _, __, output: seen.update(mixed=output[0].T))
    inputs = {}
    start = (torch.zeros(rows, channels).double(), torch.zeros(1, delayed).double())
    if begins != "zero":
        start = (drawn(generator, rows, channels), drawn(generator, 1, delayed))

    def run(first, last, conv, ssm):
        states = States(conv.T[None].clone(), ssm.clone())
        with torch.no_grad():
            value = layer(given[None, first:last], states)[2][0].reshape(last - first, -1)
        if first == 0 and last == tokens:
            inputs.update(q=seen["q_proj"], k=seen["k_proj"], u=seen["v_proj_delayed"])
        return torch.cat([seen["mixed"], value[:, delayed:]], -1), states.conv[0].T, states.recurrent

    run(0, tokens, *start)  # what the projections give is an input of the case
    write(f"cca-{number}", "cca",
          {"query_heads": queries, "kv_heads": keys, "head_dim": size, "depthwise_kernel": taps[0],
           "grouped_kernel": taps[1], "delayed_size": delayed},
          {**inputs, **weights}, ["q", "k", "u"],
          {"conv": "conv_weight", "conv_bias": "conv_bias", "gates": "grouped_weight", "step_bias": "grouped_bias"},
          start, run, [1, 2, 17, tokens - 20],
          "transformers 5.23.0: zaya ZayaCCAProjection.forward",
          ["q, k and u are what the published projections give, rounded to float32 by a hook",
           "q and k before what the layer adds to them beside the convolutions"])


def stream_convs(number, generator, heads, size, hidden, kernel, tokens, begins):
    from transformers.models.inkling import modeling_inkling as package

    widths = {"k": heads * size, "v": heads * size, "a": hidden, "m": hidden}
    inputs = {name: drawn(generator, tokens, width) for name, width in widths.items()}
    channels = sum(widths.values())
    weights = {"conv_weight": drawn(generator, kernel, channels, low=-0.7, high=0.7),
               "conv_bias": torch.zeros(channels).double()}
    layers = [package.InklingShortConvolution(width, kernel, 0, 0).double() for width in widths.values()]
    with torch.no_grad():
        for layer, taps in zip(layers, weights["conv_weight"].T.split(list(widths.values()))):
            layer.conv1d.weight.copy_(taps[:, None])
    start = torch.zeros(kernel - 1, channels).double()
    if begins != "zero":
        start = drawn(generator, kernel - 1, channels)

    def run(first, last, conv, _):
        outputs, kept = [], []
        for layer, name, before in zip(layers, widths, conv.T.split(list(widths.values()))):
            states, rows = States(before[None], None), inputs[name][first:last]
            with torch.no_grad():
                outputs.append(layer(rows[None], states)[0] - rows)  # models add the row itself
            kept.append(states.conv[0, :, states.conv.shape[-1] - kernel + 1 :].T)
        return torch.cat(outputs, -1), torch.cat(kept, -1), None

    write(f"stream_convs-{number}", "stream_convs",
          {"kv_heads": heads, "head_dim": size, "hidden_size": hidden, "conv_kernel": kernel}, {**inputs, **weights},
          list(widths), {"conv": "conv_weight", "conv_bias": "conv_bias"}, (start, None), run, [1, 2, 17, tokens - 20],
          "transformers 5.23.0: inkling InklingShortConvolution.forward, one for each stream",
          ["less the row itself, which the layer adds"])


CASES = {
    "rg_lru": lambda g: (rg_lru(1, g, 12, 3, 4, 61, "zero"), rg_lru(2, g, 20, 2, 3, 47, "drawn")),
    "rwkv4": lambda g: (rwkv4(1, g, 9, 14, 61, "zero"), rwkv4(2, g, 6, 10, 47, "drawn")),
    "rwkv": lambda g: [
        rwkv(number, g, version, 7, heads, size, tokens, begins)
        for version in (5, 6, 7)
        for number, heads, size, tokens, begins in ((1, 2, 8, 53, "zero"), (2, 3, 5, 41, "drawn"))
    ],
    "xlstm": lambda g: (xlstm(1, g, 2, 8, 6, 53, "zero"), xlstm(2, g, 3, 5, 10, 41, "drawn")),
    "cca": lambda g: (cca(1, g, 4, 2, 6, (2, 2), 53, "zero"), cca(2, g, 2, 1, 8, (3, 2), 41, "drawn")),
    "stream_convs": lambda g: (stream_convs(1, g, 2, 3, 7, 4, 53, "zero"), stream_convs(2, g, 1, 4, 5, 3, 41, "drawn")),
}

if __name__ == "__main__":
    # Functions that widen to fp32 shall widen to float64.
    torch.Tensor.float = torch.Tensor.double
    for seed, (family, make) in enumerate(CASES.items()):
        if len(sys.argv) == 1 or family in sys.argv[1:]:
            make(torch.Generator().manual_seed(1000 + seed))
