"""Compares policies over seeds of the made-up trace: a table with 95 % intervals, and every replay as a row of CSV.

    python docs/policies/compare.py --memory 4GiB 10GiB --seeds 5 --requests 10000 -o results.csv
    gnuplot docs/policies/figure.gp
"""

import argparse
import csv
import functools
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import hybridkv
from learnt import Learnt
from message_ends import MessageEnds
from time_to_live import TimeToLive

STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]  # 97.5 %, of 1, 2, ... degrees of freedom


def replayed(policy, memory, seed, requests):
    """Share of the prompt tokens that is found. `policy`: one of ours by its name, or a class."""
    ours = isinstance(policy, str)
    keys = {"engine.memory": memory, "simulate.trace.synthetic.seed": seed, "simulate.trace.max_requests": requests,
            "simulate.eviction": policy if ours else "lru"}
    simulation = hybridkv.simulate("qwen3.5-397b", policy=None if ours else policy, records=False,
                                   attention_pack_size=5, cache_mode="align", **keys)
    return 100 * simulation.caches[0].hit_rate


def trained(memory, requests):
    """What the learnt policy knows after a trace of another seed, which no figure is of."""
    kept = []

    def made():
        kept.append(Learnt())
        return kept[-1]

    replayed(made, memory, 1001, requests)
    return functools.partial(Learnt, weights=kept[-1].weights)


def interval(values):
    """Half the width of the 95 % interval of the mean."""
    freedom = len(values) - 1
    t = STUDENT[min(freedom, len(STUDENT)) - 1] if freedom else 0
    return t * statistics.stdev(values) / len(values) ** 0.5 if freedom else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", nargs="+", default=["4GiB", "10GiB", "20GiB"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=10000)
    parser.add_argument("-o", "--output", default="results.csv")
    options = parser.parse_args()
    with open(options.output, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["policy", "memory", "seeds", "hit_percent", "interval"])
        for memory in options.memory:
            policies = {"lru": "lru", "worth": "worth", "TimeToLive": TimeToLive, "MessageEnds": MessageEnds,
                        "Learnt": trained(memory, options.requests)}
            for name, policy in policies.items():
                found = [replayed(policy, memory, seed, options.requests) for seed in range(1, options.seeds + 1)]
                mean, half = statistics.mean(found), interval(found)
                rows.writerow([name, memory.removesuffix("GiB"), options.seeds, f"{mean:.3f}", f"{half:.3f}"])
                print(f"{memory:>6}  {name:<12} {mean:5.1f} % ± {half:.1f}")


if __name__ == "__main__":
    main()
