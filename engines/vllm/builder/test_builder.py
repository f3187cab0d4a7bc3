"""The plan as vLLM's own functions make it with this builder. Needs vLLM, no GPU."""

import dataclasses
from types import SimpleNamespace

import hybridkv_builder as builder
import pytest
import torch
from vllm.config.cache import CacheConfig
from vllm.platforms import current_platform
from vllm.v1.core.kv_cache_planning import get_global_kv_cache_groups, get_kv_cache_configs
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
    create_kv_cache_views,
)
from vllm.v1.kv_cache_layout import KVCacheLayout

PLAN = builder.PLAN


def configuration():
    cache = CacheConfig(block_size=16, enable_prefix_caching=PLAN["cache_mode"] != "none")
    cache.mamba_cache_mode = PLAN["cache_mode"]
    cache.kv_cache_layout = PLAN["order"]
    length = PLAN["max_model_len"]
    return SimpleNamespace(
        cache_config=cache,
        model_config=SimpleNamespace(
            max_model_len=length, original_max_model_len=length, supports_kv_cache_grouping=False, use_mla=False
        ),
        parallel_config=SimpleNamespace(
            tensor_parallel_size=PLAN["tensor_parallel"],
            pipeline_parallel_size=1,
            decode_context_parallel_size=1,
            prefill_context_parallel_size=1,
        ),
        scheduler_config=SimpleNamespace(
            disable_hybrid_kv_cache_manager=False, max_num_batched_tokens=PLAN["max_num_batched_tokens"]
        ),
        attention_config=SimpleNamespace(hisparse_config=None),
        device_config=SimpleNamespace(device_type="cuda"),
        speculative_config=None,
        num_speculative_tokens=0,
        num_lookahead_tokens=0,
        num_prefill_lookahead_tokens=0,
        num_hash_lookahead_tokens=0,
        max_in_flight_tokens=PLAN["max_num_batched_tokens"] * PLAN["concurrent_batches"],
    )


def spec_of(planned, config):
    """A layer of the plan as the engine describes it, in the blocks that the builder has set."""
    cache = config.cache_config
    if planned["kind"] == "state":
        return MambaSpec(
            shapes=tuple(map(tuple, planned["shapes"])),
            dtypes=tuple(getattr(torch, dtype) for dtype in planned["dtypes"]),
            block_size=cache.mamba_block_size or PLAN["max_model_len"],
            page_size_padded=cache.mamba_page_size_padded,
            mamba_cache_mode=cache.mamba_cache_mode,
            num_prefill_checkpoint_blocks=planned["checkpoint_blocks"],
        )
    common = dict(
        block_size=cache.block_size, head_size=planned["head_size"], dtype=getattr(torch, planned["dtypes"][0])
    )
    if planned["latent"]:
        return MLAAttentionSpec(num_kv_heads=1, **common)
    heads = dict(num_kv_heads=planned["kv_heads"], head_size_v=planned["head_size_v"], **common)
    return SlidingWindowSpec(sliding_window=planned["window"], **heads) if planned["window"] else FullAttentionSpec(**heads)


def layers_of(config):
    """The layers in the order of their numbers, by names like those of the engine."""
    specs = {}
    for planned in PLAN["specs"]:
        for number in planned["layers"]:
            specs[number] = spec_of(planned, config)
    return {f"model.layers.{number}": specs[number] for number in sorted(specs)}


@pytest.fixture
def planned(monkeypatch):
    for replaced in ("update_block_size_for_backend", "get_kv_cache_config_builder_cls"):
        monkeypatch.setattr(type(current_platform), replaced, classmethod(lambda cls, config: None))
    monkeypatch.setenv("VLLM_KV_CACHE_LAYOUT", PLAN["order"])
    builder.register()
    config = configuration()
    current_platform.update_block_size_for_backend(config)
    return config, layers_of(config)


def caches_of(config, specs):
    groups = get_global_kv_cache_groups(config, [specs])
    (caches,) = get_kv_cache_configs(config, [specs], [PLAN["memory_bytes"]], groups)
    return caches


def test_groups_blocks_and_tensors(planned):
    config, specs = planned
    caches = caches_of(config, specs)
    assert caches.num_blocks == PLAN["num_blocks"]
    assert [tensor.size for tensor in caches.kv_cache_tensors] == [PLAN["block_bytes"] * PLAN["num_blocks"]] * len(
        PLAN["tensors"]
    )
    numbers = [[int(name.rsplit(".", 1)[1]) for name in group.layer_names] for group in caches.kv_cache_groups]
    assert numbers == [tensor["layers"] for tensor in PLAN["tensors"]]


def test_views_of_all_layers_are_apart(planned):
    """Of three blocks: no byte of a group is two layers' or two blocks'."""
    config, specs = planned
    groups = get_global_kv_cache_groups(config, [specs])
    caches = builder.PlanBuilder().get_kv_cache_config_from_groups(config, groups, 3)
    raw = torch.empty(caches.kv_cache_tensors[0].size, dtype=torch.int8, device="meta")
    for tensor in caches.kv_cache_tensors:
        spec = specs[tensor.layers[0]]
        views = create_kv_cache_views(raw, spec, caches.num_blocks, KVCacheLayout[PLAN["order"]], tensor)
        runs = []
        for view in views:
            size, begin = view.element_size(), view.storage_offset() * view.element_size()
            inside = sum((extent - 1) * stride for extent, stride in zip(view.shape[1:], view.stride()[1:]))
            for block in range(view.shape[0]):
                front = begin + block * view.stride(0) * size
                runs.append((front, front + (inside + 1) * size))
        runs.sort()
        assert all(end <= begin for (_, end), (begin, _) in zip(runs, runs[1:]))
        assert runs[-1][1] <= raw.numel()


def test_what_a_layer_writes_no_other_reads(planned):
    """All is NaN, then every layer of a group writes its number to block 1: each reads its own, all else stays NaN."""
    config, specs = planned
    groups = get_global_kv_cache_groups(config, [specs])
    caches = builder.PlanBuilder().get_kv_cache_config_from_groups(config, groups, 3)
    for tensor in (caches.kv_cache_tensors[0], caches.kv_cache_tensors[-1]):
        raw = torch.full((caches.kv_cache_tensors[0].size,), -1, dtype=torch.int8)
        spec = specs[tensor.layers[0]]
        views = [
            view.view(torch.int8)
            for view in create_kv_cache_views(raw, spec, caches.num_blocks, KVCacheLayout[PLAN["order"]], tensor)
        ]
        for number, view in enumerate(views):
            view[1] = number
        for number, view in enumerate(views):
            assert bool((view[1] == number).all())
            assert bool((view[0] == -1).all()) and bool((view[2] == -1).all())
        written = sum(view[1].numel() for view in views)
        assert int((raw != -1).sum()) == written


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(builder.importlib.metadata, "version", lambda name: "0.34.0")
    with pytest.raises(builder.PlanMismatch, match="the version of vLLM: 0.34.0 here, @VERSION@ in the plan"):
        builder.register()


def test_other_ranks_and_sizes_are_refused(planned):
    config, specs = planned
    config.parallel_config.tensor_parallel_size += 1
    with pytest.raises(builder.PlanMismatch, match="tensor_parallel_size"):
        builder.set_block(config)
    name, spec = next(iter(specs.items()))
    key = "page_size_padded" if isinstance(spec, MambaSpec) else "head_size"
    wrong = {**specs, name: dataclasses.replace(spec, **{key: 2 * PLAN["page_bytes"]})}
    with pytest.raises(builder.PlanMismatch, match=f"layer {name}"):
        caches_of(config, wrong)
