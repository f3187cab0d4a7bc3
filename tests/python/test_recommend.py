"""recommend says what the command line says, its commands too, and refuses what it does not take."""

import json
import os
import shlex
import subprocess

import hybridkv
import pytest
from conftest import ROOT

KEYS = dict(model="Qwen3.5-4B", memory="8GiB", max_model_len=32768, cache_mode="align")
FLAGS = ["--model", "Qwen3.5-4B", "--memory", "8GiB", "--max-model-len", "32768", "--mode", "align"]
FEW = dict(packs=[1, 2], modes=["align"])
FEW_FLAGS = ["--packs", "1,2", "--modes", "align"]
TRACE = "docs/samples/trace.jsonl"
CONFIG = "docs/samples/sample-hybrid/config.json"

QUESTIONS = {
    "keywords": ([*FLAGS, "--requests", "100", *FEW_FLAGS], None, dict(KEYS, max_requests=100, **FEW)),
    "a shipped scenario": (["qwen3.5-397b", "--requests", "60", *FEW_FLAGS], "qwen3.5-397b",
                           dict(max_requests=60, **FEW)),
    "a trace, a seed and costs": (
        [*FLAGS, "--trace", TRACE, "--driver", "closed-loop", "--in-flight", "4", "--decode-seconds", "0.03",
         *FEW_FLAGS], None,
        dict(KEYS, trace=TRACE, driver="closed-loop", in_flight=4, per_decode_step=0.03, **FEW)),
    "--set": ([*FLAGS, "--ssm-dtype", "fp32", "--set", "simulate.max_num_seqs=64", "--tp", "2",
               "--requests", "50", "--seed", "7", *FEW_FLAGS], None,
              {**KEYS, "max_num_seqs": 64, "tensor_parallel": 2, "simulate.trace.synthetic.seed": 7,
               "max_requests": 50, **FEW, "ssm_dtype": "fp32"}),
    "limits": ([*FLAGS, "--requests", "50", *FEW_FLAGS, "--at-length", "8192", "--min-concurrency", "2",
                "--kernel-blocks", "16,32", "--min-kernel-block", "32"], None,
               dict(KEYS, max_requests=50, at_length=8192, min_concurrency=2, kernel_blocks=[16, 32],
                    min_kernel_block=32, **FEW)),
    "several lengths": ([*FLAGS[:4], "--max-model-len", "8192,32768", "--give-up", "20", "--requests", "50",
                         *FEW_FLAGS], None,
                        {**KEYS, "cache_mode": None, "max_model_len": [8192, 32768], "give_up_percent": 20,
                         "max_requests": 50, **FEW}),
    "the space": ([*FLAGS, "--requests", "50", *FEW_FLAGS, "--block-sizes", "0,256", "--match-units", "block,16",
                   "--retention", "last,all", "--search", "exhaustive"], None,
                  dict(KEYS, max_requests=50, block_sizes=[0, 256], match_units=[0, 16], retentions=[0, None],
                       search="exhaustive", **FEW)),
    "prompts of one length": ([*FLAGS, "--prompt-tokens", "3000", "--shared-prefix-tokens", "1500", "--requests", "40",
                               *FEW_FLAGS], None,
                              dict(KEYS, prompt_tokens=3000, shared_prefix_tokens=1500, max_requests=40, **FEW)),
    "one prompt": ([*FLAGS, "--prompt-tokens", "370", *FEW_FLAGS], None, dict(KEYS, prompt_tokens=370, **FEW)),
    "a radix tree": (["qwen3.5-397b", "--engine", "sglang-0.5.23", "--requests", "60", "--strategies",
                      "no_buffer,extra_buffer", "--ratios", "0.5,0.9", "--page-sizes", "1"], "qwen3.5-397b",
                     dict(engine="sglang-0.5.23", max_requests=60, strategies=["no_buffer", "extra_buffer"],
                          ratios=[0.5, 0.9], page_sizes=1)),
    "a config": (["--model", CONFIG, "--memory", "20GiB", "--max-model-len", "4096", "--requests", "40",
                  "--packs", "1", "--modes", "align"], None,
                 dict(model=CONFIG, memory="20GiB", max_model_len=4096, max_requests=40, packs=1, modes="align")),
}


@pytest.mark.filterwarnings("ignore::hybridkv.AssumptionWarning")
@pytest.mark.parametrize("name", QUESTIONS)
def test_says_what_the_program_says(program, monkeypatch, name):
    monkeypatch.chdir(ROOT)
    flags, scenario, keys = QUESTIONS[name]
    made = hybridkv.recommend(scenario, **keys)
    said = program("recommend", *flags)
    assert made.to_dict() == said
    assert made.commands and all(command.startswith("hybridkv ") for command in made.commands)


def test_memory_of_the_host_is_left_out_and_said_to_be():
    keys = dict(KEYS, max_requests=40, **FEW)
    left_out = "simulate.host_memory is left out: settings are weighed by the pools alone"
    with pytest.warns(hybridkv.AssumptionWarning, match=left_out):
        made = hybridkv.recommend(host_memory="1GiB", **keys)
    assert made.candidates == hybridkv.recommend(**keys).candidates


def run_command(command):
    program = os.environ["HYBRIDKV_PROGRAM"]
    done = subprocess.run([program, *shlex.split(command)[1:], "--format", "json"], capture_output=True, text=True,
                          cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.filterwarnings("ignore::hybridkv.AssumptionWarning")
@pytest.mark.parametrize("scenario", [
    {"model": "Qwen3.5-4B", "engine": {"memory": "8GiB", "kernel_block_sizes": [16, 32]},
     "limits": {"max_model_len": [4096, 32768]}, "simulate": {"trace": {"file": TRACE}}},
    {"model": json.loads((ROOT / CONFIG).read_text()), "engine": {"memory": "20GiB"},
     "limits": {"max_model_len": 4096}, "simulate": {"trace": {"prompts": [{"tokens": 900, "copies": 20}]}}},
], ids=["keys", "config"])
def test_commands_of_mappings_repeat_the_numbers(program, monkeypatch, scenario):
    monkeypatch.chdir(ROOT)
    made = hybridkv.recommend(scenario, **FEW, max_requests=40)
    pick = made.candidates[made.pick]
    plan = run_command(made.commands[0])["plans"][0]
    assert (pick.num_blocks, pick.page_bytes) == (plan["num_blocks"], plan["page_bytes"])
    cache = run_command(made.commands[1])["caches"][0]
    assert (pick.hit_tokens, pick.evictions) == (cache["hit_tokens"], cache["evictions"])


def test_packs_are_those_of_the_keyword():
    wanted = hybridkv.recommend(**KEYS, max_requests=50, **FEW)
    keys = dict(KEYS, max_requests=50, modes="align")
    assert hybridkv.recommend(**keys, attention_pack_size=[1, 2]) == wanted
    assert {each.attention_pack_size for each in wanted.candidates} == {1, 2}


def test_checkpoints(program):
    flags = [*FLAGS, "--pack", "1", "--trace", TRACE, "--checkpoints"]
    keys = dict(KEYS, attention_pack_size=1, trace=ROOT / TRACE, checkpoints=True)
    made = hybridkv.recommend(**keys)
    assert made.to_dict() == program("recommend", *flags) and isinstance(made, hybridkv.Checkpoints)
    made = hybridkv.recommend(**keys, retentions=[None, 0, 1728])
    assert made.to_dict() == program("recommend", *flags, "--retention", "all,last,1728")


@pytest.mark.parametrize("keys, field, remedy", [
    (dict(cache_mode="none"), "engine.cache_mode", "take align"),
    (dict(engine="sglang-0.5.23"), "engine.release", "leave checkpoints out"),
])
def test_checkpoints_that_nobody_keeps(keys, field, remedy):
    with pytest.raises(hybridkv.InputError) as caught:
        hybridkv.recommend(**{**KEYS, **keys}, checkpoints=True)
    error = caught.value
    assert (error.field, error.value) == (field, *keys.values())
    assert error.remedy.startswith(remedy) and error.place


@pytest.mark.parametrize("name, value, problem, remedy", [
    ("at_length", 0, "0 is too small", "allowed: whole numbers from 1"),
    ("at_length", -3, "-3 is too small", "allowed: whole numbers from 0"),
    ("at_length", 0.5, "0.5 is no whole number", "allowed: whole numbers from 0"),
    ("at_length", 1 << 70, "is too large", "allowed: up to 9223372036854775807"),
    ("min_concurrency", float("inf"), "is no number of requests", "allowed: more than 0"),
    ("min_concurrency", "many", "'many' is no number", "give one like 0.9"),
    ("give_up_percent", 101, "no share of the default's concurrency", "allowed: 0 to 100"),
    ("packs", [1, 2.5], "2.5 is no whole number", "allowed: whole numbers from 0"),
    ("packs", [True], "True is no whole number", "allowed: whole numbers from 0"),
    ("block_sizes", [-1], "-1 is too small", "allowed: whole numbers from 0"),
    ("modes", ["alin"], "'alin' is none", "allowed: none, align, all; did you mean 'align'?"),
    ("search", "whole", "'whole' is none", "allowed: "),
    ("prompt_tokens", 0, "must be at least 1", None),
    ("shared_prefix_tokens", 5, "needs the length of the prompts", None),
])
def test_wrong_arguments(name, value, problem, remedy):
    with pytest.raises(hybridkv.InputError) as caught:
        hybridkv.recommend(**{**KEYS, "max_requests": 20, name: value})
    error = caught.value
    assert (error.field, problem in str(error)) == (name, True), str(error)
    assert error.place.startswith(f"{name}=")
    assert error.value in (value, value[-1] if isinstance(value, list) else value)
    assert error.remedy is None if remedy is None else error.remedy.startswith(remedy)


def test_what_contradicts_itself():
    with pytest.raises(hybridkv.InputError, match="packs: SGLang 0.5.23 has no such settings to search; its space is modes none,align, "):
        hybridkv.recommend(**KEYS, engine="sglang-0.5.23", packs=[1, 2])
    with pytest.raises(hybridkv.InputError,
                       match="ratios: vLLM 0.33.0 has no .* its space is packs, block_sizes, modes none,align, "):
        hybridkv.recommend(**KEYS, ratios=[0.5])
    with pytest.raises(hybridkv.InputError, match="give one of the two") as caught:
        hybridkv.recommend(**KEYS, trace=ROOT / TRACE, prompt_tokens=300)
    assert caught.value.field == "trace"
    with pytest.raises(hybridkv.InputError, match="0 to the 300 of the prompts"):
        hybridkv.recommend(**KEYS, prompt_tokens=300, shared_prefix_tokens=301)
    with pytest.raises(hybridkv.InputError, match="called so"):
        hybridkv.recommend(**KEYS, packz=[1])
