"""Layers of a model as vLLM's planning sees them: their specs are made by the engine's own functions.

What a GPU decides is told by the request: which kernel blocks and orders the backends of attention take, and which
states the scans export.
"""

from dataclasses import fields, replace
from math import lcm
from types import SimpleNamespace

import protocol
import torch
from vllm.distributed import divide
from vllm.model_executor.layers.attention.attention import Attention
from vllm.model_executor.layers.attention.chunked_local_attention import ChunkedLocalAttention
from vllm.model_executor.layers.attention.cross_attention import CrossAttention
from vllm.model_executor.layers.attention.mla_attention import MLAAttention
from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
from vllm.model_executor.layers.mamba.abstract import MambaBase
from vllm.model_executor.layers.mamba.mamba_utils import MambaStateDtypeCalculator, MambaStateShapeCalculator
from vllm.model_executor.models.deepseek_v2 import DeepseekV32IndexerCache
from vllm.utils.torch_utils import kv_cache_dtype_str_to_dtype
from vllm.v1.attention.backend import AttentionBackend, AttentionType, MultipleOf
from vllm.v1.attention.backends.registry import MambaAttentionBackendEnum
from vllm.v1.kv_cache_interface import MambaSpec
from vllm.v1.kv_cache_layout import KVCacheLayout
from vllm.v1.worker.utils import customize_attention_spec


def backend_of(told, latent):
    """A backend of attention that declares what the request says, of latents or of heads."""
    blocks = told["latents" if latent else "heads"]
    sizes = list(blocks["kernel_blocks"]) or [MultipleOf(blocks["smallest_kernel_block"])]

    class Backend(AttentionBackend):
        get_name = staticmethod(lambda: told["name"])
        get_impl_cls = staticmethod(lambda: None)
        get_builder_cls = staticmethod(lambda: None)
        get_supported_kernel_block_sizes = staticmethod(lambda kv_cache_spec=None: sizes)
        supported_kv_cache_layouts = classmethod(lambda cls: tuple(KVCacheLayout[name] for name in told["orders"]))

    return Backend


def kv_heads_of_rank(heads, ranks):
    """As QKVParallelLinear shares them: in equal parts, or a head on equally many ranks."""
    if ranks >= heads:
        divide(ranks, heads)
        return 1
    return divide(heads, ranks)


# The class of the engine that makes the spec of a layer, by its kind.
MADE_BY_KIND = {
    "full_attention": Attention,
    "sliding_window": Attention,
    "mla": MLAAttention,
    "chunked_local": ChunkedLocalAttention,
    "cross_attention": CrossAttention,
}


class AttentionLayer(AttentionLayerBase):
    """A layer of attention of one rank, whose spec its own class of the engine makes."""

    def __init__(self, told, backend, config):
        ranks = config.parallel_config.tensor_parallel_size
        cache_dtype = config.cache_config.cache_dtype
        self.is_draft_layer = told["draft"]
        self.backend = self.attn_backend = backend
        self.kind = told["kind"]
        self.attn_type = AttentionType.ENCODER_DECODER if self.kind == "cross_attention" else AttentionType.DECODER
        self.kv_cache_dtype = cache_dtype
        self.kv_cache_torch_dtype = kv_cache_dtype_str_to_dtype(cache_dtype, config.model_config)
        self.num_kv_heads = kv_heads_of_rank(told["kv_heads"], ranks)
        divide(told["query_heads"], ranks)  # as the projections of the model are shared
        self.head_size = told["head_size_k"]
        self.head_size_v = told["head_size_v"]
        self.attention_chunk_size = told["window_tokens"] if self.kind == "chunked_local" else None
        self.sliding_window = None if self.attention_chunk_size else told["window_tokens"] or None
        self.indexer = self.topk_buffer_width = None
        self.non_causal_multi_token_decode = False

    def get_attn_backend(self):
        return self.backend

    def get_kv_cache_spec(self, vllm_config):
        spec = MADE_BY_KIND[self.kind].get_kv_cache_spec(self, vllm_config)
        spec = customize_attention_spec(self.backend, spec)
        marks = any(field.name == "is_draft" for field in fields(spec))  # since 0.33
        return replace(spec, is_draft=self.is_draft_layer) if marks else spec


class IndexerLayer(AttentionLayerBase):
    """What an indexer keeps beside its layer, whose spec the engine's own class of it makes."""

    def __init__(self, told, backend, config):
        self.head_dim, self.dtype, self.cache_config = told["bytes_per_entry"], torch.uint8, config.cache_config
        self.tokens_per_entry = told["tokens_per_entry"]
        self.backend = backend

    def get_attn_backend(self):
        return self.backend

    def get_kv_cache_spec(self, vllm_config):
        spec = DeepseekV32IndexerCache.get_kv_cache_spec(self, vllm_config)
        return replace(spec, tokens_per_state=self.tokens_per_entry)


def state_shapes(told, ranks, drafts):
    """The shapes of the state of a layer of one rank, by the engine's own calculator."""
    shapes = MambaStateShapeCalculator
    family, kernel = told["family"], told.get("conv_kernel")
    if family == "gdn":
        return shapes.gated_delta_net_state_shape(
            ranks, told["key_heads"], told["value_heads"], told["key_head_dim"], told["value_head_dim"], kernel, drafts
        )
    if family == "mamba2":
        return shapes.mamba2_state_shape(
            ranks,
            told["heads"] * told["head_dim"],
            told["groups"],
            told["heads"],
            told["head_dim"],
            told["state_size"],
            kernel,
            drafts,
        )
    if family == "mamba1":
        return shapes.mamba1_state_shape(ranks, told["inner_size"], told["state_size"], kernel)
    if family == "kda":
        return shapes.kda_state_shape(
            ranks, told["heads"], told["head_dim"], conv_kernel_size=kernel, num_spec=drafts
        )
    if family == "short_conv":
        return shapes.short_conv_state_shape(ranks, told["channels"], kernel, drafts)
    if family == "linear":
        return shapes.linear_attention_state_shape(told["heads"], ranks, told["head_dim"])
    raise protocol.NotAsked(f"states of the family {family}, of which this engine has no class")


def state_dtypes(told, config):
    """The element types of the same."""
    types, cache, model = MambaStateDtypeCalculator, config.cache_config, config.model_config.dtype
    conv, ssm = cache.mamba_cache_dtype, cache.mamba_ssm_cache_dtype
    makers = {
        "gdn": lambda: types.gated_delta_net_state_dtype(model, conv, ssm),
        "mamba2": lambda: types.mamba2_state_dtype(model, conv, ssm),
        "mamba1": lambda: types.mamba1_state_dtype(model, conv, ssm),
        "kda": lambda: types.kda_state_dtype(model, conv, ssm),
        "short_conv": lambda: types.short_conv_state_dtype(model, conv),
        "linear": lambda: types.linear_attention_state_dtype(model, conv),
    }
    return makers[told["family"]]()


def exports_of(family, backend):
    """Of what the block is a multiple, if of anything, and at which multiples of tokens a chunk exports a state, if at
    all: as the classes of the layers declare it, which look at the kernels of the GPU."""
    since_0_33 = hasattr(MambaBase, "get_prefill_checkpoint_alignment")
    tokens = backend["gdn_checkpoint_tokens"] if since_0_33 else 1
    if family == "gdn" and tokens > 1:
        return tokens, tokens
    if family == "mamba2":
        return None, 1
    if family == "kda" and backend["flash_kda"]:
        return None, 16
    return None, None


class StateLayer(MambaBase):
    """A recurrent layer of one rank."""

    mamba_type = MambaAttentionBackendEnum.MAMBA2

    def __init__(self, told, config, backend):
        ranks = config.parallel_config.tensor_parallel_size
        self.shapes = state_shapes(told, ranks, config.num_speculative_tokens)
        self.dtypes = state_dtypes(told, config)
        self.alignment, self.exported_at = exports_of(told["family"], backend)

    def get_state_shape(self):
        return self.shapes

    def get_state_dtype(self):
        return self.dtypes

    def get_prefill_checkpoint_alignment(self):
        return self.alignment

    def get_kv_cache_spec(self, vllm_config):
        spec = super().get_kv_cache_spec(vllm_config)
        if not self.exported_at:
            return spec
        at = self.exported_at
        if self.alignment:
            # What FlashInfer exports lies on the grid that prefixes are matched by, or on blocks.
            unit = vllm_config.cache_config.prefix_match_unit
            at = lcm(unit, self.alignment) if unit else spec.block_size
        return replace(spec, num_prefill_checkpoint_blocks=1, prefill_checkpoint_alignment=at)


PARTS = {"state": "state", "cross_attention": "cross"}


def name_of(layer, indexer=False):
    """A name that sorts and is found again: drafts count on from the layers of the model."""
    return f"layers.{layer['layer']}.{'indexer' if indexer else PARTS.get(layer['kind'], 'attn')}"


def part_of(name):
    """What of a layer it is, as view figures call it."""
    return {"indexer": "indexer", "cross": "cross"}.get(name.split(".")[2], "kv")


def number_of(name):
    return int(name.split(".")[1])


def layers_of(request, config):
    """Every layer of the model by its name, in the order of the model."""
    told = request["backend"]
    backend = backend_of(told, config.model_config.use_mla)
    any_block = {"smallest_kernel_block": 1, "kernel_blocks": []}
    of_indexers = backend_of(dict(told, heads=any_block), False)
    layers = {}
    for layer in request["model"]["layers"]:
        is_state = layer["kind"] == "state"
        layers[name_of(layer)] = (
            StateLayer(layer, config, told) if is_state else AttentionLayer(layer, backend, config)
        )
        if layer.get("indexer"):
            layers[name_of(layer, True)] = IndexerLayer(layer["indexer"], of_indexers, config)
    return layers


def model_class(layers, config):
    """What planning asks the class of a model: its states."""
    states = [layer for layer in layers.values() if isinstance(layer, StateLayer)]
    specs = [MambaSpec(shapes=layer.shapes, dtypes=layer.dtypes, block_size=-1) for layer in states]
    return SimpleNamespace(get_mamba_specs_from_config=lambda _: specs)
