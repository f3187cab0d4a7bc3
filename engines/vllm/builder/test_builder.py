"""The plan as vLLM's own functions make it with this builder. Needs vLLM, no GPU."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import hybridkv_builder as builder
import numpy as np
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
CASES = Path(__file__).parent / "cases"
BLOCKS = json.loads((CASES / "case.json").read_text())["blocks"]


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


def views_of(raw, caches, specs, tensor, kernel_tokens=None):
    """Of the layers of a tensor, as the engine hands them to its backends: block, head, token, content."""
    spec = builder.planned_layers(specs)[0][tensor.layers[0]]
    layout = KVCacheLayout[PLAN["order"]]
    return create_kv_cache_views(raw, spec, caches.num_blocks, layout, tensor, kernel_tokens)


def test_views_of_all_layers_are_apart(planned):
    """Of three blocks: no byte of a group is two layers' or two blocks'."""
    config, specs = planned
    groups = get_global_kv_cache_groups(config, [specs])
    caches = builder.PlanBuilder().get_kv_cache_config_from_groups(config, groups, 3)
    raw = torch.empty(caches.kv_cache_tensors[0].size, dtype=torch.int8, device="meta")
    heads_outside = PLAN["order"].endswith("NC")  # then what lies together is a head's
    for tensor in caches.kv_cache_tensors:
        runs = []
        for view in views_of(raw, caches, specs, tensor):
            pieces = [view[:, head : head + 1] for head in range(view.shape[1])] if heads_outside else [view]
            for piece in pieces:
                size, begin = piece.element_size(), piece.storage_offset() * piece.element_size()
                inside = sum((extent - 1) * stride for extent, stride in zip(piece.shape[1:], piece.stride()[1:]))
                for block in range(piece.shape[0]):
                    front = begin + block * piece.stride(0) * size
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
        views = [view.view(torch.int8) for view in views_of(raw, caches, specs, tensor)]
        for number, view in enumerate(views):
            view[1] = number
        for number, view in enumerate(views):
            assert bool((view[1] == number).all())
            assert bool((view[0] == -1).all()) and bool((view[2] == -1).all())
        written = sum(view[1].numel() for view in views)
        assert int((raw != -1).sum()) == written


def views_of_cases():
    """By layer: the byte at which its block 0 begins, the bytes from a block, a head and a token to the next, and the
    tokens of a kernel block."""
    return {int(row[0]): tuple(map(int, row[1:])) for row in np.load(CASES / "views.npy")}


def views_of_engine(raw, caches, specs):
    """The views of all layers, by their number."""
    planned, views = views_of_cases(), {}
    for tensor in caches.kv_cache_tensors:
        numbers = [int(name.rsplit(".", 1)[1]) for name in tensor.layers]
        views.update(zip(numbers, views_of(raw, caches, specs, tensor, planned[numbers[0]][-1] or None)))
    return views


def caches_of_cases(config, specs):
    groups = get_global_kv_cache_groups(config, [specs])
    caches = builder.PlanBuilder().get_kv_cache_config_from_groups(config, groups, BLOCKS)
    return caches, torch.full((caches.kv_cache_tensors[0].size,), -1, dtype=torch.int8)


def test_views_have_the_strides_of_the_cases(planned):
    config, specs = planned
    caches, raw = caches_of_cases(config, specs)
    views = views_of_engine(raw, caches, specs)
    cases = views_of_cases()
    assert sorted(views) == sorted(cases)
    for number, view in views.items():
        begin, *strides, _ = cases[number]
        assert view.storage_offset() * view.element_size() == begin, number
        for axis, extent, stride in zip(range(3), view.shape, strides):
            assert extent == 1 or view.stride(axis) * view.element_size() == stride, (number, axis)


def slots_of(case, request, kernel_tokens):
    """Of every position of a request: its block of the kernel, and its token in there."""
    at, block_tokens = np.arange(case["lengths"][request]), case["block_tokens"]
    block = case["block_table"][request][at // block_tokens]
    return block * (block_tokens // kernel_tokens) + at % block_tokens // kernel_tokens, at % kernel_tokens


def rows_of(case, request, layer):
    """Of every position of a request: the row of k and v that it has."""
    return (np.arange(case["lengths"][request]) + 11 * request + 5 * layer) % len(case["k"])


def attention(query, keys, values, first, scale):
    """Of one token (head, channel) over all keys (position, head, channel) from the first that it sees."""
    share = query.shape[0] // keys.shape[1]
    keys, values = keys[first:].repeat_interleave(share, 1), values[first:].repeat_interleave(share, 1)
    weights = torch.softmax(torch.einsum("hc,phc->hp", query, keys) * scale, 1)
    return torch.einsum("hp,phc->hc", weights, values)


@pytest.mark.parametrize("folder", sorted(path.parent for path in CASES.glob("*/case.json")), ids=lambda path: path.name)
def test_attention_through_the_views(planned, folder):
    """All is NaN, then K and V of the requests are written through the engine's views: they lie at the bytes of the
    plan, nothing else is written, and attention that reads the views is right."""
    case = {file.stem: np.load(file) for file in folder.glob("*.npy")} | json.loads((folder / "case.json").read_text())
    config, specs = planned
    caches, raw = caches_of_cases(config, specs)
    views, written = views_of_engine(raw, caches, specs), np.zeros(raw.numel(), dtype=bool)
    for i, layer in enumerate(case["layers"]):
        view = views[layer]
        begin, *strides, kernel_tokens = views_of_cases()[layer]
        head_bytes = view.shape[3] * view.element_size()
        shape = (view.shape[0], view.shape[1], view.shape[2], head_bytes)
        bytes_of_plan, written_of_plan = (
            np.lib.stride_tricks.as_strided(array[begin:], shape, (*strides, 1)) for array in (raw.numpy(), written)
        )
        for request in range(len(case["lengths"])):
            rows, (blocks, tokens) = rows_of(case, request, i), slots_of(case, request, kernel_tokens)
            content = case["k"][rows]
            if content.shape[-1] != view.shape[3]:
                content = np.concatenate([content, case["v"][rows]], axis=-1)
            content = torch.from_numpy(content).to(view.dtype)
            view[torch.from_numpy(blocks), :, torch.from_numpy(tokens)] = content
            assert not written_of_plan[blocks, :, tokens].any(), "two layers or requests have the same bytes"
            written_of_plan[blocks, :, tokens] = True
            assert (bytes_of_plan[blocks, :, tokens] == content.view(torch.int8).numpy()).all(), layer
    assert bool((raw.numpy()[~written] == -1).all()), "something beside the slots of the requests was written"
    channels, channels_v = case["k"].shape[-1], case["v"].shape[-1]
    for i, layer in enumerate(case["layers"]):
        for request, first in enumerate(case["first_seen"]):
            blocks, tokens = map(torch.from_numpy, slots_of(case, request, views_of_cases()[layer][-1]))
            content = views[layer][blocks, :, tokens].float()
            keys, values = content[..., :channels], content[..., -channels_v:]
            if content.shape[-1] == channels:  # a latent, of which V is the front
                values = content[..., :channels_v]
            out = attention(torch.from_numpy(case["q"][request]), keys, values, int(first), case["scale"])
            np.testing.assert_allclose(out.numpy(), case["out"][i][request], rtol=1e-5, atol=1e-5)


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
