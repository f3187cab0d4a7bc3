#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/inputs.h"
#include "base/dtype.h"
#include "base/named_values.h"

namespace hybridkv {

/// The ways of computing attention over a paged cache.
enum class AttentionBackend {
  reference,  ///< dense in float64; reference.h
  unified,    ///< causal, shared and unique parts under dense biases; unified.h
  cascade,    ///< the common prefix once, suffixes per request; cascade.h
  paged,      ///< fused online softmax that walks the block table; paged.h
};

/// In the order of the enumeration.
inline constexpr auto attention_backend_names = std::to_array<Named<AttentionBackend>>(
    {{AttentionBackend::reference, "reference"},
     {AttentionBackend::unified, "unified"},
     {AttentionBackend::cascade, "cascade"},
     {AttentionBackend::paged, "paged"}});
inline constexpr auto all_attention_backends = values_of(attention_backend_names);

/// Every backend but the reference, which the others are compared with.
inline constexpr std::array compared_attention_backends{AttentionBackend::unified, AttentionBackend::cascade,
                                                        AttentionBackend::paged};
static_assert(compared_attention_backends.size() + 1 == all_attention_backends.size());

constexpr std::string_view to_string(AttentionBackend backend) { return name_in(attention_backend_names, backend); }
constexpr std::optional<AttentionBackend> parse_attention_backend(std::string_view name) {
  return value_in(attention_backend_names, name);
}

/// What a layer, its cache or its batch may ask of a backend.
enum class AttentionFeature {
  causal,
  non_causal,
  grouped_heads,
  mla,
  sliding_window,
  chunked_local,
  soft_cap,
  sinks,
  exact_microbatches,
  fp32,
  fp16,
  bf16,
  fp8_e4m3,
  fp8_e5m2,
  int8,
  uint8,
  scaled_kv,
};

/// One line of the table of what backends support.
struct FeatureSupport {
  AttentionFeature feature;
  std::string_view name;     ///< as it is spelt elsewhere: "sliding_window", "bf16"
  std::string_view meaning;  ///< a few words
  std::array<bool, all_attention_backends.size()> supported;  ///< by backend, in the order of the enumeration

  bool by(AttentionBackend backend) const { return supported[static_cast<std::size_t>(backend)]; }
};

/// One line per feature, in the order of the enumeration; the only place that says what a backend supports.
std::span<const FeatureSupport> feature_table();
const FeatureSupport& feature_support(AttentionFeature feature);

/// The table as Markdown, as it stands in docs/attention-backends.md.
std::string feature_table_markdown();

/// Features that this layer and batch ask for.
std::vector<AttentionFeature> features_of(const AttentionTensors& tensors, const CommonAttentionMetadata& metadata);

/// The feature that reads elements of this type.
AttentionFeature feature_of(DType dtype);

/// Why a backend cannot compute that, and which ones can; nothing where it can.
/// Example: "backend cascade does not support sliding_window (the last tokens only); reference, unified, paged do".
std::optional<std::string> unsupported(AttentionBackend backend, std::span<const AttentionFeature> features);

}  // namespace hybridkv
