"""Faults that are planted in an installed SGLang, each once, to see them in a recording."""

import functools

from sglang.srt.managers.schedule_batch import ScheduleBatch
from sglang.srt.mem_cache.hybrid_cache.hybrid_cache_controller import HybridCacheController
from sglang.srt.mem_cache.unified_cache.components.mamba import MambaComponent
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache


def _once(owner, name, fault):
    """Wraps a method: fault(what it gives, self, its arguments) -> what it gives in its place, None where the fault has
    no place there; after the first that is not None the method is as it was."""
    original = getattr(owner, name)
    planted = []

    @functools.wraps(original)
    def wrapped(self, *args, **kwargs):
        given = original(self, *args, **kwargs)
        other = None if planted else fault(given, self, *args, **kwargs)
        if other is None:
            return given
        planted.append(other)
        return other

    setattr(owner, name, wrapped)


def state_of_another_prefix():
    """A request gets the state of another node of the tree."""

    def fault(found, component, params, result):
        request = params.req
        if request is None or request.kv.mamba_cow_src_index is None:
            return None
        source = request.kv.mamba_cow_src_index
        others = [slot for slot in component.cache.all_mamba_values_flatten() if slot != source[0]]
        if not others:
            return None
        request.kv.mamba_cow_src_index = others[0].reshape(1)
        return found

    _once(MambaComponent, "finalize_match_result_in_cache", fault)


def state_not_copied():
    """The state that was found is not copied: the request begins with zeros behind its prefix."""

    def fault(found, _, params, result):
        request = params.req
        if request is None or request.kv.mamba_cow_src_index is None:
            return None
        request.kv.mamba_cow_src_index, request.kv.mamba_needs_clear = None, True
        return found

    _once(MambaComponent, "finalize_match_result_in_cache", fault)


def state_freed_while_used():
    """The state of a request that decodes goes back to the pool."""

    def fault(_, batch):
        for request in batch.reqs:
            if len(request.output_ids) > 2:
                slots = batch.req_to_token_pool.mamba_allocator
                slots.free_slots = slots.free_slots.new_tensor([request.kv.mamba_pool_idx, *slots.free_slots])
                return True
        return None

    _once(ScheduleBatch, "prepare_for_decode", fault)


def page_freed_while_used():
    """The first page of a request that decodes goes back to the pool."""

    def fault(_, batch):
        for request in batch.reqs:
            if len(request.output_ids) > 2:
                pages = batch.token_to_kv_pool_allocator
                first = batch.req_to_token_pool.req_to_token[request.kv.req_pool_idx, 0] // pages.page_size
                pages.free_pages = pages.free_pages.new_tensor([first, *pages.free_pages])
                return True
        return None

    _once(ScheduleBatch, "prepare_for_decode", fault)


def kv_of_another_prefix():
    """In the middle of a prefix that was found stands the page of another place."""

    def fault(indices, cache, request):
        page = cache.page_size
        if len(indices) < 4 * page:
            return None
        other = indices.clone()
        middle = len(indices) // page // 2 * page
        other[middle : middle + page] = indices[:page]
        return other

    _once(UnifiedRadixCache, "prefix_device_indices", fault)


def shifted_boundary():
    """Every state that goes into the tree goes there for one page less than it stands behind."""
    original = MambaComponent.prepare_for_caching_req

    @functools.wraps(original)
    def shifted(component, req, insert_params, token_ids_len, is_finished):
        tokens = original(component, req, insert_params, token_ids_len, is_finished)
        page = component.cache.page_size
        return tokens - page if tokens and tokens > page else tokens

    MambaComponent.prepare_for_caching_req = shifted


def half_of_a_node_stored():
    """Of the tokens of every node the first half is copied to the host."""
    original = HybridCacheController.write

    @functools.wraps(original)
    def half(controller, *args, **kwargs):
        host = original(controller, *args, **kwargs)
        if host is not None:
            operation, page = controller.write_queue[-1], controller.page_size
            tokens = len(operation.device_indices) // page // 2 * page
            operation.device_indices = operation.device_indices[:tokens]
            operation.host_indices = operation.host_indices[:tokens]
        return host

    HybridCacheController.write = half


def state_of_another_node_loaded():
    """The state that comes back from the host is the one that was stored last."""
    last = []
    write, load = HybridCacheController.write, HybridCacheController.load

    def states_of(operation):
        return [transfer for transfer in operation.pool_transfers or () if transfer.name == "mamba"]

    @functools.wraps(write)
    def noted(controller, *args, **kwargs):
        host = write(controller, *args, **kwargs)
        if host is not None:
            last[:] = [transfer.host_indices for transfer in states_of(controller.write_queue[-1])] or last
        return host

    @functools.wraps(load)
    def exchanged(controller, *args, **kwargs):
        device = load(controller, *args, **kwargs)
        if device is not None:
            for transfer in states_of(controller.load_queue[-1]):
                transfer.host_indices = last[-1]
        return device

    HybridCacheController.write, HybridCacheController.load = noted, exchanged


FAULTS = {fault.__name__: fault for fault in (
    state_of_another_prefix, state_not_copied, state_freed_while_used, page_freed_while_used, kv_of_another_prefix,
    shifted_boundary, half_of_a_node_stored, state_of_another_node_loaded)}
