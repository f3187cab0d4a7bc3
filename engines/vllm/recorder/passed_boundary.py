"""Four prompts after which vLLM 0.33 hands out a state under a boundary that its chunk passed (docs/audit.md), through
its own scheduler and block manager, without a GPU. Prints what each prompt hits.

    PYTHON passed_boundary.py RECORDING < cases.jsonl      # of `conform --record`; the first case that can, is taken
    hybridkv audit RECORDING
"""

import sys

from drive import alone, planned, scheduler_of
from driving import cases
from hybridkv.recorders import vllm as recorder


def prompts_of(block, unit):
    """The third and the fourth begin like the second, up to the end of its first block."""
    first = list(range(2 * unit))
    second = first[:unit] + [1_000_000 + token for token in range(unit, 3 * block + unit + 5)]
    return [first, second, second[:block] + [7], second[:block] + [8]]


def main():
    for request in cases():
        engine = request["engine"]
        if not engine["prefix_match_unit_tokens"] or engine["speculative_tokens"] or engine["cache_mode"] != "align":
            continue
        try:
            config, _, caches, _ = planned(request)
            with recorder.record(sys.argv[1]):
                scheduler, hasher, blocks = scheduler_of(config, caches, retention=None)
                hits = [alone(scheduler, str(number), prompt, hasher)
                        for number, prompt in enumerate(prompts_of(*blocks))]
        except ValueError as error:
            print(f"case {request['id']}: {str(error)[:100]}")
            continue
        print(f"case {request['id']}: block {blocks[0]}, unit {blocks[1]}, hits {hits}")
        return


main()
