#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "attention/attention_spec.h"
#include "base/named_values.h"

namespace hybridkv {

/// A quantised K/V cache that keeps scales beside the values, so that it is no element type: its views count bytes.
/// What one head keeps for one token, in this order:
///   int8_per_token_head, fp8_per_token_head   K: d bytes and an fp32 scale, V the same
///   int4_per_token_head                       K: d/2 bytes and an fp32 scale, V the same
///   nvfp4                                     K: d/2 bytes and an fp8 scale for every 16 channels, V the same
///   turboquant_3bit_nc, turboquant_4bit_nc    K: 3 or 4 bits a channel and a 2-byte norm, V: the same bits, 2-byte
/// scale
///                                             and zero point; side by side, rounded up to an even number of bytes
///   turboquant_k8v4                           K: d bytes fp8, V: d/2 bytes, 2-byte scale and zero point; side by side
///   fp8_ds_mla                                latents of 512 alone: 512 bytes fp8, four fp32 scales, 64 bf16 for RoPE
///   nvfp4_ds_mla                              latents of 512 alone: 256 bytes of e2m1, 32 fp8 scales, 64 fp8 for RoPE
/// The last two have a fixed size, 656 and 352 bytes: a latent without a part for RoPE leaves that of the slot unused.
enum class KvFormat {
  int8_per_token_head,
  fp8_per_token_head,
  int4_per_token_head,
  nvfp4,
  turboquant_3bit_nc,
  turboquant_4bit_nc,
  turboquant_k8v4,
  fp8_ds_mla,
  nvfp4_ds_mla,
};

/// In the order of the enumeration.
inline constexpr auto kv_format_names = std::to_array<Named<KvFormat>>(
    {{KvFormat::int8_per_token_head, "int8_per_token_head"},
     {KvFormat::fp8_per_token_head, "fp8_per_token_head"},
     {KvFormat::int4_per_token_head, "int4_per_token_head"},
     {KvFormat::nvfp4, "nvfp4"},
     {KvFormat::turboquant_3bit_nc, "turboquant_3bit_nc"},
     {KvFormat::turboquant_4bit_nc, "turboquant_4bit_nc"},
     {KvFormat::turboquant_k8v4, "turboquant_k8v4"},
     {KvFormat::fp8_ds_mla, "fp8_ds_mla"},
     {KvFormat::nvfp4_ds_mla, "nvfp4_ds_mla"}});
inline constexpr auto all_kv_formats = values_of(kv_format_names);

/// What the formats are made of, in bytes and channels.
namespace kv_format {
inline constexpr std::int64_t scale_bytes = 4;  ///< fp32: of a token and head, or of latent_group channels
inline constexpr std::int64_t nvfp4_group = 16;  ///< channels of one fp8 scale
inline constexpr float largest_e2m1 = 6;         ///< magnitude of an element of nvfp4
inline constexpr std::int64_t latent_channels = 512, rope_channels = 64;  ///< of the latent formats
inline constexpr std::int64_t latent_group = 128;  ///< channels of one fp32 scale of fp8_ds_mla
inline constexpr std::int64_t latent_bytes = latent_channels + latent_channels / latent_group * scale_bytes;
}  // namespace kv_format

/// The name that engines use: "int8_per_token_head", …
constexpr std::string_view to_string(KvFormat format) { return name_in(kv_format_names, format); }
constexpr std::optional<KvFormat> parse_kv_format(std::string_view name) { return value_in(kv_format_names, name); }

/// Bytes that one head keeps for one token; of a latent, `key` is all of it and `value` its first part.
struct HeadBytes {
  std::int64_t key = 0;
  std::int64_t value = 0;
  bool operator==(const HeadBytes&) const = default;
};

/// One latent a token, no heads: for mla layers and no others.
constexpr bool keeps_latents(KvFormat format) {
  return format == KvFormat::fp8_ds_mla || format == KvFormat::nvfp4_ds_mla;
}

/// Throws SpecError("engine.kv_dtype") for a format that the kind of layer or its head sizes do not have.
/// Example: head size 256: 520 bytes for int8_per_token_head, 264, 288 (nvfp4), 198 (turboquant_3bit_nc), 262, 388.
/// Source: vLLM FullAttentionSpec.page_size_bytes and its quantised cache dtypes; DeepSeek-V3.2 for fp8_ds_mla; the
/// page of mla_attention.py for nvfp4_ds_mla.
HeadBytes head_bytes(const AttentionSpec& layer, KvFormat format);

/// Bytes that K or V of so many channels takes in a format that stores both alike; a latent or its front in a format
/// of latents.
/// Pre: not side by side, and the format has such heads. Throws OverflowError as Checked.
std::int64_t row_bytes(KvFormat format, std::int64_t channels);

/// K and V of a head lie side by side in one slot, as backends of form diff_kv index them.
bool is_side_by_side(KvFormat format);

/// a1 of a layer in this format, as kv_bytes_per_token. Throws as head_bytes and kv_heads_per_rank.
std::int64_t kv_bytes_per_token(const AttentionSpec& layer, std::int64_t tensor_parallel, KvFormat format);

}  // namespace hybridkv
