"""Drives the scheduler of an installed vLLM with its offloading connector and the recorder on, without a GPU: what is
evicted comes back from the host's memory. The connector's both sides are the engine's own; in the place of the copies
stands a worker that takes a random number of steps for each.

    hybridkv conform vllm-0.33 --python PYTHON --models Qwen3.5-4B --record cases.jsonl
    PYTHON drive_offload.py FOLDER [FAULT] < cases.jsonl

FAULT is one of those below: the engine is broken so that the recordings are wrong. Environment as for drive.py.
"""

import random
import sys

from drive import MOST_STEPS, abort_all, asked, planned, recorder, scheduler_of, step_through
from driving import drive_all, next_turn, prompt_like
from offload_faults import FAULTS
from vllm.config.kv_transfer import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.v1 import KVConnectorRole
from vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector import OffloadingConnector
from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult
from vllm.v1.outputs import KVConnectorOutput

IN_FLIGHT, ANSWER, REQUESTS, SLOWEST, TURN = 4, 24, 80, 4, 600


class SlowWorker(OffloadingWorker):
    """Copies nothing, and says after some steps that it has."""

    def __init__(self, dice):
        self.dice, self.jobs = dice, {}

    def submit_store(self, job_id, src_spec, dst_spec):
        self.jobs[job_id] = self.dice.randint(0, SLOWEST)
        return True

    def submit_load(self, job_id, src_spec, dst_spec, expedited=False):
        return self.submit_store(job_id, src_spec, dst_spec)

    def get_finished(self):
        done = [job for job, steps in self.jobs.items() if steps <= 0]
        self.jobs = {job: steps - 1 for job, steps in self.jobs.items() if steps > 0}
        return [TransferResult(job, True) for job in done]

    def wait(self, job_ids):
        self.jobs |= {job: 0 for job in job_ids if job in self.jobs}


def with_offload(config, caches, blocks_per_chunk):
    """The configuration with the connector, whose memory has room for four times the blocks of the device."""
    # What it asks of one worker, besides what is planned with.
    config.parallel_config.__dict__.update(rank=0, world_size=1, nnodes_within_dp=1, distributed_executor_backend=None,
                                           data_parallel_rank_local=0)
    config.model_config.model = "conform"
    config.model_config.get_total_num_kv_heads = lambda: config.model_config.get_num_kv_heads(config.parallel_config)
    block = caches.kv_cache_tensors[0].size // caches.num_blocks
    config.kv_transfer_config = KVTransferConfig(
        kv_connector="OffloadingConnector", kv_role="kv_both",
        kv_connector_extra_config={"cpu_bytes_to_use": 4 * caches.num_blocks * (block + 4096) * blocks_per_chunk,
                                   "blocks_per_chunk": blocks_per_chunk})


def worker_of(scheduler, dice):
    """The connector's side in a worker."""
    connector = OffloadingConnector(scheduler.vllm_config, KVConnectorRole.WORKER, scheduler.kv_cache_config)
    connector.connector_worker.worker = SlowWorker(dice)
    return connector


def transferred(worker, step):
    """What a step of a worker makes of the connector's part of it, in the order of its model's runner."""
    worker.handle_preemptions(step.kv_connector_metadata)
    worker.bind_connector_metadata(step.kv_connector_metadata)
    worker.start_load_kv(None)
    worker.wait_for_save()
    sent, received = worker.get_finished(step.finished_req_ids)
    told = worker.build_connector_worker_meta()
    worker.clear_connector_metadata()
    return KVConnectorOutput(sent, received, kv_connector_worker_meta=told)


def few_blocks(caches, longest):
    """Of a pool that has room for two of the longest requests."""
    sizes = [(group.kv_cache_spec.block_size, hasattr(group.kv_cache_spec, "mamba_type"))
             for group in caches.kv_cache_groups]
    return 2 * sum(4 if is_state else -(-(longest + ANSWER) // size) + 1 for size, is_state in sizes)


def prompt_of(dice, prompts, longest):
    """The next prompt: like another one, or behind the whole of another one."""
    turns = [prompt for prompt in prompts if len(prompt) + TURN < longest]
    if not turns or dice.random() < 0.3:
        return prompt_like(dice, prompts, len(prompts) + 1, longest)
    return next_turn(dice, turns, len(prompts) + 1, TURN)


def drive(request, path):
    """Steps that were made."""
    dice = random.Random(request["id"])
    request["engine"]["concurrent_batches"] = 1
    config, _, caches, _ = planned(request)
    longest = min(6 * max(group.kv_cache_spec.block_size for group in caches.kv_cache_groups),
                  config.model_config.max_model_len - ANSWER - 1)
    block = caches.kv_cache_tensors[0].size // caches.num_blocks
    caches.num_blocks = min(caches.num_blocks, few_blocks(caches, longest))
    for tensor in caches.kv_cache_tensors:
        tensor.size = caches.num_blocks * block
    with_offload(config, caches, 1 + request["id"] % 2)
    with recorder.record(path):
        scheduler, hasher, _ = scheduler_of(config, caches)
        worker = worker_of(scheduler, dice)
        prompts, steps, idle = [], 0, 0
        while (len(prompts) < REQUESTS or scheduler.requests) and steps < MOST_STEPS and idle < 3 * SLOWEST:
            while len(prompts) < REQUESTS and len(scheduler.requests) < IN_FLIGHT:
                prompts.append(prompt_of(dice, prompts, longest))
                scheduler.add_request(asked(str(len(prompts)), prompts[-1], dice.randint(1, ANSWER), hasher))
            steps += 1
            idle = 0 if step_through(dice, scheduler, lambda step: transferred(worker, step)) else idle + 1
        abort_all(scheduler)
    return steps


if __name__ == "__main__":
    for name in sys.argv[2:]:
        FAULTS[name]()
    drive_all(sys.argv[1], drive)
