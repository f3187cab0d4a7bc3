"""Groups and tensors of the KV cache for vLLM @VERSION@, as hybridkv planned them.

Written by `hybridkv emit`. Install the folder (`pip install .`) where vLLM is installed, and start vLLM as usual: its
plug-ins are loaded in every process, and this one sets the block and makes the groups below. Whatever differs from the
plan ends the start with the number that differs. `VLLM_PLUGINS=` without its name leaves it out.
"""

import dataclasses
import functools
import importlib.metadata
import json
import math
import os

PLAN = json.loads(
    r"""
@PLAN@
"""
)


class PlanMismatch(ValueError):
    """The engine has another number than the plan."""

    def __init__(self, what, here, planned):
        super().__init__(
            f"hybridkv builder: {what}: {here} here, {planned} in the plan of {PLAN['model']}. Emit it again with the "
            "settings that the engine is started with, or leave it out by VLLM_PLUGINS"
        )


def require(what, here, planned):
    if here != planned:
        raise PlanMismatch(what, here, planned)


def require_version():
    require("the version of vLLM", importlib.metadata.version("vllm"), PLAN["version"])


def register():
    """The entry point: this platform aligns blocks as planned, and takes its builder from here."""
    require_version()
    from vllm.platforms import current_platform

    platform = type(current_platform)
    aligned = platform.update_block_size_for_backend.__func__
    if getattr(aligned, "by_hybridkv", False):  # plug-ins may be loaded several times
        return

    @functools.wraps(aligned)
    def update_block_size_for_backend(cls, vllm_config):
        aligned(cls, vllm_config)
        set_block(vllm_config)

    update_block_size_for_backend.by_hybridkv = True
    platform.update_block_size_for_backend = classmethod(update_block_size_for_backend)
    platform.get_kv_cache_config_builder_cls = classmethod(lambda cls, vllm_config: f"{__name__}.PlanBuilder")
    os.environ.setdefault("VLLM_KV_CACHE_LAYOUT", PLAN["order"])


def set_block(vllm_config):
    """The block of the plan in place of the one in which a single attention layer is as large as a state."""
    parallel, cache = vllm_config.parallel_config, vllm_config.cache_config
    require("tensor_parallel_size", parallel.tensor_parallel_size, PLAN["tensor_parallel"])
    require("pipeline_parallel_size", parallel.pipeline_parallel_size, 1)
    states = [spec for spec in PLAN["specs"] if spec["kind"] == "state"]
    if states:
        require("mamba_cache_mode", cache.mamba_cache_mode, PLAN["cache_mode"])
        page = PLAN["page_bytes"]
        cache.mamba_page_size_padded = page if any(spec["bytes"] != page for spec in states) else None
        if PLAN["cache_mode"] == "align":
            cache.mamba_block_size = PLAN["block_tokens"]
    cache.block_size = PLAN["block_tokens"]


def dense_bytes(spec):
    """What a page of a layer has to hold, without padding."""
    from vllm.v1.kv_cache_interface import compute_layer_kv_cache_shape_bytes

    return math.prod(compute_layer_kv_cache_shape_bytes(spec, 1)[1:])


def kind_of(spec):
    """How the plan tells specs apart: states, and attention by its window."""
    from vllm.v1.kv_cache_interface import MambaSpec

    if isinstance(spec, MambaSpec):
        return "state", 0
    return "attention", getattr(spec, "sliding_window", None) or getattr(spec, "attention_chunk_size", None) or 0


def as_planned(spec, planned):
    """The spec in the block and the page of the plan: attention of other widths has a block of its own."""
    if planned["kind"] == "state":
        return spec
    spec = dataclasses.replace(spec, block_size=planned["block_tokens"])
    return spec if planned["page"] == dense_bytes(spec) else dataclasses.replace(spec, page_size_padded=planned["page"])


def planned_layers(kv_cache_spec):
    """The specs of all layers as planned, and the names of those of every spec of the plan, in the order of the
    model."""
    specs, names = {}, [[] for _ in PLAN["specs"]]
    for name, spec in kv_cache_spec.items():
        kind, window = kind_of(spec)
        alike = [
            (i, planned, as_planned(spec, planned))
            for i, planned in enumerate(PLAN["specs"])
            if (planned["kind"], planned["window"]) == (kind, window)
        ]
        if not alike:
            raise PlanMismatch(f"layer {name}", f"{kind} with window {window}", "none such")
        fits = [one for one in alike if dense_bytes(one[2]) == one[1]["bytes"]]
        at, planned, specs[name] = (fits or alike)[0]
        what = "a state" if kind == "state" else "a block"
        require(f"bytes of {what} of layer {name}", dense_bytes(specs[name]), planned["bytes"])
        require(f"bytes of a page of layer {name}", specs[name].page_size_bytes, planned["page"])
        if kind == "state" and planned["block_tokens"]:
            require(f"tokens of a block of layer {name}", spec.block_size, planned["block_tokens"])
        names[at].append(name)
    for planned, found in zip(PLAN["specs"], names):
        require(f"layers of {planned['name']}", len(found), len(planned["layers"]))
    return specs, names


def groups_of(kv_cache_spec):
    from vllm.v1.core.kv_cache_planning import create_kv_cache_group_specs

    specs, names = planned_layers(kv_cache_spec)
    groups = [[names[group["spec"]][at] for at in group["layers"]] for group in PLAN["groups"]]
    return create_kv_cache_group_specs(specs, groups)


def __getattr__(name):
    """The class of the builder is made once it is asked for, as it needs vLLM and the rest of this module does not."""
    if name != "PlanBuilder":
        raise AttributeError(name)
    from vllm.v1.core.kv_cache_planning import DefaultKVCacheConfigBuilder

    class PlanBuilder(DefaultKVCacheConfigBuilder):
        """Groups as planned; the engine's own placement of them, which is compared with the plan."""

        def get_kv_cache_groups(self, vllm_config, kv_cache_spec):
            return groups_of(kv_cache_spec)

        def get_kv_cache_config_from_groups(self, vllm_config, kv_cache_groups, num_blocks):
            require("the order of the cache (VLLM_KV_CACHE_LAYOUT)",
                    vllm_config.cache_config.get_resolved_kv_cache_layout().name, PLAN["order"])
            placed = super().get_kv_cache_config_from_groups(vllm_config, kv_cache_groups, num_blocks)
            sizes = {tensor.size for tensor in placed.kv_cache_tensors}
            require("bytes of all blocks", sizes, {PLAN["block_bytes"] * placed.num_blocks})
            require("tensors", len(placed.kv_cache_tensors), len(PLAN["tensors"]))
            for tensor, planned in zip(placed.kv_cache_tensors, PLAN["tensors"]):
                stride = planned["layer_stride"] + planned["layer_stride_per_block"] * placed.num_blocks
                require(f"layer stride of {tensor.layers[0]}", tensor.layer_stride, stride)
                require(f"block stride of {tensor.layers[0]}", tensor.block_stride, planned["block_stride"])
                require(f"offset of {tensor.layers[0]}", tensor.offset, planned["offset"])
            return placed

    globals()[name] = PlanBuilder
    return PlanBuilder
