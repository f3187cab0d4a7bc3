"""The configuration that vLLM's functions read, of one request.

Its configurations of the cache and of the scheduler are the engine's own; the whole would look for a GPU and a model on
disk, so a bare object with the engine's own properties stands for it.
"""

from types import SimpleNamespace

import torch
from vllm.config import VllmConfig
from vllm.config.cache import CacheConfig
from vllm.config.observability import ObservabilityConfig
from vllm.config.scheduler import SchedulerConfig
from vllm.config.speculative import SpeculativeConfig

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", None: "auto"}

# What the scheduler asks of models that are more than a decoder of text.
NOT_OF_TEXT = ["is_diffusion", "is_encoder_decoder", "return_sampling_mask", "supports_multimodal_inputs", "uses_mrope"]


class Speculation:
    """A drafter of MTP layers, with the engine's own answers about it."""

    method = "mtp"
    disable_lookahead_block_hashes = disable_eagle_block_drop = False
    use_eagle = SpeculativeConfig.use_eagle
    use_eagle_block_drop = SpeculativeConfig.use_eagle_block_drop
    needs_eagle_block_drop = getattr(SpeculativeConfig, "needs_eagle_block_drop", None)  # since 0.33
    use_dflash = SpeculativeConfig.use_dflash
    use_dspark = SpeculativeConfig.use_dspark
    use_multi_module_mtp = SpeculativeConfig.use_multi_module_mtp
    uses_draft_model = SpeculativeConfig.uses_draft_model
    uses_dynamic_speculative_decoding = SpeculativeConfig.uses_dynamic_speculative_decoding
    max_num_new_slots_for_drafting = SpeculativeConfig.max_num_new_slots_for_drafting
    parallel_drafting = enable_adaptive_verification = False
    draft_model_config = num_speculative_tokens_per_batch_size = None

    def __init__(self, tokens):
        self.num_speculative_tokens = tokens


class Configuration:
    """What the engine's functions read of a VllmConfig."""

    num_speculative_tokens = VllmConfig.num_speculative_tokens
    num_lookahead_tokens = VllmConfig.num_lookahead_tokens
    num_prefill_lookahead_tokens = VllmConfig.num_prefill_lookahead_tokens
    num_hash_lookahead_tokens = getattr(VllmConfig, "num_hash_lookahead_tokens", 0)  # since 0.33
    max_concurrent_batches = VllmConfig.max_concurrent_batches
    max_in_flight_tokens = VllmConfig.max_in_flight_tokens
    diffusion_config = kv_transfer_config = kv_events_config = lora_config = ec_transfer_config = None
    use_v2_model_runner = True
    is_mm_encoder_only = False

    def __init__(self, request):
        engine, model = request["engine"], request["model"]
        self.cache_config = cache_configuration(engine, model)
        self.model_config = model_configuration(request)
        self.parallel_config = SimpleNamespace(
            tensor_parallel_size=engine["tensor_parallel"],
            pipeline_parallel_size=1,
            data_parallel_size=1,
            data_parallel_index=0,
            decode_context_parallel_size=1,
            prefill_context_parallel_size=1,
        )
        self.scheduler_config = SchedulerConfig(
            max_model_len=request["max_model_len"],
            is_encoder_decoder=has_encoder(model),
            disable_hybrid_kv_cache_manager=not engine["hybrid_manager"],
            max_num_batched_tokens=engine["max_num_batched_tokens"],
            async_scheduling=engine["concurrent_batches"] == 2,
        )
        drafts = engine["speculative_tokens"]
        self.speculative_config = Speculation(drafts) if drafts else None
        self.attention_config = SimpleNamespace(hisparse_config=None)
        self.compilation_config = SimpleNamespace(static_forward_context={})
        self.device_config = SimpleNamespace(device_type="cuda")
        self.observability_config = ObservabilityConfig()
        self.aux_output_config = SimpleNamespace(enabled=False)
        self.ec_manager_config = SimpleNamespace(get_encoder_cache_manager_obj=lambda: None)


def has_encoder(model):
    return any(layer["kind"] == "cross_attention" for layer in model["layers"])


def cache_configuration(engine, model):
    """The engine's own, as its flags and the class of the model fill it in."""
    kv = engine["kv_dtype"]
    cache = CacheConfig(
        cache_dtype="auto" if kv in (None, model["dtype"]) else NAMES.get(kv, kv),
        # The engine's own configuration switches it off beside an encoder.
        enable_prefix_caching=engine["cache_mode"] != "none" and not has_encoder(model),
        num_gpu_blocks_override=engine["num_blocks"],
        prefix_match_unit=engine["prefix_match_unit_tokens"],
        mamba_cache_dtype=NAMES[engine["conv_dtype"]],
        mamba_ssm_cache_dtype=NAMES[engine["ssm_dtype"]],
        **({"block_size": engine["block_size_tokens"]} if engine["block_size_tokens"] else {}),
    )
    if any(layer["kind"] == "state" for layer in model["layers"]):
        cache.mamba_cache_mode = engine["cache_mode"]
    return cache


def model_configuration(request):
    model = request["model"]
    attention = next((layer for layer in model["layers"] if layer["kind"] != "state"), None)
    latent = attention is not None and attention["kind"] == "mla"
    ranks = request["engine"]["tensor_parallel"]
    states = any(layer["kind"] == "state" for layer in model["layers"])
    return SimpleNamespace(
        dtype=DTYPES[model["dtype"]],
        max_model_len=request["max_model_len"],
        original_max_model_len=request["max_model_len"],
        use_mla=latent,
        is_hybrid=states and attention is not None,
        architecture="conform",
        supports_kv_cache_grouping=False,
        runner_type="generate",
        **{**dict.fromkeys(NOT_OF_TEXT, False), "is_encoder_decoder": has_encoder(model)},
        get_num_kv_heads=lambda _: 1 if latent else max(1, attention["kv_heads"] // ranks),
        get_head_size=lambda: attention["head_size_k"],
    )
