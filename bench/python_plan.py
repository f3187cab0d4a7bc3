"""How long a plan with numbers only takes from Python: python3 bench/python_plan.py

Every call plans anew. Prints the best of several rounds, microseconds a call.
"""

import itertools
import timeit

import hybridkv

QUESTIONS = {
    "Qwen3.5-397B-A17B, 5 layers a page": dict(model="Qwen3.5-397B-A17B", tensor_parallel=2, memory="40GiB",
                                               max_model_len=32768, attention_pack_size=5),
    "Qwen3.5-4B": dict(model="Qwen3.5-4B", memory="20GiB", max_model_len=32768),
    "Qwen3.5-397B-A17B, vllm-0.33": dict(model="Qwen3.5-397B-A17B", tensor_parallel=2, memory="40GiB",
                                         max_model_len=32768, engine="vllm-0.33"),
    "Nemotron-3-Super-120B-A12B": dict(model="Nemotron-3-Super-120B-A12B", tensor_parallel=4, memory="40GiB",
                                       max_model_len=131072),
}
CALLS = 500


def microseconds(call):
    return min(timeit.repeat(call, number=CALLS, repeat=7)) / CALLS * 1e6


for name, keys in QUESTIONS.items():
    lengths = itertools.cycle(range(16384, 32768, 16))

    def same():
        return hybridkv.plan(detail="numbers", **keys).num_blocks

    def another():
        return hybridkv.plan(detail="numbers", **{**keys, "max_model_len": next(lengths)}).num_blocks

    print(f"{name:40} {microseconds(same):7.1f} us, each of another length {microseconds(another):7.1f} us")
