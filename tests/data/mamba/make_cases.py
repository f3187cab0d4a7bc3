"""Makes the cases of the younger families, by running published packages in float64 on a CPU.

    python tests/data/mamba/make_cases.py [FAMILY ...]

Needs torch, transformers 5.23.0 and an unpacked wheel of fla-core 0.6.0 in $FLA_CORE. Nothing here computes a
recurrence: every number comes out of a module or function of the package that case.json names. All inputs are float32,
so that both precisions have them exactly.
"""

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


CASES = {
    "rg_lru": lambda g: (rg_lru(1, g, 12, 3, 4, 61, "zero"), rg_lru(2, g, 20, 2, 3, 47, "drawn")),
}

if __name__ == "__main__":
    for seed, (family, make) in enumerate(CASES.items()):
        if len(sys.argv) == 1 or family in sys.argv[1:]:
            make(torch.Generator().manual_seed(1000 + seed))
