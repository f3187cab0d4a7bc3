#pragma once

namespace hybridkv {

// Numbers of the clock that are the same for every engine, and none of its coefficients.

/// Attention reaches this share of what dense products do, in FLOPs and in bytes. Source of the first: the time model
/// of the published runs; the second was found on them (times per output token over long contexts).
inline constexpr double attention_share = 0.7;

/// A chunked scan of a delta rule starts with this, whatever its length, and a token costs at least that.
/// Source: kernel tables of aiconfigurator (SGLang 0.5.14, shapes of Qwen3.5-397B) for H200, B200 and B300.
inline constexpr double scan_start_seconds = 37e-6;
inline constexpr double scan_token_seconds = 37e-9;
inline constexpr double scan_head_elements = 128 * 128;

/// Outside the graph a layer with latents, and one with states, launches so many times more than another layer does.
/// Found on published runs, as the next two: Kimi-K2.5 and DeepSeek-R1, and Qwen3.5, beside Llama and gpt-oss in steps
/// with prompts.
inline constexpr double eager_latent_layers = 4;
inline constexpr double eager_state_layers = 1;
/// Launches of a layer of experts in 4 bits, beside those of fp8 and bf16: fused where the GPU multiplies in 4 bits
/// (nvfp4 and mxfp4 on Blackwell), and with kernels that unpack where it does not (int4, mxfp4 on Hopper).
inline constexpr double fused_experts = 0.4;
inline constexpr double unpacked_experts = 1.5;
/// Routed experts alone launch half of what they do beside a shared one, whose products, activation and sum come on
/// top. Found on published runs of gpt-oss, beside those of DeepSeek-R1, Kimi-K2.5 and Qwen3.5 with a shared expert.
inline constexpr double lone_experts = 0.5;
/// Kernels that unpack 4 bits multiply with the tensor instructions of older GPUs, which reach this share of the bf16
/// peak of one that multiplies in 4 bits itself. Found on published runs of Kimi-K2.5 in int4 on B200.
inline constexpr double unpacked_share = 0.25;

/// Bytes of an element that is sent to the rank of its expert, in 8 bits, and comes back in 16.
inline constexpr double sent_bytes = 1, returned_bytes = 2;

}  // namespace hybridkv
