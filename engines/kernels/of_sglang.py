"""Triton kernels of SGLang, called as its backends call them, in Triton's interpreter. Of the engine only the files of
kernels are read: what they import of its runtime is answered by a stub that says no to every question. Its buffers have
an axis of slots in place of blocks and tokens, which is `view` here."""

import contextlib
import importlib.util
import sys
import types

import torch
import triton
import triton.language as tl

_STUBS = ("sglang.kernels.jit.utils", "sglang.srt.environ", "sglang.srt.utils", "sglang.srt.utils.common")
_FOLDERS = ("", ".kernels", ".kernels.ops", ".kernels.ops.attention", ".kernels.ops.mamba", ".kernels.jit", ".srt")


class _Stub(types.ModuleType):
    """Whatever is asked of it is a function that gives False."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **named: False


def _prepare():
    spec = importlib.util.find_spec("sglang")
    if spec is None:
        raise ImportError("sglang is not installed")
    for folder in _FOLDERS:
        module = types.ModuleType("sglang" + folder)
        module.__path__ = [place + folder.replace(".", "/") for place in spec.submodule_search_locations]
        sys.modules[module.__name__] = module
    for name in _STUBS:
        sys.modules[name] = _Stub(name)
    sys.modules["sglang.srt.utils.common"].torch_release = tuple(map(int, torch.__version__.split("+")[0].split(".")))


_prepare()

from sglang.kernels.ops.attention import decode_attention as _decode_attention  # noqa: E402
from sglang.kernels.ops.attention.fla import fused_recurrent  # noqa: E402
from sglang.kernels.ops.mamba import causal_conv1d_triton  # noqa: E402
from sglang.kernels.ops.mamba.triton_ops import mamba_ssm  # noqa: E402


@triton.jit
def _exp(x):
    return tl.exp(x)


fused_recurrent.exp = _exp
torch.cpu.device = lambda *device: contextlib.nullcontext()


def _slots(cache):
    return cache.view(-1, *cache.shape[2:])


def _decode(run, q, k, v, block_table, lengths, scale):
    splits, tokens = 4, k.shape[1]
    indices = [block_table[row, torch.arange(length) // tokens].long() * tokens + torch.arange(length) % tokens
               for row, length in enumerate(lengths.tolist())]
    starts = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    out = torch.zeros_like(q)
    run(q, _slots(k), _slots(v), out, starts, torch.cat(indices), torch.zeros(*q.shape[:2], splits, q.shape[2]),
        torch.zeros(*q.shape[:2], splits), torch.full((len(q),), splits, dtype=torch.int32), splits, scale, 1.0)
    return out


def decode_attention_normal(q, k, v, block_table, lengths, scale):
    """decode_attention_fwd_normal."""
    return _decode(_decode_attention.decode_attention_fwd_normal, q, k, v, block_table, lengths, scale)


def decode_attention_grouped(q, k, v, block_table, lengths, scale):
    """decode_attention_fwd_grouped."""
    return _decode(_decode_attention.decode_attention_fwd_grouped, q, k, v, block_table, lengths, scale)


def selective_state_update(state, slots, x, dt, A, B, C, D):
    """selective_state_update (Mamba-2)."""
    rows, columns = state.shape[2:]
    out = torch.empty_like(x)
    mamba_ssm.selective_state_update(
        state, x, dt[:, :, None].expand(-1, -1, rows), A[:, None, None].expand(-1, rows, columns), B[:, None],
        C[:, None], D[:, None].expand(-1, rows), dt_bias=torch.zeros(state.shape[1], 1).expand(-1, rows),
        state_batch_indices=slots, out=out)
    return out


def conv1d_update(state, slots, x, weight):
    """causal_conv1d_update."""
    return causal_conv1d_triton.causal_conv1d_update(x.clone(), state, weight, conv_state_indices=slots)


def recurrent_gated_delta_rule_packed(state, slots, q, k, v, g, beta, scale):
    """fused_recurrent_gated_delta_rule_packed_decode.

    g = -softplus(a) with A = 1, beta = sigmoid(b).
    """
    requests, heads, values = v.shape
    mixed = torch.cat([q.flatten(1), k.flatten(1), v.flatten(1)], 1)
    out = torch.empty(requests, 1, heads, values)
    fused_recurrent.fused_recurrent_gated_delta_rule_packed_decode(
        mixed, torch.log(torch.expm1(-g)), torch.logit(beta), torch.zeros(heads), torch.zeros(heads), scale, state, out,
        slots)
    return out[:, 0]


def recurrent_gated_delta_rule_update(state, slots, q, k, v, g, beta, scale):
    """fused_recurrent_gated_delta_rule_update."""
    starts = torch.arange(len(q) + 1)
    return fused_recurrent.fused_recurrent_gated_delta_rule_update(
        q[None], k[None], v[None], g[None], beta[None], scale, initial_state_source=state,
        initial_state_indices=slots, cu_seqlens=starts)[0]


KERNELS = [("attention", decode_attention_grouped, {}), ("attention", decode_attention_normal,
                                                         dict(queries_per_head=1)),
           ("state", selective_state_update, dict(family="mamba2")), ("state", conv1d_update, dict(family="conv")),
           ("state", recurrent_gated_delta_rule_packed, dict(family="gdn")),
           ("state", recurrent_gated_delta_rule_update, dict(family="gdn"))]
