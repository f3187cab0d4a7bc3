"""What vLLM's scheduler and block manager make of prompts that come one after the other."""

from prompts import CONTENT, tokens_of
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import (
    generate_scheduler_kv_cache_config,
    get_request_block_hasher,
    init_none_hash,
    resolve_kv_cache_block_sizes,
)
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus



class NoGrammar:
    """Answers of no prompt have to follow a grammar."""

    def accept_tokens(self, *_):
        return True


def replay(config, caches, prompts):
    """Hit and number of chunks of every prompt; -1 for one that never runs."""
    shared = generate_scheduler_kv_cache_config([caches])
    block, unit = resolve_kv_cache_block_sizes(shared, config)
    config.cache_config.num_gpu_blocks = caches.num_blocks
    hash_function = get_hash_fn_by_name("sha256")
    init_none_hash(hash_function)
    ahead = config.num_hash_lookahead_tokens
    hasher = get_request_block_hasher(unit, hash_function, *([ahead] if ahead else []))
    scheduler = Scheduler(config, shared, NoGrammar(), block_size=block, hash_block_size=unit)
    runs = [run_alone(scheduler, str(number), tokens_of(prompt), hasher) for number, prompt in enumerate(prompts)]
    return {"hits": [hit for hit, _ in runs], "chunks": [chunks for _, chunks in runs]}


def run_alone(scheduler, name, tokens, hasher):
    request = Request(name, tokens, SamplingParams(max_tokens=1, ignore_eos=True), None, block_hasher=hasher)
    scheduler.add_request(request)
    hit, chunks = -1, 0
    while name in scheduler.requests:
        step = scheduler.schedule()
        if not step.num_scheduled_tokens:
            scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
            return -1, -1
        if step.scheduled_new_reqs:
            hit = step.scheduled_new_reqs[0].num_computed_tokens
        chunks += 1
        is_last = request.num_computed_tokens >= request.num_tokens
        scheduler.update_from_output(
            step,
            ModelRunnerOutput(
                req_ids=[name], req_id_to_index={name: 0}, sampled_token_ids=[[CONTENT - 1 - int(name)]] if is_last else [[]]
            ),
        )
    return hit, chunks
