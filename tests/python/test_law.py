"""Python says what the program says, of questions that nobody chose: model x engine x strategy x pack x mode."""

import json
import os
import random
import subprocess

import hybridkv
import pytest

SEED, CASES = 29, int(os.environ.get("HYBRIDKV_LAW_CASES", "12"))
CHOICES = {
    "model": ("--model", hybridkv.model_names()),
    "engine": ("--engine", ["vllm-2026-06", "vllm-0.33", "sglang-0.5.23", "jenga", "compact-slots", "tensorrt-llm",
                            "llama.cpp"]),
    "strategy": ("--set engine.strategy", ["", "", "packed_attention", "dual_pool", "small_pages"]),
    "attention_pack_size": ("--pack", ["", "1", "2", "3", "5", "1,2"]),
    "cache_mode": ("--mode", ["", "none", "align", "all"]),
    "tensor_parallel": ("--tp", ["", "1", "2", "4"]),
    "memory": ("--memory", ["20GiB", "60GiB", "200GB", "1T"]),
    "max_model_len": ("--max-model-len", ["4k", "32768"]),
    "kv_dtype": ("--kv-dtype", ["", "", "bf16", "fp8_e4m3", "int8_per_token_head"]),
    "ssm_dtype": ("--ssm-dtype", ["", "", "fp32", "bf16"]),
    "speculative_tokens": ("--set engine.speculative_tokens", ["", "", "0", "2"]),
}
REPLAYS = ["--requests", "15", "--seed", "3"]


def questions():
    """Endless: keywords, and the same as flags."""
    dice = random.Random(SEED)
    while True:
        keys = {key: dice.choice(values) for key, (_, values) in CHOICES.items()}
        keys = {key: value for key, value in keys.items() if value}
        flags = []
        for key, value in keys.items():
            flag = CHOICES[key][0]
            flags += [flag.split()[0], f"{flag.split()[1]}={value}"] if " " in flag else [flag, value]
        if "attention_pack_size" in keys:
            keys["attention_pack_size"] = [int(pack) for pack in keys["attention_pack_size"].split(",")]
        yield keys, flags


@pytest.fixture(scope="module")
def answered():
    """The answer of a command as JSON; None where it refuses."""
    from conftest import ROOT, found_program
    program = found_program()

    def run(*arguments):
        done = subprocess.run([program, *arguments, "--format", "json"], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode in (0, 1, 2, 3), (arguments, done.stderr)
        return json.loads(done.stdout) if done.returncode in (0, 1) else None

    return run


def asked(function, **keys):
    try:
        return function(**keys)
    except (hybridkv.InputError, hybridkv.ResourceError):
        return None


def numbers(answer):
    """What is said: whether a setting is refused, not where the value stands that it is refused for; and a scenario of
    keywords alone is called as Python calls it."""
    if isinstance(answer, dict):
        return {key: value is not None if key == "refused" else numbers(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [numbers(item) for item in answer]
    return answer.replace("command line", "scenario") if isinstance(answer, str) else answer


def test_python_says_what_the_program_says(answered):
    drawn, said_something = questions(), dict.fromkeys(("plan", "simulate", "bound", "compare"), 0)
    for _ in range(CASES):
        keys, flags = next(drawn)
        traced = {**keys, "max_requests": 15, "simulate.trace.synthetic.seed": 3}
        planned = asked(hybridkv.plan, **keys)
        both = [("plan", flags, planned and json.loads(planned.to_json())),
                ("simulate", flags + REPLAYS, asked(hybridkv.simulate, **traced)),
                ("bound", flags + REPLAYS, asked(hybridkv.bound, **traced)),
                ("compare", flags + ["--vary", "engine.page_alignment_bytes=1,512"],
                 asked(hybridkv.compare, **keys, vary={"page_alignment_bytes": [1, 512]}))]
        for command, words, made in both:
            said = answered(command, *words)
            made = made.to_dict() if isinstance(made, hybridkv.Record) else made
            assert numbers(made) == numbers(said), [command, *words]
            said_something[command] += said is not None
    assert CASES < 10 or all(said_something.values()), said_something
    print(said_something)
