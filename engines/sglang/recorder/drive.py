"""Drives the scheduler, the tree and the pools of an installed SGLang with the recorder on, without a GPU: several
requests in flight that decode, and prompts that begin like earlier ones.

    hybridkv conform sglang-0.5.23 --python PYTHON --models Qwen3.5-4B --record cases.jsonl
    PYTHON drive.py FOLDER [FAULT] < cases.jsonl

For every case that the engine takes, FOLDER/ID.jsonl is a recording for `hybridkv audit`. FAULT is one of faults.py:
the engine is broken so that the recordings are wrong. The environment is that of requirements.txt beside, and has
hybridkv, or the folder of its recorders on PYTHONPATH.
"""

import logging
import pathlib
import random
import sys
import warnings

conform = pathlib.Path(__file__).resolve().parents[1] / "conform"
sys.path[:0] = [str(conform), str(conform.parents[1] / "conform")]
warnings.simplefilter("ignore")

import sglang  # noqa: E402, F401
import torch  # noqa: E402
from driving import drive_all, next_turn, prompt_like  # noqa: E402
from hybridkv.recorders import sglang as recorder  # noqa: E402
from models import TextModel  # noqa: E402
from pools import configurator_of, settings_of, split  # noqa: E402
from sglang.srt.runtime_context import get_parallel  # noqa: E402

from faults import FAULTS  # noqa: E402
from loop import Loop, Parts, retracts, without_device  # noqa: E402

logging.disable(logging.CRITICAL)
IN_FLIGHT, ANSWER, REQUESTS, MOST_STEPS, LONGEST, CHUNK, TURN = 4, 300, 24, 20000, 3000, 1024, 400

if not torch.cuda.is_available():
    without_device()


def shortened(request):
    """The case with chunks that a prompt has several of; every other one in pools that are short."""
    engine, own = request["engine"], request["engine"]["own"]
    engine["max_num_batched_tokens"] = min(engine["max_num_batched_tokens"], CHUNK)
    if own["mamba_radix_cache_strategy"] == "no_buffer":
        own["overlap_schedule"] = False  # the engine asks for it
    if request["id"] % 2:
        own["max_total_tokens"] = LONGEST + TURN + ANSWER + CHUNK
        own["max_mamba_cache_size"] = 5 * IN_FLIGHT
    return request


def prompt_of(dice, loop, prompts, content):
    """The next prompt: like another one, or the next turn of a conversation, behind its answer."""
    turns = [tokens for tokens in loop.finished if len(tokens) < LONGEST]
    if not turns or dice.random() < 0.5:
        return prompt_like(dice, prompts, content, LONGEST)
    return next_turn(dice, turns, content, TURN)


def drive(request, path):
    """Steps that were made."""
    dice = random.Random(request["id"])
    shortened(request)
    model = TextModel(request["model"], request["max_model_len"])
    with settings_of(request, model), get_parallel().override(pp_max_micro_batch_size=IN_FLIGHT):
        configurator = configurator_of(request, model)
        config = split(configurator, request["engine"]["memory_bytes"])
        rows = min(IN_FLIGHT, config.max_running_requests)
        with recorder.record(path):
            retracts(request["id"] % 4 == 3)
            has_tree = request["engine"]["cache_mode"] != "none"
            parts = Parts(model, config, configurator.spec_algorithm, rows, not has_tree)
            if has_tree and request["id"] % 6 == 1:
                parts.attach_host()
            loop = Loop(parts, dice)
            prompts, idle = [], 0
            while (len(prompts) < REQUESTS or loop.in_flight()) and loop.steps < MOST_STEPS and idle < 3:
                while len(prompts) < REQUESTS and loop.in_flight() < IN_FLIGHT + 2:
                    prompts.append(prompt_of(dice, loop, prompts, len(prompts) + 1))
                    loop.ask(str(len(prompts)), prompts[-1], dice.randint(1, ANSWER))
                idle = 0 if loop.step() else idle + 1
    return loop.steps


if __name__ == "__main__":
    for name in sys.argv[2:]:
        FAULTS[name]()
    drive_all(sys.argv[1], drive)
