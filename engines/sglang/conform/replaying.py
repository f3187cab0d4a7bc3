"""What SGLang's tree and pools make of prompts that come one after the other, each step in its scheduler's order."""

from array import array

import torch
from protocol import where
from prompts import CONTENT, tokens_of
from sglang.srt.configs.mamba_utils import Mamba2CacheParams, Mamba2StateShape
from sglang.srt.managers.schedule_batch import Req, ScheduleBatch
from sglang.srt.managers.schedule_policy import PrefillAdder
from sglang.srt.mem_cache.allocator import PagedTokenToKVPoolAllocator, TokenToKVPoolAllocator
from sglang.srt.mem_cache.cache_init_params import CacheInitParams
from sglang.srt.mem_cache.common import checkpoint_kv_cache, release_kv_cache
from sglang.srt.mem_cache.memory_pool import HybridReqToTokenPool
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
from sglang.srt.runtime_context import get_exec, get_schedule
from sglang.srt.sampling.sampling_params import SamplingParams

STUBS = [
    "the tensors of the pools under the tree: states of one element, and no K and V; slots are handed out without them",
    "the loop of the scheduler: one request at a time, by its own calls in its own order, without a forward",
]

# The functions of the engine that give the figures.
MADE_BY = {
    "replay.dies": UnifiedRadixCache.checkpoint_into_tree,
    "replay.hit_tokens": UnifiedRadixCache.match_prefix,
    "replay.branch_tokens": UnifiedRadixCache.match_prefix,
    "replay.chunks": PrefillAdder.add_one_req,
    "replay.evicted_tokens": UnifiedRadixCache.evict_for_alloc,
    "replay.evicted_states": UnifiedRadixCache.evict_for_alloc,
    "replay.tree_tokens": UnifiedRadixCache.checkpoint_into_tree,
    "replay.tree_states": UnifiedRadixCache.checkpoint_into_tree,
    "replay.free_tokens": release_kv_cache,
    "replay.free_states": release_kv_cache,
}


class CountedCache(UnifiedRadixCache):
    """The engine's tree, which is asked what it evicts."""

    evicted_tokens = evicted_states = 0

    def evict_for_alloc(self, params, **how):
        evicted = super().evict_for_alloc(params, **how)
        self.evicted_tokens += evicted.num_tokens_evicted
        self.evicted_states += evicted.mamba_num_evicted
        return evicted


class Replay:
    """The tree over pools of the sizes that the engine split the memory into."""

    is_disabled = False  # nothing is found again

    def __init__(self, model, config, algorithm):
        self.model, self.algorithm = model, algorithm
        self.page, self.overlap = get_schedule().page_size, not get_schedule().disable_overlap_schedule
        self.rows = self.make_rows()
        self.tokens = self.make_tokens(config.max_total_num_tokens)
        self.params = CacheInitParams(
            disable=self.is_disabled,
            req_to_token_pool=self.rows,
            token_to_kv_pool_allocator=self.tokens,
            page_size=self.page,
            is_eagle=algorithm.is_eagle(),
            enable_mamba_extra_buffer=get_exec().mamba.enable_mamba_extra_buffer,
            enable_mamba_extra_buffer_lazy=get_exec().mamba.enable_mamba_extra_buffer_lazy,
            chunked_prefill_size=get_schedule().chunked_prefill_size,
            tree_components=(ComponentType.FULL, ComponentType.MAMBA),
        )
        self.cache = CountedCache(self.params)

    def make_rows(self):
        """Rows of requests, of which one runs at a time, and the state slots."""
        one = Mamba2StateShape.create(
            tp_world_size=1, intermediate_size=1, n_groups=1, num_heads=1, head_dim=1, state_size=1, conv_kernel=2
        )
        return HybridReqToTokenPool(
            size=1,
            mamba_size=get_schedule().max_mamba_cache_size,
            mamba_spec_state_size=1,
            max_context_len=self.model.context_len,
            device="cpu",
            enable_memory_saver=False,
            cache_params=Mamba2CacheParams(shape=one, layers=[0]),
            mamba_layer_ids=[0],
            enable_mamba_extra_buffer=get_exec().mamba.enable_mamba_extra_buffer,
            enable_mamba_extra_buffer_lazy=get_exec().mamba.enable_mamba_extra_buffer_lazy,
            enable_overlap_schedule=self.overlap,
        )

    def make_tokens(self, slots):
        kind, paged = TokenToKVPoolAllocator, {}
        if self.page > 1:
            kind, paged = PagedTokenToKVPoolAllocator, {"page_size": self.page}
        return kind(slots, dtype=torch.bfloat16, device="cpu", kvcache=None, need_sort=False, **paged)

    def run(self, name, tokens):
        """The figures of one prompt, which generates one token; it hits -1 where it never runs."""
        evicted = self.cache.evicted_tokens, self.cache.evicted_states
        request = Req(name, "", array("q", tokens), SamplingParams(max_new_tokens=1, ignore_eos=True))
        request.sampling_params.normalize(None)
        hit, chunks = -1, []
        if self.admit(request):
            hit = request.prefix_len
            chunks = self.prefill(request)
            self.finish(request)
        tree_tokens, tree_states = self.cache.total_size()
        return {
            "dies": False,
            "hit_tokens": hit,
            "branch_tokens": request.mamba_branching_seqlen or 0,
            "chunks": chunks,
            "evicted_tokens": self.cache.evicted_tokens - evicted[0],
            "evicted_states": self.cache.evicted_states - evicted[1],
            "tree_tokens": tree_tokens,
            "tree_states": tree_states,
            "free_tokens": self.tokens.available_size(),
            "free_states": self.rows.mamba_allocator.available_size(),
        }

    def adder(self):
        return PrefillAdder(
            self.page,
            self.cache,
            self.tokens,
            None,
            1.0,
            get_schedule().max_prefill_tokens,
            get_schedule().chunked_prefill_size,
        )

    def admit(self, request):
        """Does the request find room? Its first chunk is then chosen."""
        slots = self.rows.mamba_allocator
        slots.alloc_group_begin(1)
        request.init_next_round_input(self.cache)
        adder = self.adder()
        adder.add_one_req(request, has_chunked_req=False, truncation_align_size=None)
        is_admitted = bool(adder.can_run_list)
        if not is_admitted and request.kv.holds_mamba:
            slots.free(request.kv.mamba_pool_idx.unsqueeze(-1))
        slots.alloc_group_end()
        self.chunked = adder.new_chunked_req
        return is_admitted

    def prefill(self, request):
        """Tokens of every chunk."""
        chunks = []
        while True:
            chunks.append(request.extend_len)
            batch = ScheduleBatch.init_new(
                [request],
                self.rows,
                self.tokens,
                self.cache,
                self.model,
                self.overlap,
                self.algorithm,
                chunked_req=self.chunked,
            )
            batch.prepare_for_extend()
            if self.chunked is None:
                return chunks
            checkpoint_kv_cache(request, self.cache)
            request.init_next_round_input()
            self.chunked = self.adder().add_chunked_req(request)

    def finish(self, request):
        request.output_ids.append(CONTENT - 1 - int(request.rid))
        request.update_finish_state()
        self.tokens.free_group_begin()
        release_kv_cache(request, self.cache, checkpoint=True)
        self.tokens.free_group_end()


def replay(model, config, algorithm, prompts):
    """The figures of every prompt, up to one that the engine dies of, and what it says then."""
    tree = Replay(model, config, algorithm)
    runs = []
    for number, prompt in enumerate(prompts):
        try:
            runs.append(tree.run(str(number), tokens_of(prompt)))
        except (AssertionError, RuntimeError) as error:
            return [*runs, {"dies": True}], {"replay.dies": f"{error} ({where(error)})"}
    return runs, {}
