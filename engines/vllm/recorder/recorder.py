"""Records the cache of a running vLLM 0.33 for `hybridkv audit`: block tables, what steps compute, copies, zeroing,
accepted drafts, and what goes back.

    with hybridkv.recorders.vllm.record("run.jsonl"):
        llm = LLM(...)          # in this process: VLLM_ENABLE_V1_MULTIPROCESSING=0
        llm.generate(...)

As a plugin it records every engine of the process that is started with HYBRIDKV_RECORD=run.jsonl in its environment,
a file an engine; HYBRIDKV_RECORD_SAMPLE=0.05 takes a share of the requests.

The scheduler and its block manager are watched, on the host: no kernel is, and a worker that does other than the
scheduler said is not seen. What the offloading connector is told to store and load is recorded; what another connector
brings is unknown. Drafts of a scheduler that runs ahead
(async scheduling) are refused, since it does not know what was accepted.
"""

import math

from . import Recording
from .watching import Watching


def _methods():
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.core.sched.scheduler import Scheduler

    return [
        (Scheduler, "__init__", _made),
        (Scheduler, "schedule", _scheduled),
        (Scheduler, "update_from_output", _updated),
        (KVCacheManager, "free", _freed),
        (KVCacheManager, "get_computed_blocks", _looked_up),
    ]


_watching = Watching(_methods)
install, uninstall, record = _watching.install, _watching.uninstall, _watching.record
register = _watching.register  # the entry point of vllm.general_plugins


def _made(original, scheduler, *args, **kwargs):
    original(scheduler, *args, **kwargs)
    watched = _watching.begin(lambda path, sample: Watched(scheduler, path, sample))
    scheduler.kv_cache_manager._hybridkv_recorder = scheduler._hybridkv_recorder = watched


def _of(engine_part):
    return getattr(engine_part, "_hybridkv_recorder", None)


def _scheduled(original, scheduler, *args, **kwargs):
    watched = _of(scheduler)
    if watched:
        watched.recording.step()
    output = original(scheduler, *args, **kwargs)
    if watched:
        watched.scheduled(output)
    return output


def _updated(original, scheduler, scheduler_output, model_runner_output, *args, **kwargs):
    watched = _of(scheduler)
    if watched:
        watched.accepted(scheduler_output, model_runner_output)
        watched.transferred(model_runner_output.kv_connector_output)
    return original(scheduler, scheduler_output, model_runner_output, *args, **kwargs)


def _freed(original, manager, request, *args, **kwargs):
    watched = _of(manager)
    if watched:
        watched.freed(request)
    return original(manager, request, *args, **kwargs)


def _looked_up(original, manager, request, *args, **kwargs):
    found = original(manager, request, *args, **kwargs)
    watched = _of(manager)
    if watched:
        watched.found[request.request_id] = found
    return found


def _layer_number(name):
    numbers = [int(part) for part in name.split(".") if part.isdigit()]
    return numbers[0] if numbers else None


def _one_spec(spec):
    """A group of several specs has tables of one kind."""
    several = getattr(spec, "kv_cache_specs", None)
    return next(iter(several.values())) if several else spec


def _group(group, manager):
    """The header's words for a group of layers."""
    spec = _one_spec(group.kv_cache_spec)
    layers = [_layer_number(name) for name in group.layer_names]
    words = {
        "kind": "attention",
        "layers": sorted({layer for layer in layers if layer is not None}),
        "block_tokens": manager.block_size,
        "block_bytes": group.kv_cache_spec.page_size_bytes * (1 if hasattr(group.kv_cache_spec, "kv_cache_specs")
                                                              else len(group.layer_names)),
    }
    if hasattr(spec, "mamba_type"):
        mode = manager.mamba_cache_mode
        words |= {"kind": "state", "states": mode if mode in ("align", "all") else "running"}
    else:
        words["dtype"] = str(spec.dtype).removeprefix("torch.")
        window, chunk = getattr(spec, "sliding_window", None), getattr(spec, "attention_chunk_size", None)
        if window or chunk:
            words |= {"kind": "sliding" if window else "chunked", "window_tokens": window or chunk}
    return words


class Offload:
    """What the scheduler's side of an offloading connector says of objects outside the pool: of chunks of blocks.

    connector: of a scheduler, with such a side
    """

    def __init__(self, connector):
        self.side = connector.connector_scheduler
        self.groups = [config.group_idx for config in self.side.config.kv_group_configs]
        self.per_chunk = self.side.config.blocks_per_chunk
        # A tier behind the host's memory may have been written by another engine.
        self.is_whole = type(self.side.manager).__name__ == "CPUOffloadingManager"
        self.storing = {}  # objects by the job that stores them

    @classmethod
    def of(cls, connector):
        """None where it is another connector, or none."""
        config = getattr(getattr(connector, "connector_scheduler", None), "config", None)
        return cls(connector) if hasattr(config, "kv_group_configs") else None

    def moved(self, device, host):
        """(group, block, object) of a job, by what it says of the blocks and of the chunks: those of a group follow one
        another, from the block at its index in the request on."""
        begin = chunks = 0
        for group, size, index in zip(self.groups, device.group_sizes, device.block_indices):
            skipped = index % self.per_chunk
            for at in range(skipped, skipped + size):
                chunk = int(host.block_ids[chunks + at // self.per_chunk])
                yield group, int(device.block_ids[begin + at - skipped]), f"chunk/{chunk}/{at % self.per_chunk}"
            begin += size
            chunks += -(-(skipped + size) // self.per_chunk) if size else 0


class Watched:
    """One scheduler that is being recorded."""

    def __init__(self, scheduler, path, sample):
        self.scheduler = scheduler
        self.manager = scheduler.kv_cache_manager
        self.managers = self.manager.coordinator.single_type_managers
        self.found = {}   # by name, what requests found before they were admitted
        self.copies = []  # (group, from, to) of the step
        self.offload = Offload.of(scheduler.connector)
        if scheduler.scheduler_config.async_scheduling and scheduler.num_spec_tokens > 0:
            raise ValueError("hybridkv: drafts of a scheduler that runs ahead are not recorded, since it does not know "
                             "what was accepted; start the engine with --no-async-scheduling")
        pool = self.manager.block_pool
        groups = [_group(group, manager)
                  for group, manager in zip(self.manager.kv_cache_config.kv_cache_groups, self.managers)]
        import vllm

        # Without prefix caching nothing has a key, and the unit of hashes is one of no group.
        blocks = [group["block_tokens"] for group in groups if group["kind"] != "state"]
        self.has_keys = all(block % pool.hash_block_size == 0 for block in blocks)
        self.recording = Recording(path, {
            "engine": f"vllm {vllm.__version__}",
            # What another connector brings was written elsewhere.
            "cold": self.offload.is_whole if self.offload else scheduler.connector is None,
            "unit_tokens": pool.hash_block_size if self.has_keys else math.gcd(*blocks),
            "arenas": [{"blocks": pool.num_gpu_blocks, "null_block": pool.null_block.block_id}],
            "groups": groups,
        }, sample)
        self.block_bytes = [group["block_bytes"] for group in groups]
        for number, manager in enumerate(self.managers):
            self._watch_copies(number, manager)

    def close(self):
        self.recording.close()

    def _watch_copies(self, number, manager):
        take = manager.take_pending_cow_copies

        def taken():
            copies = take()
            self.copies += [(number, source.block_id, copy.block_id) for source, copy in copies]
            return copies

        manager.take_pending_cow_copies = taken

    def _keys(self, request):
        return [key.hex()[:16] for key in request.block_hashes] if self.has_keys else []

    def _tables(self, name):
        return [[block.block_id for block in manager.req_to_blocks.get(name, ())] for manager in self.managers]

    def scheduled(self, output):
        """A step was scheduled: tables, copies, and what it computes."""
        recording, jobs = self.recording, output.kv_connector_metadata if self.offload else None
        if jobs:
            self._record_flushed(jobs)
        # A request that waits for what it loads has its blocks already.
        loading = [self.scheduler.requests[job.req_id] for job in jobs.load_jobs.values()] if jobs else []
        requests = [request for request in dict.fromkeys([*self.scheduler.running, *loading])
                    if recording.takes(request.request_id)]
        tables = {request.request_id: self._tables(request.request_id) for request in requests}
        for name, of in tables.items():
            recording.let_go(name, of)
        starts = {new.req_id: new.num_computed_tokens for new in output.scheduled_new_reqs}
        cached = output.scheduled_cached_reqs
        starts |= dict(zip(cached.req_ids, cached.num_computed_tokens))
        copied = [{to for group, _, to in self.copies if group == number} for number in range(len(self.managers))]
        for request in requests:
            start = starts.get(request.request_id, request.num_computed_tokens)
            self._record_tables(request, tables[request.request_id], start, copied)
        if output.new_block_ids_to_zero:
            self._record_zeroed(output.new_block_ids_to_zero, copied)
        for group, source, copy in self.copies:
            recording.event("copy", group=group, **{"from": source}, to=copy)
        self.copies.clear()
        for job in jobs.load_jobs.values() if jobs else ():
            for group, block, stored in self.offload.moved(job.dst_spec, job.src_spec):
                self._record_transfer("load", job, group, block, stored)
        runs = []
        for name, tokens in output.num_scheduled_tokens.items():
            if recording.number(name) is None:
                continue
            run = {"request": recording.number(name), "start": starts[name], "tokens": tokens}
            drafts = len(output.scheduled_spec_decode_tokens.get(name, ()))
            exported = self._exported(name)
            runs.append(run | ({"drafts": drafts} if drafts else {}) | ({"exported": exported} if exported else {}))
        recording.event("compute", runs=runs)
        if jobs:
            self._record_stores({number: job for number, job in jobs.store_jobs.items()
                                 if number not in (jobs.jobs_to_flush or ())})

    def _record_transfer(self, event, job, group, block, stored, **fields):
        number = self.recording.number(job.req_id)
        request = {} if number is None else {"request": number}
        self.recording.event(event, object=stored, group=group, block=block, bytes=self.block_bytes[group], **request,
                             **fields)

    def _record_stores(self, jobs):
        """The workers store after the step, and are through when they say so."""
        for number, job in jobs.items():
            self.offload.storing[number] = []
            for group, block, stored in self.offload.moved(job.src_spec, job.dst_spec):
                self.offload.storing[number].append(stored)
                self._record_transfer("store", job, group, block, stored, begun=True)

    def _record_flushed(self, jobs):
        """Before the step the workers end the jobs that it waits for, of which some begin with it."""
        flushed = jobs.jobs_to_flush or ()
        self._record_stores({number: job for number, job in jobs.store_jobs.items() if number in flushed})
        for number in flushed:
            self._record_stored(number)

    def _record_stored(self, number):
        for stored in self.offload.storing.pop(number, ()):
            self.recording.event("stored", object=stored)

    def transferred(self, output):
        """The workers said which jobs are through."""
        told = getattr(output, "kv_connector_worker_meta", None) if self.offload else None
        for number in getattr(told, "completed_jobs", ()):
            self._record_stored(number)

    def _record_tables(self, request, tables, start, copied):
        name, recording = request.request_id, self.recording
        keys = self._keys(request)
        recording.come(name, request.num_prompt_tokens, keys)
        recording.know(name, keys)
        found = ()
        if not recording.has_blocks(name):
            blocks, tokens = self.found.pop(name, (None, 0))[:2]
            found = [{block.block_id for block in group} - copies for group, copies in zip(blocks.blocks, copied)] \
                if blocks is not None and tokens else ()
            recording.event("hit", request=recording.number(name), tokens=start)
        recording.table(name, tables, found)
        if found and start > tokens and not self.offload:
            self._record_external(name, tables, tokens, start)

    def _record_external(self, name, tables, begin, end):
        """Blocks that a connector fills: objects that nobody stored here."""
        for group, (manager, table) in enumerate(zip(self.managers, tables)):
            for column in range(begin // manager.block_size, min(-(-end // manager.block_size), len(table))):
                self.recording.event("load", request=self.recording.number(name), object=f"connector/{name}/{column}",
                                     group=group, block=table[column], bytes=0)

    def _record_zeroed(self, zeroed, copied):
        zeroed = set(zeroed)
        for group, manager in enumerate(self.managers):
            if manager.records_new_block_ids:
                of_group = {block.block_id for table in manager.req_to_blocks.values() for block in table}
                blocks = sorted((zeroed & of_group) - copied[group])
                if blocks:
                    self.recording.event("zero", group=group, blocks=blocks)

    def _exported(self, name):
        """Tokens of the state that a chunk exports in its middle, 0: none."""
        for manager in self.managers:
            checkpoint = getattr(manager, "_checkpoints", {}).get(name)
            if checkpoint:
                return checkpoint[0]
        return 0

    def accepted(self, output, of_model):
        """What the model made of a step is about to be taken in."""
        for name in output.scheduled_spec_decode_tokens:
            number = self.recording.number(name)
            if number is not None:
                sampled = of_model.sampled_token_ids[of_model.req_id_to_index[name]]
                self.recording.event("accept", request=number, drafts=max(0, len(sampled) - 1))

    def freed(self, request):
        """A request is about to give back all blocks, at its end or to wait."""
        name = request.request_id
        self.recording.know(name, self._keys(request))
        if request.is_finished():
            self.found.pop(name, None)
            self.recording.end(name)
        else:
            self.recording.preempt(name)
