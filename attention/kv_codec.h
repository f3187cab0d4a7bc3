#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "attention/kv_format.h"
#include "base/dtype.h"

namespace hybridkv {

/// How the values of K, or of V, became what the cache holds. The default: elements, as they are.
///
/// With a scale: each value divided by the scale of the tensor first (k_scale and v_scale of engines; the global scale
/// of nvfp4). With a format: bytes of a head in the order that KvFormat gives, values first, then what scales them:
///   int8_per_token_head, fp8_per_token_head, int4_per_token_head
///                        value = code * scale, scale = largest magnitude over 127, 448 (e4m3), 7; int4 in two's
///                        complement, the even channel in the lower half of its byte. Engines rotate a head before
///                        int4 and shift its codes by a zero point: other codes in the same places
///   nvfp4                value = code * scale of its 16 channels, code e2m1 (0, 0.5, 1, 1.5, 2, 3, 4, 6, sign above),
///                        the even channel in the lower half; scale = largest magnitude over 6, in e4m3
///   fp8_ds_mla           512 channels e4m3 with an fp32 scale for every 128, then 64 bf16 as they are; V is its first
///                        512 channels. A latent without RoPE is encoded with its 64 channels all the same
/// Source: OCP Microscaling Formats (e2m1); vLLM's reshape_and_cache of these formats and concat_and_cache_ds_mla.
struct KvCodec {
  std::optional<KvFormat> format;
  float scale = 1;  ///< of the tensor, > 0
  bool operator==(const KvCodec&) const = default;

  bool has_scales() const { return format.has_value() || scale != 1; }
};

/// Whether the values of a format can be computed here. The turboquant formats rotate K by a matrix and round to a
/// codebook that no rule of this program knows; of nvfp4_ds_mla only the sizes are known.
bool has_codec(KvFormat format);

/// Channels of a head whose K or V takes so many stored elements (bytes, in a format). Pre: the format has a codec.
std::int64_t decoded_channels(const KvCodec& codec, std::int64_t stored);

/// Bytes of the stored elements of a head of K or V. Pre: as decoded_channels.
std::int64_t stored_bytes(const KvCodec& codec, DType dtype, std::int64_t channels);

/// Where the scales of a head lie among its stored bytes.
struct ScaleBytes {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool operator==(const ScaleBytes&) const = default;
};
/// Pre: the format has a codec. Example: int8_per_token_head, 260 stored: bytes 256 to 259.
ScaleBytes scale_bytes_of(KvFormat format, std::int64_t stored);

/// Values of one head. Pre: `from` holds them as stored; the format has a codec.
void decode_row(const KvCodec& codec, DType dtype, const std::byte* from, std::span<float> values);

/// Stores the values of one head; scales, where the format has them, are the smallest that hold the largest value.
/// Pre: as decode_row; `to` has room.
void encode_row(const KvCodec& codec, DType dtype, std::span<const float> values, std::byte* to);

}  // namespace hybridkv
