"""Records the cache of a running SGLang 0.5.23 for `hybridkv audit`: pages of tokens and slots of states by request,
what steps compute, hits in the radix tree, copies, zeroing, what goes back, and the host's copies of the hierarchical
cache.

    with hybridkv.recorders.sglang.record("run.jsonl"):
        ...                     # whatever makes the scheduler in this process

As a plugin it records every scheduler of the process that is started with HYBRIDKV_RECORD=run.jsonl in its environment;
HYBRIDKV_RECORD_SAMPLE=0.05 takes a share of the requests.

The scheduler, its tree and its pools are watched, on the host: no kernel is. Which state a step reads and writes is
read from the tables that its kernels get. Drafts, sliding windows, pools that move their slots and states that are kept
in another type are refused.
"""

import hashlib
from array import array

from . import Recording
from .watching import Watching

TOKENS, STATES = 0, 1  # groups of a recording; without states there is one


def _methods():
    from sglang.srt.managers.cache_controller import HiCacheController
    from sglang.srt.managers.schedule_batch import ScheduleBatch
    from sglang.srt.mem_cache.memory_pool import HybridReqToTokenPool, MambaPool, ReqToTokenPool
    from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache

    return [
        (UnifiedRadixCache, "__init__", _made),
        (UnifiedRadixCache, "checkpoint_into_tree", _checkpointed),
        (UnifiedRadixCache, "claim_kv_row", _claimed),
        (UnifiedRadixCache, "_finish_write_through_ack", _acknowledged),
        (ScheduleBatch, "prepare_for_extend", _extended),
        (ScheduleBatch, "prepare_for_decode", _decoded),
        (ReqToTokenPool, "free", _freed),
        (MambaPool, "copy_from", _copied),
        (HybridReqToTokenPool, "copy_mamba_state", _copied_on_hit),
        (HybridReqToTokenPool, "set_mamba_ping_pong_slot", _slot_set),
        (HiCacheController, "start_writing", _written),
        (HiCacheController, "start_loading", _loaded),
    ]


_watching = Watching(_methods)
install, uninstall, record = _watching.install, _watching.uninstall, _watching.record
register = _watching.register  # the entry point of sglang.srt.plugins


def _of(engine_part):
    return getattr(engine_part, "_hybridkv_recorder", None)


def _made(original, cache, *args, **kwargs):
    original(cache, *args, **kwargs)
    watched = _watching.begin(lambda path, sample: Watched(cache, path, sample))
    pool = cache.req_to_token_pool
    for part in (cache, cache.token_to_kv_pool_allocator, pool, getattr(pool, "mamba_pool", None)):
        if part is not None:
            part._hybridkv_recorder = watched


def _extended(original, batch, *args, **kwargs):
    watched = _of(batch.tree_cache)
    if watched:
        watched.recording.step()
    original(batch, *args, **kwargs)
    if watched:
        watched.extended(batch)


def _decoded(original, batch, *args, **kwargs):
    watched = _of(batch.tree_cache)
    if watched:
        watched.recording.step()
    original(batch, *args, **kwargs)
    if watched:
        watched.decoded(batch)


def _checkpointed(original, cache, req, *args, **kwargs):
    original(cache, req, *args, **kwargs)
    watched = _of(cache)
    if watched and not req.finished():
        watched.checkpointed(req)


def _claimed(original, cache, req, *args, **kwargs):
    is_claimed = original(cache, req, *args, **kwargs)
    watched = _of(cache)
    if watched and is_claimed:
        watched.gave_back(req, is_over=True)  # to its session, whose next request finds it
    return is_claimed


def _freed(original, pool, req, *args, **kwargs):
    watched = _of(pool)
    if watched:
        watched.gave_back(req, is_over=req.finished() or req.to_finish is not None)
    return original(pool, req, *args, **kwargs)


def _copied(original, pool, sources, copies, *args, **kwargs):
    watched = _of(pool)
    if watched and not watched.copies_on_hit:
        for source, copy in zip(sources.tolist(), copies.tolist()):
            watched.recording.event("copy", group=STATES, **{"from": source}, to=copy)
    return original(pool, sources, copies, *args, **kwargs)


def _copied_on_hit(original, pool, *args, **kwargs):
    """The worker copies what a batch said when it was made, and was recorded then."""
    watched = _of(pool)
    if watched:
        watched.copies_on_hit = True
    try:
        return original(pool, *args, **kwargs)
    finally:
        if watched:
            watched.copies_on_hit = False


def _slot_set(original, pool, req, *args, **kwargs):
    given = original(pool, req, *args, **kwargs)
    watched = _of(pool)
    if watched:
        watched.changed(req)
    return given


def _written(original, controller, *args, **kwargs):
    watched = _of(controller.mem_pool_device_allocator)
    if watched:
        for operation in controller.write_queue:
            watched.written(operation, controller.mem_pool_host.entry_map)
    return original(controller, *args, **kwargs)


def _loaded(original, controller, *args, **kwargs):
    watched = _of(controller.mem_pool_device_allocator)
    if watched:
        for operation in controller.load_queue:
            watched.loaded(operation, controller.mem_pool_host.entry_map)
    return original(controller, *args, **kwargs)


def _acknowledged(original, cache, ack_id, *args, **kwargs):
    watched = _of(cache)
    if watched:
        watched.acknowledged(ack_id)
    return original(cache, ack_id, *args, **kwargs)


def _refused(what):
    return ValueError(f"hybridkv: {what}, which is not recorded; docs/audit.md says what is")


def _checked(cache):
    """Throws for a cache of which nothing that is said would be right."""
    from sglang.srt.runtime_context import get_spec

    pool = cache.req_to_token_pool
    others = [component.name for component in cache.tree_components if component.name not in ("FULL", "MAMBA")]
    if others:
        raise _refused(f"the cache has {', '.join(others)} beside K and V of all tokens and states")
    if get_spec().speculative_algorithm is not None:
        raise _refused("the engine speculates")
    if getattr(pool, "mamba_v2p_table", None) is not None:
        raise _refused("a unified memory pool moves its slots")
    if getattr(pool, "mamba_ckpt_pool", None) is not None:
        raise _refused("states in the tree have another type than those of requests")
    if cache.token_to_kv_pool_allocator.page_size != cache.page_size:
        raise _refused("K and V of a page lie on several ranks")


def _page_bytes(pool):
    """Of a page or slot in all layers; 0: the pool does not say."""
    return sum(pool.get_contiguous_buf_infos()[2]) if pool is not None else 0


class Watched:
    """One cache that is being recorded."""

    def __init__(self, cache, path, sample):
        import sglang
        from sglang.srt.runtime_context import get_memory

        _checked(cache)
        memory = get_memory()
        self.pool, self.allocator = cache.req_to_token_pool, cache.token_to_kv_pool_allocator
        self.page = cache.page_size
        self.has_states = cache.supports_mamba()
        self.copies_on_hit = False
        self.pages = {}    # by name, of the requests that have some
        self.keys = {}     # by name
        self.loads = []    # events of what comes from the host before the next step
        self.writing = {}  # by the number of a node of the tree, the objects that it is being copied to
        kvcache = self.allocator.get_kvcache()
        header = {
            "engine": f"sglang {sglang.__version__}",
            # What comes from a storage was written elsewhere.
            "cold": memory.hicache_storage_backend is None and not memory.enable_unified_cache_external_linker,
            "unit_tokens": self.page,
            "arenas": [{"blocks": self.allocator.size // self.page + 1}],
            "groups": [{
                "kind": "attention",
                "layers": sorted(getattr(kvcache, "full_attention_layer_id_mapping", {})),
                "block_tokens": self.page,
                "block_bytes": _page_bytes(kvcache),
                "dtype": str(self.allocator.dtype).removeprefix("torch."),
            }],
        }
        if self.has_states:
            header["arenas"].append({"blocks": self.pool.mamba_pool.size + 1})
            header["groups"].append({
                "kind": "state",
                "states": "running",
                "layers": sorted(self.pool.mamba_map),
                "block_tokens": self.page,
                "block_bytes": _page_bytes(self.pool.mamba_pool),
                "arena": 1,
            })
        self.recording = Recording(path, header, sample)

    def close(self):
        self.recording.close()

    def _know(self, req):
        """It has come in, or more of it is known: a key is that of its page and of all before it."""
        keys, prompt, answer = self.keys.setdefault(req.rid, []), req.origin_input_ids, req.output_ids
        last = bytes.fromhex(keys[-1]) if keys else repr((req.extra_key, req.cache_salt)).encode()
        for begin in range(len(keys) * self.page, len(prompt) + len(answer) - self.page + 1, self.page):
            end = begin + self.page
            tokens = prompt[begin:end] + answer[max(0, begin - len(prompt)) : max(0, end - len(prompt))]
            last = hashlib.blake2b(last + array("q", tokens).tobytes(), digest_size=8).digest()
            keys.append(last.hex())
        self.recording.come(req.rid, len(prompt), keys)
        self.recording.know(req.rid, keys)

    def _pages_of(self, req):
        row = self.pool.req_to_token[req.kv.req_pool_idx, : req.kv.kv_allocated_len : self.page]
        return (row // self.page).tolist()

    def _slots_of(self, rows):
        """(requests) slots of states in the tables that the kernels read: the running one, and those that are tracked
        for the tree."""
        if not self.has_states:
            return [[] for _ in rows]
        running = self.pool.get_mamba_indices(rows).tolist()
        if not self.pool.enable_mamba_extra_buffer:
            return [[slot] for slot in running]
        tracked = self.pool.req_index_to_mamba_ping_pong_track_buffer_mapping[rows].tolist()
        return [[slot, *(max(0, other) for other in others)] for slot, others in zip(running, tracked)]

    def _tables(self, pages, slots):
        return [list(pages), slots] if self.has_states else [list(pages)]

    def _taken(self, batch):
        """(position in the batch, request) of those that are recorded."""
        return [(i, req) for i, req in enumerate(batch.reqs) if self.recording.takes(req.rid)]

    def extended(self, batch):
        """A step that computes several tokens of each request was made."""
        recording, runs, tables = self.recording, [], {}
        slots = self._slots_of(batch.req_pool_indices)
        for i, req in self._taken(batch):
            self.pages[req.rid] = self._pages_of(req)
            tables[req.rid] = self._tables(self.pages[req.rid], slots[i])
            recording.let_go(req.rid, tables[req.rid])
        copies = self._copies(batch)
        for i, req in self._taken(batch):
            self._know(req)
            start, tokens = req.prefix_len, req.extend_end - req.prefix_len
            if not recording.has_blocks(req.rid):
                states = {"state": copies[slots[i][0]]} if self.has_states and slots[i][0] in copies else {}
                recording.event("hit", request=recording.number(req.rid), tokens=start, **states)
            found = set(self.pages[req.rid][: start // self.page])
            recording.table(req.rid, tables[req.rid], (found, ()))
            run = {"request": recording.number(req.rid), "start": start, "tokens": tokens}
            runs.append(run | self._states(slots[i], start, start + tokens, self._tracked_in_extend(batch, i)))
        self._record_loads()
        for copy, source in copies.items():
            recording.event("copy", group=STATES, **{"from": source}, to=copy)
        if batch.mamba_clear_indices is not None:
            recording.event("zero", group=STATES, blocks=batch.mamba_clear_indices.tolist())
        recording.event("compute", runs=runs)

    def _copies(self, batch):
        """Sources by copy: states that requests found, which are copied before the step."""
        if batch.mamba_cow_src_indices is None:
            return {}
        return dict(zip(batch.mamba_cow_dst_indices.tolist(), batch.mamba_cow_src_indices.tolist()))

    def _tracked_in_extend(self, batch, i):
        """(slot, tokens) of the state that the step leaves for the tree, as its kernels choose them; None: none."""
        if not (self.has_states and self.pool.enable_mamba_extra_buffer and batch.mamba_prefill_track_mask_cpu[i]):
            return None
        chunk = getattr(batch.model_config.hf_text_config, "mamba_chunk_size", 64)
        start, end = batch.prefix_lens[i], batch.prefix_lens[i] + batch.extend_lens[i]
        asked = batch.mamba_track_seqlens_cpu[i] - start
        # What is asked for at a multiple of chunks is the state behind the last token.
        tokens = start + asked // chunk * chunk if asked % chunk else end
        return batch.mamba_track_indices[i].item(), tokens

    def decoded(self, batch):
        """A step that computes one token of each request was made."""
        recording, runs = self.recording, []
        slots, lengths = self._slots_of(batch.req_pool_indices), batch.seq_lens_cpu.tolist()
        written = [slot // self.page for slot in batch.out_cache_loc.tolist()]
        tracked = batch.mamba_track_indices.tolist() if batch.mamba_track_indices is not None else None
        tables = {}
        for i, req in self._taken(batch):
            self.pages[req.rid][(lengths[i] - 1) // self.page :] = [written[i]]
            tables[req.rid] = self._tables(self.pages[req.rid], slots[i])
            recording.let_go(req.rid, tables[req.rid])
        for i, req in self._taken(batch):
            self._know(req)
            recording.table(req.rid, tables[req.rid])
            is_tracked = tracked is not None and batch.mamba_track_mask_cpu[i] and tracked[i] >= 0
            run = {"request": recording.number(req.rid), "start": lengths[i] - 1, "tokens": 1}
            runs.append(run | self._states(slots[i], lengths[i] - 1, lengths[i],
                                           (tracked[i], lengths[i]) if is_tracked else None))
        recording.event("compute", runs=runs)

    def _states(self, slots, start, end, tracked):
        if not self.has_states:
            return {}
        to = [{"block": slots[0], "tokens": end}] + ([dict(zip(("block", "tokens"), tracked))] if tracked else [])
        return {"states": [{"group": STATES, **({"from": slots[0]} if start else {}), "to": to}]}

    def changed(self, req, found=()):
        """Between two steps, what a request holds."""
        if self.recording.has_blocks(req.rid) and req.kv.holds_kv:
            tables = self._tables(self.pages[req.rid], self._slots_of([req.kv.req_pool_idx])[0])
            self.recording.let_go(req.rid, tables)
            self.recording.table(req.rid, tables, (found, ()))

    def checkpointed(self, req):
        """What it has computed went into the tree; pages that were there already are its own from now on."""
        if self.recording.has_blocks(req.rid) and req.kv.holds_kv:
            self.pages[req.rid] = self._pages_of(req)
            self.changed(req, set(self.pages[req.rid][: req.kv.cache_protected_len // self.page]))

    def gave_back(self, req, is_over):
        """A request gives back all pages and slots, at its end or to wait."""
        if self.recording.number(req.rid) is None:
            return
        self._know(req)
        self.pages.pop(req.rid, None)
        if is_over:
            self.keys.pop(req.rid, None)
            self.recording.end(req.rid)
        else:
            self.recording.preempt(req.rid)

    def _moved(self, operation):
        """(group, device's block, host's block) of all that an operation of the host's memory moves."""
        pages = [(indices[:: self.page] // self.page).tolist()
                 for indices in (operation.device_indices, operation.host_indices)]
        moved = [(TOKENS, *pair) for pair in zip(*pages)]
        for transfer in operation.pool_transfers or ():
            if transfer.name == "mamba":
                moved += [(STATES, *pair)
                          for pair in zip(transfer.device_indices.tolist(), transfer.host_indices.tolist())]
        return moved

    def _transfers(self, operation, pools):
        """The fields of an event for every block that an operation of the host's memory moves."""
        for group, block, host in self._moved(operation):
            pool = pools["kv" if group == TOKENS else "mamba"].host_pool
            yield {"object": f"host/{group}/{host}", "group": group, "block": block,
                   "bytes": pool.size_per_token * (self.page if group == TOKENS else 1)}

    def written(self, operation, pools):
        """A node of the tree is copied to the host, from now on until it is acknowledged."""
        objects = self.writing.setdefault(operation.node_ids[0], [])
        for transfer in self._transfers(operation, pools):
            objects.append(transfer["object"])
            self.recording.event("store", **transfer, begun=True)

    def acknowledged(self, node):
        """The host has all of a node."""
        for stored in self.writing.pop(node, ()):
            self.recording.event("stored", object=stored)

    def loaded(self, operation, pools):
        """What the host has of a node comes back, for the step that is being made: some of it into a slot that its
        request has taken, which is recorded with the step."""
        self.loads += self._transfers(operation, pools)

    def _record_loads(self):
        for load in self.loads:
            self.recording.event("load", **load)
        self.loads.clear()
