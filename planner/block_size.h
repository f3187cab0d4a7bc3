#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "planner/derivation.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Tokens of a scan chunk of families that name none, in mode all. Source: vLLM ModelConfig.get_mamba_chunk_size.
inline constexpr std::int64_t default_scan_chunk_tokens = 2048;

/// What the block size depends on.
struct BlockSizeInputs {
  bool latent = false;               ///< attention is mla
  std::int64_t checkpoint_tokens = 1;  ///< k, of which blocks are multiples in mode align; 1: of none
  std::int64_t state_bytes = 0;      ///< M, the largest state of the model; 0 without recurrent layers
  std::int64_t bytes_per_token = 0;  ///< a1, the largest of the model's attention layers; 0 without attention
  std::int64_t pack_size = 1;        ///< N
  std::optional<std::int64_t> scan_chunk_tokens;  ///< mode all: the family's chunk, lcm where layers differ; empty
                                                  ///< where no layer names one: default_scan_chunk_tokens
};

/// Kernel blocks of the attention backend: as set, else of the profile, else every multiple of 16.
struct DeclaredBlocks {
  std::int64_t smallest = 16;             ///< tokens
  std::span<const std::int64_t> listed;   ///< empty: every multiple of the smallest
  std::string_view source;                ///< who says so: a key, or the backend of a profile; empty: nobody
};
DeclaredBlocks declared_blocks(const EngineSpec& engine, bool latent);

/// Tokens at multiples of which the scan of a layer exports a state; 1: it exports none, or at any token, so that
/// blocks need not follow it. Source: vLLM 0.33, declarations of the state backends.
std::int64_t exported_at(const RecurrentSpec& layer, const EngineSpec& engine);

/// k: the multiple of tokens at which all scans of the model can export a state; 1 where one of them exports none, or
/// the release does not ask for it. Source: vLLM 0.33, declarations of the state backends.
std::int64_t checkpoint_tokens(const ModelSpec& model, const EngineSpec& engine);

/// A = max(smallest kernel block the backend supports, user block size or 16), of latents beside states at least what
/// the release says. Source: vLLM HybridAttentionMambaModelConfig.
std::int64_t alignment_grain(const EngineSpec& engine, const BlockSizeInputs& inputs, const DerivationLog& log);

/// C, the grid on which states are kept where no page ties them to the block of attention: mode all lcm(user mamba
/// block or scan chunk, A), mode align lcm(user mamba block, A) or A; in mode none A, of no meaning.
std::int64_t state_grid(std::optional<std::int64_t> scan_chunk, std::int64_t grain, const EngineSpec& engine,
                        const DerivationLog& log);

/// w, the tokens of a block with which layers with a sliding window begin: the largest block of the backend's kernels
/// that is at most B, the smallest where none is; B where the backend takes every multiple of its smallest.
/// Source: vLLM 0.32 and 0.33 Attention.get_kv_cache_spec.
/// Example: B = 256 and kernel blocks of 16, 32 and 64: 64.
std::int64_t window_block_size(std::int64_t block_size_tokens, const EngineSpec& engine, const DerivationLog& log);

/// B, the tokens of one block of every attention layer.
///
/// Modes none and align: B = A * ceil(M / (A * N * a1)); mode all: C = lcm(scan chunk or user mamba block, A),
/// B = C * ceil(ceil(M / (N * a1)) / C); never below A. Without states B is A; without attention, of which no
/// backend then asks anything, C in mode all, else the user block size or 16 (vLLM 0.33
/// Platform.update_block_size_for_backend).
/// Releases that align to checkpoints take lcm(A, k) for A in mode align, and round B up to whole kernel blocks.
/// Source: vLLM HybridAttentionMambaModelConfig; packs: vLLM PR 35703.
/// Example: Qwen3.5-397B at TP2, N = 5: 16 * ceil(2134016 / (16 * 5 * 1024)) = 432.
std::int64_t attention_block_size(const BlockSizeInputs& inputs, const EngineSpec& engine, const DerivationLog& log);

/// b: the block itself where the backend supports every multiple of its smallest kernel block, else the largest
/// supported kernel block that divides it.
/// Throws SpecError where none does. Source: vLLM HybridAttentionMambaModelConfig.
std::int64_t kernel_block_size(std::int64_t block_size_tokens, bool latent, const EngineSpec& engine,
                               const DerivationLog& log);

}  // namespace hybridkv
