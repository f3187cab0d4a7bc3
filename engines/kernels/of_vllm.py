"""Triton kernels of vLLM, called as its backends call them, in Triton's interpreter. What asks for a GPU is told that
it is one of compute capability 9.0, and exp and log are functions of the interpreter, which does not find those that a
module imports by name. Nothing else of the engine runs."""

import contextlib

import torch
import triton
import triton.language as tl


torch.cuda.get_device_capability = lambda *device: (9, 0)
torch.cuda.get_device_name = lambda *device: "none"
torch.accelerator.device_index = lambda *device: contextlib.nullcontext()

from vllm.model_executor.layers.lightning_attn import linear_decode_forward_triton  # noqa: E402
from vllm.model_executor.layers.mamba.ops.causal_conv1d import causal_conv1d_update  # noqa: E402
from vllm.model_executor.layers.mamba.ops import mamba_ssm  # noqa: E402
from vllm.third_party.flash_linear_attention.ops import fused_recurrent, fused_sigmoid_gating, kda  # noqa: E402
from vllm.v1.attention.ops import triton_decode_attention, triton_reshape_and_cache_flash  # noqa: E402
from vllm.v1.attention.ops.triton_unified_attention import unified_attention as _unified  # noqa: E402
from vllm.v1.attention.ops.triton_unified_attention_diffkv import unified_attention_diffkv as _diffkv  # noqa: E402


@triton.jit
def _exp(x):
    return tl.exp(x)


@triton.jit
def _log(x):
    return tl.log(x)


fused_recurrent.exp, fused_recurrent.log = _exp, _log


def _segments(q, count=4):
    tokens, heads, channels = q.shape
    return dict(seq_threshold_3D=128, num_par_softmax_segments=count,
                softmax_segm_output=torch.zeros(tokens, heads, count, channels),
                softmax_segm_max=torch.zeros(tokens, heads, count),
                softmax_segm_expsum=torch.zeros(tokens, heads, count))


def _batch(q, block_table, lengths, scale):
    return dict(cu_seqlens_q=torch.arange(len(q) + 1, dtype=torch.int32), max_seqlen_q=1, seqused_k=lengths,
                softmax_scale=scale, causal=True, window_size=(-1, -1), block_table=block_table, softcap=0.0,
                q_descale=None, k_descale=None, v_descale=None)


def _unified_with(q, k, v, block_table, lengths, scale, **how):
    out = torch.empty_like(q)
    _unified(q=q, k=k, v=v, out=out, max_seqlen_k=int(lengths.max()), **_batch(q, block_table, lengths, scale), **how)
    return out


def unified_attention(q, k, v, block_table, lengths, scale):
    """unified_attention, one pass (2D)."""
    return _unified_with(q, k, v, block_table, lengths, scale)


def unified_attention_3d(q, k, v, block_table, lengths, scale):
    """unified_attention, segments reduced in a second kernel (3D)."""
    return _unified_with(q, k, v, block_table, lengths, scale, **_segments(q))


def unified_attention_prefill(q, k, v, block_table, lengths, query_starts, scale):
    """unified_attention, several query tokens a request."""
    out = torch.empty_like(q)
    batch = _batch(q, block_table, lengths, scale)
    batch.update(cu_seqlens_q=query_starts, max_seqlen_q=int(query_starts.diff().max()))
    _unified(q=q, k=k, v=v, out=out, max_seqlen_k=int(lengths.max()), **batch)
    return out


def unified_attention_descriptors(q, k, v, block_table, lengths, scale):
    """unified_attention with use_td: K and V by tensor descriptors."""
    return _unified_with(q, k, v, block_table, lengths, scale, use_td=True)


def unified_attention_diffkv(q, k, v, block_table, lengths, scale):
    """unified_attention_diffkv."""
    out = torch.empty_like(q)
    _diffkv(q=q, k=k, v=v, out=out, **_batch(q, block_table, lengths, scale))
    return out


def _decode(run, q, k, v, block_table, lengths, scale):
    splits = 4
    out, lse = torch.zeros_like(q), torch.zeros(q.shape[:2])
    logits = torch.zeros(*q.shape[:2], splits, q.shape[2] + 1)
    one = torch.tensor(1.0)
    run(q, k, v, out, lse, block_table, lengths, logits, splits, scale, k.shape[1], 0.0, one, one)
    return out


def decode_attention_normal(q, k, v, block_table, lengths, scale):
    """decode_attention_fwd_normal."""
    return _decode(triton_decode_attention.decode_attention_fwd_normal, q, k, v, block_table, lengths, scale)


def decode_attention_grouped(q, k, v, block_table, lengths, scale):
    """decode_attention_fwd_grouped."""
    return _decode(triton_decode_attention.decode_attention_fwd_grouped, q, k, v, block_table, lengths, scale)


def reshape_and_cache_flash(key, value, k, v, slot_mapping):
    """triton_reshape_and_cache_flash."""
    one = torch.ones(1)
    triton_reshape_and_cache_flash.triton_reshape_and_cache_flash(key, value, k, v, slot_mapping, "auto", one, one)


def reshape_and_cache_flash_diffkv(key, value, k, v, slot_mapping):
    """triton_reshape_and_cache_flash_diffkv.

    It takes one view of K and V, the halves of its channels.
    """
    channels, distance = k.shape[3], (v.data_ptr() - k.data_ptr()) // k.element_size()
    if k.stride() != v.stride() or distance != channels * k.stride(3):
        raise NotImplementedError("K and V are no halves of one view's channels")
    both = torch.as_strided(k, (*k.shape[:3], 2 * channels), k.stride())
    one = torch.ones(1)
    triton_reshape_and_cache_flash.triton_reshape_and_cache_flash_diffkv(key, value, both, slot_mapping, "auto", one,
                                                                         one)


def selective_state_update(state, slots, x, dt, A, B, C, D):
    """selective_state_update (Mamba-2)."""
    heads, rows, columns = state.shape[1:]
    out = torch.empty_like(x)
    with mamba_ssm.override_ssm_config((16, 4)):  # of a state of 32 columns where no table of a GPU says otherwise
        mamba_ssm.selective_state_update(
            state, x, dt[:, :, None].expand(-1, -1, rows), A[:, None, None].expand(-1, rows, columns), B[:, None],
            C[:, None], D[:, None].expand(-1, rows), torch.zeros(heads, 1).expand(-1, rows), state_batch_indices=slots,
            out=out)
    return out


def conv1d_update(state, slots, x, weight):
    """causal_conv1d_update."""
    return causal_conv1d_update(x, state, weight, conv_state_indices=slots, out=torch.empty_like(x))


def _varlen(*arrays):
    return [array[None] for array in arrays], torch.arange(len(arrays[0]) + 1, dtype=torch.int32)


def recurrent_gated_delta_rule(state, slots, q, k, v, g, beta, scale):
    """fused_recurrent_gated_delta_rule."""
    (q, k, v, g, beta), starts = _varlen(q, k, v, g, beta)
    out, _ = fused_recurrent.fused_recurrent_gated_delta_rule(
        q, k, v, g, beta, scale, initial_state=state, inplace_final_state=True, cu_seqlens=starts,
        ssm_state_indices=slots)
    return out[0]


def recurrent_gated_delta_rule_packed(state, slots, q, k, v, g, beta, scale):
    """fused_recurrent_gated_delta_rule_packed_decode.

    g = -softplus(a) with A = 1, beta = sigmoid(b).
    """
    requests, heads, values = v.shape
    mixed = torch.cat([q.flatten(1), k.flatten(1), v.flatten(1)], 1)
    out = torch.empty(requests, 1, heads, values)
    fused_recurrent.fused_recurrent_gated_delta_rule_packed_decode(
        mixed, _unsoftplus(-g), torch.logit(beta), torch.zeros(heads), torch.zeros(heads), scale, state, out, slots)
    return out[:, 0]


def sigmoid_gating_delta_rule(state, slots, q, k, v, g, beta, scale):
    """fused_sigmoid_gating_delta_rule_update.

    g = -softplus(a) with A = 1, beta = sigmoid(b).
    """
    heads = v.shape[1]
    (q, k, v, a, b), starts = _varlen(q, k, v, _unsoftplus(-g), torch.logit(beta))
    out, _ = fused_sigmoid_gating.fused_sigmoid_gating_delta_rule_update(
        torch.zeros(heads), a, b, torch.zeros(heads), q, k, v, scale=scale, initial_state=state, cu_seqlens=starts,
        ssm_state_indices=slots)
    return out[0]


def recurrent_kda(state, slots, q, k, v, g, beta, scale):
    """fused_recurrent_kda."""
    (q, k, v, g, beta), starts = _varlen(q, k, v, g, beta)
    out, _ = kda.fused_recurrent_kda(q, k, v, g, beta, scale, initial_state=state, use_qk_l2norm_in_kernel=False,
                                     cu_seqlens=starts, ssm_state_indices=slots)
    return out[0]


def lightning_decode(state, slots, q, k, v, slope):
    """linear_decode_forward_triton.

    Its state is (slot, head, key, value).
    """
    out = linear_decode_forward_triton(q[:, :, None], k[:, :, None], v[:, :, None], state.transpose(2, 3), slope, slots)
    return out.unflatten(1, v.shape[1:])


def _unsoftplus(x):
    return torch.log(torch.expm1(x))


KERNELS = [("attention", each, {}) for each in (unified_attention, unified_attention_3d, unified_attention_descriptors,
                                                unified_attention_diffkv, decode_attention_grouped)]
KERNELS += [("attention", unified_attention_prefill, dict(phase="prefill"))]
KERNELS += [("attention", decode_attention_normal, dict(queries_per_head=1))]
KERNELS += [("write", reshape_and_cache_flash, {}), ("write", reshape_and_cache_flash_diffkv, {})]
KERNELS += [("state", selective_state_update, dict(family="mamba2")), ("state", conv1d_update, dict(family="conv")),
            ("state", recurrent_gated_delta_rule, dict(family="gdn")),
            ("state", recurrent_gated_delta_rule_packed, dict(family="gdn")),
            ("state", sigmoid_gating_delta_rule, dict(family="gdn")),
            ("state", recurrent_kda, dict(family="kda", shape=(10, 4, 32, 32))),
            ("state", lightning_decode, dict(family="linear", shape=(10, 4, 32, 32)))]
