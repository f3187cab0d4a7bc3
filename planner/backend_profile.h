#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "attention/cache_order.h"
#include "base/named_values.h"

namespace hybridkv {

/// What the attention and state backends of a machine declare. Which backend an engine picks on a GPU was read, not
/// run.
enum class BackendProfile {
  sm80,              ///< A100, L4, RTX 4090: FlashAttention 2, scans of Triton
  sm90,              ///< H100, H200: FlashAttention 3, scans of FlashInfer
  sm90_flashinfer,   ///< the same with FlashInfer attention
  sm100_flashinfer,  ///< B200: FlashInfer attention and scans
  sm100_fa4,         ///< B200: FlashAttention 4 with heads of 256 channels
  flashmla,          ///< H100 with FlashMLA for latents
  cutlass_mla,       ///< B200 with CUTLASS for latents
  flash_attn_mla,    ///< H100, latents: FlashAttention
  flashinfer_mla,    ///< B200, latents: FlashInfer
  cpu,               ///< the engine's own CPU kernel
  rocm,              ///< AMD, unified attention
};

inline constexpr auto backend_profile_names = std::to_array<Named<BackendProfile>>(
    {{BackendProfile::sm80, "sm80"},
     {BackendProfile::sm90, "sm90"},
     {BackendProfile::sm90_flashinfer, "sm90-flashinfer"},
     {BackendProfile::sm100_flashinfer, "sm100-flashinfer"},
     {BackendProfile::sm100_fa4, "sm100-fa4"},
     {BackendProfile::flashmla, "flashmla"},
     {BackendProfile::cutlass_mla, "cutlass-mla"},
     {BackendProfile::flash_attn_mla, "flash-attn-mla"},
     {BackendProfile::flashinfer_mla, "flashinfer-mla"},
     {BackendProfile::cpu, "cpu"},
     {BackendProfile::rocm, "rocm"}});
inline constexpr auto all_backend_profiles = values_of(backend_profile_names);

constexpr std::string_view to_string(BackendProfile value) { return name_in(backend_profile_names, value); }
constexpr std::optional<BackendProfile> parse_backend_profile(std::string_view name) {
  return value_in(backend_profile_names, name);
}

/// Kernel blocks of a backend: every multiple of the smallest, or the listed sizes alone.
struct KernelBlocks {
  std::int64_t smallest = 16;            ///< tokens
  std::span<const std::int64_t> listed;  ///< empty: every multiple of the smallest
};

/// The declarations behind a profile's name.
struct ProfileFacts {
  std::string_view backend;                  ///< of attention, as the engine calls it
  KernelBlocks attention;                    ///< of layers with heads
  KernelBlocks latents;                      ///< of mla
  std::int64_t gdn_checkpoint_tokens = 1;    ///< k: a gdn scan exports states at multiples of it; 1: it exports none
  bool flash_kda = false;                    ///< the kda kernel that exports states runs, where the model can
  std::span<const CacheOrder> orders;        ///< orders that the backend reads, preferred first
  std::optional<BackendProfile> without_latents;  ///< of a backend for latents alone: what the machine has for others
};

const ProfileFacts& facts_of(BackendProfile profile);

}  // namespace hybridkv
