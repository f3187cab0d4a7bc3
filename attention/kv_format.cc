#include "attention/kv_format.h"

#include <fmt/format.h>

#include <array>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

namespace {

using namespace kv_format;

constexpr std::int64_t norm_bytes = 2;   // fp16, of a turboquant K
constexpr std::int64_t range_bytes = 4;  // fp16 scale and zero point, of a turboquant V

[[noreturn]] void refuse(KvFormat format, const std::string& why) {
  throw SpecError("engine.kv_dtype", fmt::format("{} {}", to_string(format), why));
}

/// K and V of so many bits a channel; the slot of both is even.
HeadBytes turboquant(std::int64_t k, std::int64_t v, std::int64_t bits) {
  HeadBytes bytes{ceil_div(Checked(k) * bits, 8) + norm_bytes, ceil_div(Checked(v) * bits, 8) + range_bytes};
  bytes.value += (bytes.key + bytes.value) % 2;
  return bytes;
}

}  // namespace

bool is_side_by_side(KvFormat format) {
  return format == KvFormat::turboquant_3bit_nc || format == KvFormat::turboquant_4bit_nc ||
         format == KvFormat::turboquant_k8v4;
}

std::int64_t row_bytes(KvFormat format, std::int64_t channels) {
  switch (format) {
    case KvFormat::int8_per_token_head:
    case KvFormat::fp8_per_token_head: return Checked(channels) + scale_bytes;
    case KvFormat::int4_per_token_head: return channels / 2 + scale_bytes;
    case KvFormat::nvfp4: return channels / 2 + channels / nvfp4_group;
    case KvFormat::fp8_ds_mla: return latent_bytes + Checked(channels - latent_channels) * 2;
    case KvFormat::nvfp4_ds_mla:
      return latent_channels / 2 + latent_channels / nvfp4_group + Checked(channels - latent_channels);
    default: throw std::logic_error("a format without rows of its own");
  }
}

HeadBytes head_bytes(const AttentionSpec& layer, KvFormat format) {
  const std::int64_t k = layer.head_size_k, v = layer.head_size_v;
  const bool latent = layer.kind == AttentionKind::mla;
  if (latent != keeps_latents(format))
    refuse(format, latent ? "keeps K and V of heads, but the model has mla layers; take fp8_ds_mla, nvfp4_ds_mla or an "
                            "element type"
                          : fmt::format("keeps latents, but the model has {} layers", to_string(layer.kind)));
  switch (format) {
    case KvFormat::int8_per_token_head:
    case KvFormat::fp8_per_token_head: break;
    case KvFormat::int4_per_token_head:
      if (k % 2 != 0 || v % 2 != 0)
        refuse(format, fmt::format("packs two channels into a byte, but heads have {} and {}", k, v));
      break;
    case KvFormat::nvfp4:
      if (k % nvfp4_group != 0 || v % nvfp4_group != 0)
        refuse(format, fmt::format("has a scale for every {} channels, but heads have {} and {}", nvfp4_group, k, v));
      break;
    case KvFormat::turboquant_3bit_nc: return turboquant(k, v, 3);
    case KvFormat::turboquant_4bit_nc: return turboquant(k, v, 4);
    case KvFormat::turboquant_k8v4: {
      HeadBytes bytes{k, ceil_div(v, 2) + range_bytes};
      bytes.value += (bytes.key + bytes.value) % 2;
      return bytes;
    }
    case KvFormat::fp8_ds_mla:
    case KvFormat::nvfp4_ds_mla:
      if (v != latent_channels || k > latent_channels + rope_channels)
        refuse(format, fmt::format("is a format of latents of {} + at most {} elements, these have {} + {}",
                                   latent_channels, rope_channels, v, k - v));
      return {row_bytes(format, latent_channels + rope_channels), row_bytes(format, latent_channels)};
  }
  return {row_bytes(format, k), row_bytes(format, v)};
}

std::int64_t kv_bytes_per_token(const AttentionSpec& layer, std::int64_t tensor_parallel, KvFormat format) {
  const HeadBytes bytes = head_bytes(layer, format);
  const std::int64_t head = layer.kind == AttentionKind::mla ? bytes.key : bytes.key + bytes.value;
  return Checked(kv_heads_per_rank(layer, tensor_parallel)) * head;
}

}  // namespace hybridkv
