"""Models as SGLang's pools see them: its own classes of configurations, with the layers that a request tells of.

Which layers are which is told; the shapes and types of their states are the engine's.
"""

from sglang.srt.configs.falcon_h1 import FalconH1Config
from sglang.srt.configs.granitemoehybrid import GraniteMoeHybridConfig
from sglang.srt.configs.kimi_linear import KimiLinearConfig
from sglang.srt.configs.lfm2 import Lfm2Config
from sglang.srt.configs.model_config import ModelConfig
from sglang.srt.configs.nemotron_h import NemotronHConfig
from sglang.srt.configs.qwen3_next import Qwen3NextConfig


def told_class(base):
    """The class of the engine with its layers as they are told."""

    class Told(base):
        def __init__(self, **fields):  # its base would make a bare one of a class without
            super().__init__(**fields)

        linear_layer_ids = mamba_layer_ids = property(lambda self: self.told_states)
        full_attention_layer_ids = attention_layer_ids = property(lambda self: self.told_attention)

    return Told


def gdn(told, _):
    return Qwen3NextConfig, {
        "linear_num_key_heads": told["key_heads"],
        "linear_num_value_heads": told["value_heads"],
        "linear_key_head_dim": told["key_head_dim"],
        "linear_value_head_dim": told["value_head_dim"],
        "linear_conv_kernel_dim": told["conv_kernel"],
    }


def mamba2(told, model):
    if model["name"].startswith("granite"):
        base, names = GraniteMoeHybridConfig, ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups")
        more = {"mamba_d_conv": told["conv_kernel"], "mamba_chunk_size": told["chunk_size"]}
        # Its class takes no inner size but that of the hidden states.
        more |= {"mamba_expand": 1, "hidden_size": told["heads"] * told["head_dim"]}
    elif model["name"].startswith("Falcon"):
        base, names = FalconH1Config, ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups")
        more = {"mamba_d_conv": told["conv_kernel"], "mamba_chunk_size": told["chunk_size"]}
        more |= {"mamba_d_ssm": told["heads"] * told["head_dim"]}
    else:
        base, names = NemotronHConfig, ("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups")
        more = {"conv_kernel": told["conv_kernel"], "mamba_chunk_size": told["chunk_size"]}
    return base, dict(zip(names, (told["heads"], told["head_dim"], told["state_size"], told["groups"]))) | more


def kda(told, _):
    return KimiLinearConfig, {
        "linear_attn_config": {
            "num_heads": told["heads"],
            "head_dim": told["head_dim"],
            "short_conv_kernel_size": told["conv_kernel"],
            "kda_layers": [1],
            "full_attn_layers": [],
        }
    }


def short_conv(told, _):
    return Lfm2Config, {"hidden_size": told["channels"], "conv_L_cache": told["conv_kernel"]}


FAMILIES = {"gdn": gdn, "mamba2": mamba2, "kda": kda, "short_conv": short_conv}


class TextModel:
    """What the pools ask of the configuration of a model, with the engine's own answers."""

    is_draft_model = is_multimodal = is_encoder_decoder = False
    vocab_size = 1 << 62  # tokens stand for their contents
    linear_attn_registry_result = attention_arch = quantization = None
    get_num_kv_heads = ModelConfig.get_num_kv_heads
    get_total_num_kv_heads = ModelConfig.get_total_num_kv_heads

    def __init__(self, model, context_len):
        layers = [layer for layer in model["layers"] if not layer.get("draft")]
        states = [layer for layer in layers if layer["kind"] == "state"]
        attention = [layer for layer in layers if layer["kind"] != "state"]
        heads = attention[0]
        base, fields = FAMILIES[states[0]["family"]](states[0], model)
        config = told_class(base)(**fields)
        config.num_attention_heads = heads["query_heads"]
        config.num_key_value_heads = heads["kv_heads"]
        if "indexer_bytes_per_token" in model:
            # Keys of 128 channels in fp8 with a scale, of which one stands for several tokens.
            config.architectures, config.index_topk = ["Glm5NextForConditionalGeneration"], 2048
            config.index_head_dim, config.index_kpool = 128, model["ring_tokens"]
        if base is GraniteMoeHybridConfig:
            config.layer_types = ["mamba" if layer["kind"] == "state" else "attention" for layer in layers]
        config.told_states = [layer["layer"] for layer in states]
        config.told_attention = [layer["layer"] for layer in attention]
        self.hf_config = self.hf_text_config = config
        self.context_len = context_len
        self.num_hidden_layers = 1 + max(layer["layer"] for layer in layers)
        self.has_latents = heads["kind"] == "mla"
        self.head_dim, self.v_head_dim = heads["head_size_k"], heads["head_size_v"]
        # A latent is one row; which part of it turns with the position changes no size.
        self.kv_lora_rank, self.qk_rope_head_dim = heads["head_size_k"], 0
