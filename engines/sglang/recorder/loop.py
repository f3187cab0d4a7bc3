"""The scheduler of an installed SGLang over its own tree and pools, without a GPU: it plans, allocates, evicts,
retracts and takes in results as in a server; of the forward pass only the copies of states are run, and a dice answers.
"""

from array import array

import torch
from replaying import Replay
from sglang.srt.configs.mamba_utils import Mamba2CacheParams, Mamba2StateShape
from sglang.srt.disaggregation.utils import DisaggregationMode
from sglang.srt.managers import scheduler
from sglang.srt.managers.schedule_batch import Req
from sglang.srt.managers.scheduler import Scheduler
from sglang.srt.managers.scheduler_components.batch_result_processor import SchedulerBatchResultProcessor
from sglang.srt.managers.utils import GenerationBatchResult
from sglang.srt.mem_cache import l2_transfer, pool_host
from sglang.srt.mem_cache.memory_pool import HybridLinearKVPool, HybridReqToTokenPool
from sglang.srt.model_executor.model_runner import ModelRunner
from sglang.srt.runtime_context import get_context, get_exec, get_schedule
from sglang.srt.sampling.sampling_params import SamplingParams


def retracts(does):
    """Does the scheduler take requests back every few steps, as in the engine's own tests?"""
    scheduler.TEST_RETRACT = does


class Nobody:
    """In the place of a part that only reports: what is asked of it is nothing, but for what is given."""

    def __init__(self, **given):
        self.__dict__.update(given)

    def __getattr__(self, _):
        return lambda *_, **__: None


class Done:
    """An event of the device that is over."""

    def __getattr__(self, _):
        return lambda *_, **__: True


def without_device():
    """There is none whose memory could be pinned, or that could copy: transfers to and from the host are through when
    they begin."""

    def submitted(*_, **__):
        return l2_transfer.TransferCompletion(Done(), Done(), False)

    torch.Tensor.pin_memory = lambda self, *_, **__: self
    pool_host.common._cuda_host_register = lambda *_: None
    l2_transfer.L2TransferEngine.submit_device_to_host = submitted
    l2_transfer.L2TransferEngine.submit_host_to_device = submitted


class Loop(Scheduler):
    """A scheduler that was made without its processes, its worker and its sockets.

    parts: a Replay, whose tree and pools it uses
    dice: that answers for the model
    """

    # What of its states has to do with parts that are not there.
    dllm_config = dynamic_chunk_sizer = min_free_slots_delayer = prefill_delayer = lora_drainer = None
    hisparse_coordinator = decode_offload_manager = truncation_align_size = scripted_scheduler_hook = None
    enable_hisparse = enable_lora = enable_hicache_storage = enable_lmcache = require_mlp_sync = False
    enable_unified_cache_external_linker = enable_priority_scheduling = is_hybrid_swa = enable_fpm = False
    schedule_policy, schedule_low_priority_values_first = "lpm", False
    disaggregation_mode, priority_scheduling_preemption_threshold = DisaggregationMode.NULL, 0
    processed_tokens_counter = prefill_decode_interval = _prefill_decode_interval_remaining = 0
    chunked_req = _pending_chunked_abort_req = None
    max_queued_requests = scheduler_stage_metrics = None
    is_mixed_chunk = False

    def __init__(self, parts, dice):
        self.dice, self.model_config, self.spec_algorithm = dice, parts.model, parts.algorithm
        self.tree_cache, self.req_to_token_pool = parts.cache, parts.rows
        self.token_to_kv_pool_allocator, self.page_size = parts.tokens, parts.page
        self.max_prefill_tokens, self.enable_overlap = get_schedule().max_prefill_tokens, parts.overlap
        self.max_running_requests, self.device = parts.rows.size, "cpu"
        self.enable_hierarchical_cache = parts.cache.cache_controller is not None
        self.grammar_manager = Nobody(has_waiting_grammars=lambda: False)
        self.beam_coordinator = Nobody(pending_member_rows=lambda _: 0, commit_decode=lambda _: set())
        self.dp_attn_adapter = Nobody(maybe_prepare_mlp_sync_batch=lambda batch, **_: batch,
                                      maybe_convert_decode_to_extend=lambda batch: batch)
        self.ngram_embedding_manager = Nobody(prepare_for_forward=lambda batch, **_: batch)
        runner = Nobody(attn_backend=Nobody(extend_attention_block_m=64), prefill_aware_swa=False)
        self.tp_worker = Nobody(model_runner=runner)
        self.load_inquirer = Nobody(_get_num_pending_tokens=lambda **_: 0)
        self.metrics_reporter = Nobody(num_generated_tokens=0, forward_ct_decode=0, enable_metrics=False)
        self.init_running_status()
        self.chunked_prefill_size = get_schedule().chunked_prefill_size
        self.init_schedule_policy()
        self.batch_result_processor = SchedulerBatchResultProcessor(
            is_generation=True, disaggregation_mode=self.disaggregation_mode, enable_overlap=self.enable_overlap,
            enable_overlap_mlx=False, model_config=self.model_config,
            token_to_kv_pool_allocator=self.token_to_kv_pool_allocator, tree_cache=self.tree_cache,
            hisparse_coordinator=None, req_to_token_pool=self.req_to_token_pool, decode_offload_manager=None,
            metrics_collector=Nobody(), metrics_reporter=self.metrics_reporter, draft_worker=None,
            model_worker=None, logprob_result_processor=Nobody(), output_streamer=Nobody(),
            beam_coordinator=self.beam_coordinator, abort_request=None)
        self.model_config.self_opened_think_start_ids = self.model_config.think_end_ids = None
        self.steps = 0
        self.finished = []  # prompts with their answers

    def ask(self, name, tokens, answer):
        """A request comes in."""
        request = Req(name, "", array("q", tokens), SamplingParams(max_new_tokens=answer, ignore_eos=True))
        request.sampling_params.normalize(None)
        self._add_request_to_queue(request)

    def in_flight(self):
        """Requests that wait or run."""
        chunked = self.chunked_req is not None
        return len(self.waiting_queue) + self.running_batch.batch_size() + chunked + len(self.result_queue)

    def forward(self, batch):
        """What the worker does to states before the first layer, and the dice's answer."""
        runner = Nobody(req_to_token_pool=self.req_to_token_pool, is_draft_worker=False)
        ModelRunner._maybe_execute_deferred_mamba_cow_and_clear(runner, Nobody(
            forward_mode=batch.forward_mode, mamba_clear_indices=batch.mamba_clear_indices,
            mamba_cow_src_indices=batch.mamba_cow_src_indices, mamba_cow_dst_indices=batch.mamba_cow_dst_indices))
        answers = torch.tensor([self.dice.randrange(1000) for _ in batch.reqs], dtype=torch.int64)
        batch.input_ids = answers
        return GenerationBatchResult(next_token_ids=answers)

    def step(self):
        """One round of its loop; False where nothing was to be done."""
        plan = self.get_next_batch_to_run(running_batch=self.running_batch, last_batch=self.last_batch)
        self.running_batch, batch = plan.running_batch, plan.batch_to_run
        if batch:
            self.steps = self.forward_ct = self.steps + 1
            result = self.forward(batch)
            self.result_queue.append((batch.copy() if self.enable_overlap else batch, result))
        # With the overlap a result is taken in when the next step is under way.
        if self.result_queue and (not self.enable_overlap or self.last_batch):
            done, result = self.result_queue.popleft()
            processor = self.batch_result_processor
            if done.forward_mode.is_decode():
                processor.process_batch_result_decode(done, result)
            else:
                processor.process_batch_result_prefill(done, result)
            self.tree_cache.flush_pending_backups()
            self.finished += [[*of.origin_input_ids, *of.output_ids] for of in done.reqs if of.finished()]
        self.last_batch = batch
        return batch is not None


class Parts(Replay):
    """The tree and the pools of `conform`, with rows for several requests that run, and layers: each with one element
    of K, of V and of a state."""

    def __init__(self, model, config, algorithm, requests, is_disabled):
        self.requests, self.layers, self.is_disabled = requests, model.hf_config, is_disabled
        super().__init__(model, config, algorithm)

    def make_rows(self):
        one = Mamba2StateShape.create(
            tp_world_size=1, intermediate_size=1, n_groups=1, num_heads=1, head_dim=1, state_size=1, conv_kernel=2
        )
        mamba = get_exec().mamba
        return HybridReqToTokenPool(
            size=self.requests,
            mamba_size=get_schedule().max_mamba_cache_size,
            mamba_spec_state_size=self.requests,
            max_context_len=self.model.context_len,
            device="cpu",
            enable_memory_saver=False,
            cache_params=Mamba2CacheParams(shape=one, layers=self.layers.told_states),
            mamba_layer_ids=self.layers.told_states,
            enable_mamba_extra_buffer=mamba.enable_mamba_extra_buffer,
            enable_mamba_extra_buffer_lazy=mamba.enable_mamba_extra_buffer_lazy,
            enable_overlap_schedule=self.overlap,
        )

    def attach_host(self):
        """The tree keeps what it evicts in the host's memory, which has room for four times as many tokens."""
        with get_context().override_server_args(
            enable_hierarchical_cache=True, hicache_ratio=4.0, hicache_size=0, hicache_io_backend="direct",
            hicache_mem_layout="page_first_direct", hicache_write_policy="write_through",
        ):
            self.cache.init_hicache(get_context().server_args, self.params)

    def make_tokens(self, slots):
        pool = HybridLinearKVPool(
            size=slots, dtype=torch.bfloat16, page_size=self.page, head_num=1, head_dim=1,
            full_attention_layer_ids=self.layers.told_attention, device="cpu", mamba_pool=self.rows.mamba_pool,
        )
        allocator = super().make_tokens(slots)
        allocator._kvcache = pool
        return allocator
