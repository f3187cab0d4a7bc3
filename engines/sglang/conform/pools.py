"""What SGLang makes of memory: the pools of tokens and of state slots, and the grids of the tree over them."""

import contextlib
from types import SimpleNamespace

import torch
from sglang.srt.configs.mamba_utils import BaseLinearStateParams, Mamba2StateShape
from sglang.srt.environ import envs
from sglang.srt.mem_cache import kv_cache_configurator
from sglang.srt.mem_cache.kv_cache_configurator import KVCacheConfigurator
from sglang.srt.model_executor.cuda_graph_config import CudaGraphConfig
from sglang.srt.model_executor.model_runner_components.layer_setup import ModelLayerInfo
from sglang.srt.model_executor.model_runner_components.spec_aux_hidden_state import SpecAuxHiddenStateConfig
from sglang.srt.model_executor.pool_configurator import DefaultPoolConfigurator
from sglang.srt.runtime_context import (
    get_context,
    get_parallel,
    get_schedule,
    mamba_checkpoint_grid,
    mamba_track_grid,
)
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

import replaying
from models import TextModel

STUBS = [
    "the free memory of a GPU: as the case says, behind weights and the runtime's share",
    "the configuration of the model: the engine's own class of its family, with the layers of ours",
    "arguments of the server: the engine's own, resolved for a dummy model, with the settings of the case",
    *replaying.STUBS,
]

# The functions of the engine that give the figures.
MADE_BY = {
    "attention_layers": DefaultPoolConfigurator,
    "state_layers": BaseLinearStateParams,
    "states.shape": Mamba2StateShape.create,
    "states.dtype": BaseLinearStateParams,
    "state_slot_bytes": BaseLinearStateParams,
    "token_bytes": DefaultPoolConfigurator,
    "state_slots_per_request": KVCacheConfigurator.resolve_max_num_reqs,
    "state_slots": KVCacheConfigurator,
    "token_slots": KVCacheConfigurator.config_from_budget,
    "max_running": KVCacheConfigurator.resolve_max_num_reqs,
    "checkpoint_tokens": mamba_checkpoint_grid,
    "decode_tokens": mamba_track_grid,
    **replaying.MADE_BY,
}

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "fp8_e4m3": torch.float8_e4m3fn}
NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
OURS = {torch_type: name for name, torch_type in DTYPES.items()}
GIB = 1 << 30


def arguments_of(request):
    """The arguments of the server by their names, as the settings of the case say."""
    engine, own = request["engine"], request["engine"]["own"]
    ratio = engine["state_memory_ratio"]
    return {
        "tp_size": engine["tensor_parallel"] * own["attention_data_parallel"],
        "dp_size": own["attention_data_parallel"],
        "enable_dp_attention": own["attention_data_parallel"] > 1,
        "page_size": own["page_size"],
        "chunked_prefill_size": engine["max_num_batched_tokens"],
        "attention_backend": "torch_native",
        "mem_fraction_static": 1.0,
        "cuda_graph_config": CudaGraphConfig(),
        "mamba_full_memory_ratio": 0.9 if ratio is None else ratio,
        "max_mamba_cache_size": own["max_mamba_cache_size"],
        "max_running_requests": engine["max_running_requests"],
        "max_total_tokens": own["max_total_tokens"],
        "disable_radix_cache": engine["cache_mode"] == "none",
        "disable_overlap_schedule": not own["overlap_schedule"],
        "mamba_radix_cache_strategy": own["mamba_radix_cache_strategy"],
        "mamba_track_interval": own["mamba_track_interval"],
        "speculative_num_draft_tokens": engine["speculative_tokens"] or None,
        "enable_linear_replayssm_spec": own["linear_replayssm_spec"],
        "enable_unified_memory": own["unified_memory"],
    }


@contextlib.contextmanager
def settings_of(request, model):
    """The arguments and the environment of the engine while a case is asked."""
    engine, own = request["engine"], request["engine"]["own"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(get_context().override_server_args(**arguments_of(request)))
        for setting, value in (
            (envs.SGLANG_MAMBA_SSM_DTYPE, NAMES.get(engine["ssm_dtype"])),
            (envs.SGLANG_MAMBA_CONV_DTYPE, NAMES.get(engine["conv_dtype"])),
            (envs.SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK, own["skip_decode_lock"] or None),
        ):
            # Its own override would leave the setting behind a refusal.
            if value is not None:
                setting.set(value)
                stack.callback(setting.clear)
        stack.enter_context(get_parallel().override(world_group=SimpleNamespace(cpu_group=None)))
        get_context().server_args._model_config = model
        yield


def drafts_of(request):
    """Layers of the drafter."""
    return sum(1 for layer in request["model"]["layers"] if layer.get("draft"))


def configurator_of(request, model):
    """The engine's configurator of the memory of one rank."""
    engine = request["engine"]
    drafts = drafts_of(request)
    speculates = engine["speculative_tokens"] > 0
    algorithm = ("EAGLE" if drafts else "NGRAM") if speculates else None
    return KVCacheConfigurator(
        device="cpu",
        gpu_id=0,
        attn_dp_size=engine["own"]["attention_data_parallel"],
        pp_size=1,
        pp_group=None,
        model=None,
        model_config=model,
        server_args=get_context().server_args,
        kv_cache_dtype=DTYPES[engine["kv_dtype"] or request["model"]["dtype"]],
        model_dtype=DTYPES[request["model"]["dtype"]],
        page_size=engine["own"]["page_size"],
        sliding_window_size=None,
        spec_algorithm=SpeculativeAlgorithm.from_string(algorithm),
        is_draft_worker=False,
        post_capture_kv_active=False,
        spec_aux_config=SpecAuxHiddenStateConfig(eagle_draft_num_layers=drafts or None),
        is_hybrid_swa=False,
        is_hybrid_swa_compress=False,
        use_mla_backend=model.has_latents,
        layer_info=ModelLayerInfo(
            start_layer=0, end_layer=model.num_hidden_layers, num_effective_layers=model.num_hidden_layers
        ),
        forward_stream=None,
        req_to_token_pool=None,
        token_to_kv_pool_allocator=None,
        memory_pool_config=None,
    )


def split(configurator, memory):
    """The configuration of the pools, by the engine's own steps before it takes any memory."""
    asked = kv_cache_configurator.get_available_gpu_memory
    kv_cache_configurator.get_available_gpu_memory = lambda *_, **__: memory / GIB
    try:
        return configurator._resolve_memory_pool_config(pre_model_load_memory=0)
    finally:
        kv_cache_configurator.get_available_gpu_memory = asked


def plan(request):
    model = TextModel(request["model"], request["max_model_len"])
    with settings_of(request, model):
        configurator = configurator_of(request, model)
        config = split(configurator, request["engine"]["memory_bytes"])
        states = configurator.mambaish_config.mamba2_cache_params
        page = request["engine"]["own"]["page_size"]
        figures = {
            "attention_layers": len(configurator.mambaish_config.full_attention_layer_ids) + drafts_of(request),
            "state_layers": len(states.layers),
            "states": state_figures(states),
            "state_slot_bytes": states.mamba_cache_per_req,
            "token_bytes": DefaultPoolConfigurator(configurator)._cell_size,
            "state_slots_per_request": configurator._calculate_mamba_ratio(),
            "state_slots": get_schedule().max_mamba_cache_size,
            "token_slots": config.max_total_num_tokens,
            "max_running": config.max_running_requests,
        }
        if request["engine"]["cache_mode"] != "none":
            if request["engine"]["own"]["mamba_radix_cache_strategy"] != "no_buffer":
                figures["checkpoint_tokens"] = mamba_checkpoint_grid(page)
                figures["decode_tokens"] = mamba_track_grid(page)
        if config.unified_total_bytes is not None:
            figures["token_part_bytes"] = config.unified_total_bytes
        said = {}
        if request["prompts"]:
            figures["replay"], said = replaying.replay(model, config, configurator.spec_algorithm, request["prompts"])
        return {"figures": figures, "said": said}


def state_figures(states):
    """The tensors of a state that have elements."""
    tensors = [(shape, states.dtype.conv) for shape in states.shape.conv] + [(states.shape.temporal, states.dtype.temporal)]
    return [
        {"shape": [int(extent) for extent in shape], "dtype": OURS[dtype]}
        for shape, dtype in tensors
        if all(extent > 0 for extent in shape)
    ]
