"""What vLLM's planning makes of a model: the block, the groups, the one allocation, the requests and the views."""

from types import SimpleNamespace

import torch
from vllm.config import set_current_vllm_config
from vllm.model_executor.models import ModelRegistry
from vllm.model_executor.models.config import MambaModelConfig
from vllm.platforms.interface import Platform
from vllm.utils.math_utils import cdiv
from vllm.v1.attention.backends.utils import get_supported_kv_cache_layouts, resolve_kv_cache_layout
from vllm.v1.core.kv_cache_utils import (
    generate_scheduler_kv_cache_config,
    get_kv_cache_capacity,
    get_max_concurrency_for_kv_cache_config,
    resolve_cache_hit_alignment_tokens,
    resolve_kv_cache_block_sizes,
)
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import MambaSpec, compute_layout_strides, create_kv_cache_views, iter_layer_specs
from vllm.v1.worker.utils import AttentionGroup, select_common_block_size

from configuration import Configuration
from grouping import get_kv_cache_configs, grouped_by, plan_caches
from layers import StateLayer, layers_of, model_class, number_of, part_of
from plugged import platform_with
from replaying import replay

STUBS = [
    "the configuration but for cache and scheduler: a bare object with the engine's own properties",
    "the backends of attention: they declare the kernel blocks and orders of the backend profile",
    "the backends of indexers: they take any block and the same orders",
    "the class of the model: it has the layers of ours, whose specs the engine's own functions make",
    "which states the scans export: as the backend profile says",
]

# The functions of the engine that give the figures.
MADE_BY = {
    "state_bytes": MambaSpec,
    "block_size_tokens": Platform.update_block_size_for_backend,
    "cache_order": resolve_kv_cache_layout,
    "groups": grouped_by,
    "groups.layers": grouped_by,
    "groups.block_size_tokens": grouped_by,
    "groups.page_bytes": grouped_by,
    "groups.checkpoint_blocks": MambaSpec,
    "bytes_per_block": get_kv_cache_configs,
    "num_blocks": get_kv_cache_configs,
    "pool_bytes": get_kv_cache_configs,
    "blocks_per_request": get_max_concurrency_for_kv_cache_config,
    "max_concurrency": get_max_concurrency_for_kv_cache_config,
    "kv_cache_tokens": get_kv_cache_capacity,
    "match_refused": resolve_kv_cache_block_sizes,
    "scheduler_block_tokens": resolve_kv_cache_block_sizes,
    "hash_block_tokens": resolve_kv_cache_block_sizes,
    "match_unit_tokens": resolve_cache_hit_alignment_tokens,
    "tensors.layer_stride_bytes": compute_layout_strides,
    "tensors.block_stride_bytes": compute_layout_strides,
    "tensors.offset_bytes": get_kv_cache_configs,
    "views.shape": create_kv_cache_views,
    "views.strides_bytes": create_kv_cache_views,
    "views.offset_bytes": create_kv_cache_views,
    "replay.hits": Scheduler.schedule,
    "replay.chunks": Scheduler.schedule,
}


def planned(request, platform=Platform):
    """The configuration of the request with its layers, the configuration of the caches and the order."""
    config = Configuration(request)
    layers = layers_of(request, config)
    config.compilation_config.static_forward_context = layers
    stub = model_class(layers, config)
    resolve, ModelRegistry.resolve_model_cls = ModelRegistry.resolve_model_cls, lambda *_, **__: (stub, "conform")
    try:
        platform.update_block_size_for_backend(config)
    finally:
        ModelRegistry.resolve_model_cls = resolve
    cache = config.cache_config
    if all(isinstance(layer, StateLayer) for layer in layers.values()):
        MambaModelConfig.verify_and_update_config(config)
    if cache.mamba_block_size is None:  # as the same sets it for models with attention, without prefix caching
        cache.mamba_block_size = config.model_config.max_model_len
    with set_current_vllm_config(config):
        specs = {name: layer.get_kv_cache_spec(config) for name, layer in layers.items()}
    order = order_of(request, config, layers, specs)
    cache.kv_cache_layout = order.name
    caches = plan_caches(config, specs, request["engine"]["memory_bytes"])
    # As the core of the engine does before it starts the scheduler: the shortest block that prefixes are found by.
    specs_of_groups = [group.kv_cache_spec for group in caches.kv_cache_groups]
    found_again = [spec.block_size for spec in specs_of_groups if getattr(spec, "prefix_cacheable", True)]
    cache.block_size = min(found_again or [spec.block_size for spec in specs_of_groups])
    return config, layers, caches, order


def order_of(request, config, layers, specs):
    """The order of the one allocation: one that the backends share, the user's where it is one of them."""
    backends = [layer.get_attn_backend() for layer in layers.values() if not isinstance(layer, StateLayer)]
    supported = [layout.name for layout in get_supported_kv_cache_layouts(dict.fromkeys(backends))]
    asked = request["engine"]["cache_order"]
    if asked:
        import vllm.envs as envs

        envs.VLLM_KV_CACHE_LAYOUT = asked
        try:
            return resolve_kv_cache_layout(config, [supported], specs.values())
        finally:
            del envs.VLLM_KV_CACHE_LAYOUT
    return resolve_kv_cache_layout(config, [supported], specs.values())


def plan(request):
    with platform_with(request.get("builder")) as platform:
        return figures_of(request, platform)


def figures_of(request, platform):
    config, layers, caches, order = planned(request, platform)
    tokens, concurrency = get_kv_cache_capacity(config, caches)
    specs = [spec for group in caches.kv_cache_groups for spec in iter_layer_specs(group.kv_cache_spec)]
    figures = {
        "state_bytes": sorted({spec.state_content_size_bytes for spec in specs if isinstance(spec, MambaSpec)}),
        "block_size_tokens": config.cache_config.block_size,
        "cache_order": order.name,
        "groups": [group_figures(group, config) for group in caches.kv_cache_groups],
        "bytes_per_block": caches.kv_cache_tensors[0].size // caches.num_blocks,
        "num_blocks": caches.num_blocks,
        "pool_bytes": caches.kv_cache_tensors[0].size,
        "blocks_per_request": sum(
            cdiv(group.kv_cache_spec.max_memory_usage_bytes(config), group.kv_cache_spec.page_size_bytes)
            for group in caches.kv_cache_groups
        ),
        "max_concurrency": concurrency,
        "kv_cache_tokens": tokens,
        "tensors": sorted(map(tensor_figures, caches.kv_cache_tensors), key=lambda t: (t["layers"], t["offset_bytes"])),
    }
    cache = config.cache_config
    said = {
        "block_size_tokens": f"mamba_page_size_padded = {cache.mamba_page_size_padded}, "
        f"mamba_block_size = {cache.mamba_block_size}, mamba_cache_mode = {cache.mamba_cache_mode}",
        "blocks_per_request": ", ".join(
            f"{type(group.kv_cache_spec).__name__} {group.kv_cache_spec.max_memory_usage_bytes(config)} bytes in pages "
            f"of {group.kv_cache_spec.page_size_bytes}"
            for group in caches.kv_cache_groups
        ),
    }
    figures.update(prefix_figures(config, caches, said))
    figures.update(view_figures(layers, caches, order, said))
    if request["prompts"]:
        figures["replay"] = replay(config, caches, request["prompts"])
    return {"figures": figures, "said": said}


def tensor_figures(tensor):
    return {
        "layers": [number_of(name) for name in tensor.layers],
        "layer_stride_bytes": tensor.layer_stride,
        "block_stride_bytes": tensor.block_stride,
        "offset_bytes": tensor.offset,
    }


def group_figures(group, config):
    specs = list(iter_layer_specs(group.kv_cache_spec))
    figures = {
        "layers": sorted({number_of(name) for name in group.layer_names}),
        "block_size_tokens": group.kv_cache_spec.block_size,
        "page_bytes": sorted({spec.page_size_bytes for spec in specs}),
    }
    if isinstance(specs[0], MambaSpec) and config.cache_config.mamba_cache_mode == "align":
        figures["checkpoint_blocks"] = specs[0].num_prefill_checkpoint_blocks
    return figures


def prefix_figures(config, caches, said):
    """The units in which prefixes are hashed and found, or that the engine takes none such."""
    shared = generate_scheduler_kv_cache_config([caches])
    try:
        scheduler, hashed = resolve_kv_cache_block_sizes(shared, config)
        unit = resolve_cache_hit_alignment_tokens(shared, config, scheduler, hashed)
    except ValueError as error:
        said["match_refused"] = str(error)
        return {"match_refused": True}
    return {
        "match_refused": False,
        "scheduler_block_tokens": scheduler,
        "hash_block_tokens": hashed,
        "match_unit_tokens": unit,
    }


def view_figures(layers, caches, order, said):
    """The views of the first layer of every tensor: of attention as its backend sees it, of a state one a tensor."""
    pool = torch.empty(caches.kv_cache_tensors[0].size, dtype=torch.int8, device="meta")
    views = []
    try:
        for tensor in caches.kv_cache_tensors:
            views += tensor_views(tensor, pool, layers, caches, order)
    except (ValueError, AssertionError) as error:
        said["views_refused"] = str(error)
        return {"views_refused": True}
    return {"views_refused": False, "views": sorted(views, key=lambda view: (view["layer"], view["tensor"]))}


def tensor_views(tensor, pool, layers, caches, order):
    name = tensor.layers[0]
    group = next(group for group in caches.kv_cache_groups if name in group.layer_names)
    spec = getattr(group.kv_cache_spec, "kv_cache_specs", {}).get(name, group.kv_cache_spec)
    layer = layers[name]
    is_state = isinstance(layer, StateLayer)
    # Other layers' pages lie between the blocks of an order with the block outermost, so none is split.
    is_packed = tensor.block_stride > tensor.layer_stride
    kernel = None if is_state else select_common_block_size(spec.block_size, [layer.backend], [spec])
    split = spec.block_size if is_packed and not is_state else kernel
    view = create_kv_cache_views(pool, spec, caches.num_blocks, order, tensor, kernel_block_size=split)[0]
    if not is_state:
        group_of_layer = SimpleNamespace(kernel_block_size=kernel, kv_cache_spec=spec, backend=layer.backend)
        return [view_of(number_of(name), part_of(name), AttentionGroup.map_kv_cache_to_kernel_blocks(group_of_layer, view))]
    layer.bind_kv_cache(view)
    return [view_of(number_of(name), f"state {position}", one) for position, one in enumerate(layer.kv_cache)]


def view_of(layer, what, view):
    size = view.element_size()
    return {
        "layer": layer,
        "tensor": what,
        "shape": list(view.shape),
        "strides_bytes": [stride * size for stride in view.stride()],
        "offset_bytes": view.storage_offset() * size,
    }
