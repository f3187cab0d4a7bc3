"""Drives the scheduler and the block manager of an installed vLLM with the recorder on, without a GPU: several requests
in flight that decode, some with drafts of which some are accepted.

    hybridkv conform vllm-0.33 --python PYTHON --models Qwen3.5-4B --record cases.jsonl
    PYTHON drive.py FOLDER < cases.jsonl

For every case that the engine takes, FOLDER/ID.jsonl is a recording for `hybridkv audit`. The environment has hybridkv,
or the folder of its recorders on PYTHONPATH.
"""

import logging
import os
import pathlib
import random
import sys

conform = pathlib.Path(__file__).resolve().parents[1] / "conform"
sys.path[:0] = [str(conform), str(conform.parents[1] / "conform")]
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
logging.disable(logging.WARNING)

from driving import drive_all, prompts_of  # noqa: E402
from hybridkv.recorders import vllm as recorder  # noqa: E402
from planning import planned  # noqa: E402
from replaying import NoGrammar  # noqa: E402
from vllm.sampling_params import SamplingParams  # noqa: E402
from vllm.utils.hashing import get_hash_fn_by_name  # noqa: E402
from vllm.v1.core.kv_cache_utils import (  # noqa: E402
    generate_scheduler_kv_cache_config,
    get_request_block_hasher,
    init_none_hash,
    resolve_kv_cache_block_sizes,
)
from vllm.v1.core.sched.scheduler import Scheduler  # noqa: E402
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput  # noqa: E402
from vllm.v1.request import Request, RequestStatus  # noqa: E402

IN_FLIGHT, ANSWER, REQUESTS, MOST_STEPS = 4, 24, 24, 4000


class AllowsAll(NoGrammar):
    """Nor have drafts."""

    def validate_tokens(self, _, tokens):
        return tokens


def model_output(dice, scheduler, step):
    """What a model would answer: one token where all that is known was computed, more where drafts were right."""
    names, sampled, drafted = [], [], []
    for name in step.num_scheduled_tokens:
        request = scheduler.requests[name]
        drafts = step.scheduled_spec_decode_tokens.get(name, [])
        is_last = request.num_computed_tokens >= request.num_tokens
        right = drafts[: dice.randint(0, len(drafts))]
        names.append(name)
        sampled.append(right + [dice.randrange(1000)] if is_last else [])
        drafted.append([dice.randrange(1000) for _ in range(scheduler.num_spec_tokens)] if is_last else [])
    output = ModelRunnerOutput(
        req_ids=names, req_id_to_index={name: i for i, name in enumerate(names)}, sampled_token_ids=sampled
    )
    return output, DraftTokenIds(names, drafted)


def scheduler_of(config, caches, retention=0):
    """A scheduler of such a cache, what hashes its prompts, and tokens of a block and of a unit that is found."""
    shared = generate_scheduler_kv_cache_config([caches])
    shared.prefix_cache_retention_interval = retention
    block, unit = resolve_kv_cache_block_sizes(shared, config)
    config.cache_config.num_gpu_blocks = shared.num_blocks
    hash_function = get_hash_fn_by_name("sha256")
    init_none_hash(hash_function)
    ahead = config.num_hash_lookahead_tokens
    hasher = get_request_block_hasher(unit, hash_function, *([ahead] if ahead else []))
    scheduler = Scheduler(config, shared, AllowsAll(), block_size=block, hash_block_size=unit)
    return scheduler, hasher, (block, unit)


def asked(name, prompt, answer, hasher):
    return Request(name, prompt, SamplingParams(max_tokens=answer, ignore_eos=True), None, block_hasher=hasher)


def alone(scheduler, name, prompt, hasher):
    """Runs one prompt to its end; what it hit."""
    scheduler.add_request(asked(name, prompt, 1, hasher))
    hit = -1
    while name in scheduler.requests:
        step = scheduler.schedule()
        hit = step.scheduled_new_reqs[0].num_computed_tokens if step.scheduled_new_reqs else hit
        scheduler.update_from_output(step, model_output(random.Random(0), scheduler, step)[0])
    return hit


def step_through(dice, scheduler, transfers=lambda step: None):
    """A step with what a model would answer, and with the transfers of a connector; whether anything was computed."""
    step = scheduler.schedule()
    output, drafts = model_output(dice, scheduler, step)
    output.kv_connector_output = transfers(step)
    scheduler.update_from_output(step, output)
    if scheduler.num_spec_tokens:
        scheduler.update_draft_token_ids(drafts)
    return bool(step.num_scheduled_tokens)


def abort_all(scheduler):
    for name in list(scheduler.requests):
        scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)


def drive(request, path):
    """Steps that were made; 0: prompts of this case never run."""
    dice = random.Random(request["id"])
    if request["engine"]["speculative_tokens"]:
        request["engine"]["concurrent_batches"] = 1  # what was accepted has to be known
    config, _, caches, _ = planned(request)
    sizes = [group.kv_cache_spec.block_size for group in caches.kv_cache_groups]
    longest = min(6 * max(sizes), config.model_config.max_model_len - ANSWER - 1)
    if request["id"] % 2:  # a pool that is short: requests are preempted, and blocks go from one to another
        states = [hasattr(group.kv_cache_spec, "mamba_type") for group in caches.kv_cache_groups]
        few = sum(4 + request["engine"]["speculative_tokens"] if state else -(-(longest + ANSWER) // size) + 1
                  for state, size in zip(states, sizes))
        caches.num_blocks = min(caches.num_blocks, few * 5 // 4)
    with recorder.record(path):
        scheduler, hasher, _ = scheduler_of(config, caches)
        waiting = [
            asked(str(number), prompt, dice.randint(1, ANSWER), hasher)
            for number, prompt in enumerate(prompts_of(dice, longest, REQUESTS))
        ]
        steps = idle = 0
        while (waiting or scheduler.requests) and steps < MOST_STEPS and idle < 3:
            while waiting and len(scheduler.requests) < IN_FLIGHT:
                scheduler.add_request(waiting.pop(0))
            steps += 1
            idle = 0 if step_through(dice, scheduler) else idle + 1
        abort_all(scheduler)
    return steps


if __name__ == "__main__":
    drive_all(sys.argv[1], drive)
