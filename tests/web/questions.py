"""Random questions: values by keys of a scenario, and the same as flags."""

import pathlib
import random

models = sorted(file.stem for file in (pathlib.Path(__file__).parents[2] / "scenarios/models").glob("*.yaml"))
keys = {
    "model": ("--model", models),
    "engine.release": ("--engine", ["vllm-2026-06", "vllm-0.33", "sglang-0.5.23", "jenga", "compact-slots",
                                    "tensorrt-llm", "llama.cpp"]),
    "engine.strategy": ("--set", ["", "", "", "packed_attention", "dual_pool", "small_pages"]),
    "engine.memory": ("--memory", ["6GiB", "20GiB", "12.85 GiB", "40GB", "42949672960", "200G"]),
    "limits.max_model_len": ("--max-model-len", ["4k", "32768", "1.5k", "128k"]),
    "engine.tensor_parallel": ("--tp", ["", "1", "2", "4"]),
    "engine.attention_pack_size": ("--pack", ["", "1", "2", "3", "5"]),
    "engine.cache_mode": ("--mode", ["", "none", "align", "all"]),
    "engine.kv_dtype": ("--kv-dtype", ["", "fp8", "bf16", "int8_per_token_head"]),
    "engine.ssm_dtype": ("--ssm-dtype", ["", "fp32", "bf16"]),
    "engine.speculative_tokens": ("--set", ["", "", "", "1", "3"]),
    "engine.cache_order": ("--set", ["", "", "", "LBNHC", "BLHNC"]),
    "engine.block_size_tokens": ("--set", ["", "", "64", "256"]),
}


def questions(seed):
    """Endless: (values, flags)."""
    dice = random.Random(seed)
    while True:
        values = {key: dice.choice(choices) for key, (_, choices) in keys.items()}
        values = {key: value for key, value in values.items() if value}
        yield values, [word for key, value in values.items()
                       for word in (keys[key][0], f"{key}={value}" if keys[key][0] == "--set" else value)]
