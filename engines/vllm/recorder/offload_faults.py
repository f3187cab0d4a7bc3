"""Faults that are planted in the offloading connector of an installed vLLM, to see them in a recording."""

import functools

from vllm.distributed.kv_transfer.kv_connector.v1.offloading.scheduler import OffloadingConnectorScheduler
from vllm.v1.kv_offload.base import GPULoadStoreSpec


def _changed(change):
    """Wraps what the connector tells the workers of a step: change(what it tells, blocks of a chunk)."""
    original = OffloadingConnectorScheduler.build_connector_meta

    @functools.wraps(original)
    def wrapped(side, *args, **kwargs):
        told = original(side, *args, **kwargs)
        change(told, side.config.blocks_per_chunk)
        return told

    OffloadingConnectorScheduler.build_connector_meta = wrapped


def _without_last(blocks, per_chunk):
    """Blocks of the device, of each group without the last where that is in a chunk with the one before."""
    ids, sizes, begin = [], [], 0
    for size, index in zip(blocks.group_sizes, blocks.block_indices):
        kept = size - 1 if size > 1 and (index + size - 1) % per_chunk else size
        ids += list(blocks.block_ids[begin : begin + kept])
        sizes.append(kept)
        begin += size
    return GPULoadStoreSpec(ids, sizes, blocks.block_indices)


def one_page_stored():
    """Of the blocks of a chunk the last is not stored."""

    def change(told, per_chunk):
        for job in told.store_jobs.values():
            job.src_spec = _without_last(job.src_spec, per_chunk)

    _changed(change)


def tail_not_loaded():
    """Of the blocks of a chunk the last does not come back."""

    def change(told, per_chunk):
        for job in told.load_jobs.values():
            job.dst_spec = _without_last(job.dst_spec, per_chunk)

    _changed(change)


def freed_while_stored():
    """Nobody waits for a store whose blocks go to another request."""

    def change(told, _):
        told.jobs_to_flush = set()

    _changed(change)


FAULTS = {fault.__name__: fault for fault in (one_page_stored, tail_not_loaded, freed_while_stored)}
