#include "attention/backend_features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace hybridkv {

namespace {

constexpr bool yes = true, no = false;

// Columns in the order of AttentionBackend: reference, unified, cascade, paged.
constexpr FeatureSupport table[] = {
    {AttentionFeature::causal, "causal", "a token sees no later one", {yes, yes, yes, yes}},
    {AttentionFeature::non_causal, "non_causal", "a token sees every key of its request", {yes, yes, yes, yes}},
    {AttentionFeature::grouped_heads, "gqa", "several query heads read one KV head", {yes, yes, yes, yes}},
    {AttentionFeature::mla, "mla", "one latent per token is K and, in part, V", {yes, yes, yes, yes}},
    {AttentionFeature::sliding_window, "sliding_window", "the last tokens only", {yes, yes, no, yes}},
    {AttentionFeature::chunked_local, "chunked_local", "the tokens of the own chunk only", {yes, yes, no, yes}},
    {AttentionFeature::soft_cap, "soft_cap", "scores bent by a tanh", {yes, yes, yes, yes}},
    {AttentionFeature::sinks, "sinks", "a logit per head in the denominator", {yes, yes, yes, yes}},
    {AttentionFeature::exact_microbatches, "exact_microbatches", "microbatches: bits of the whole", {yes, no, no, yes}},
    {AttentionFeature::fp32, "fp32", "cache of float32", {yes, yes, yes, yes}},
    {AttentionFeature::fp16, "fp16", "cache of float16", {yes, yes, yes, yes}},
    {AttentionFeature::bf16, "bf16", "cache of bfloat16", {yes, yes, yes, yes}},
    {AttentionFeature::fp8_e4m3, "fp8_e4m3", "cache of OCP e4m3, without scales", {yes, yes, yes, yes}},
    {AttentionFeature::fp8_e5m2, "fp8_e5m2", "cache of OCP e5m2, without scales", {yes, yes, yes, yes}},
    {AttentionFeature::int8, "int8", "cache of integers, without scales", {yes, yes, yes, yes}},
    {AttentionFeature::uint8, "uint8", "cache of integers, without scales", {yes, yes, yes, yes}},
    {AttentionFeature::scaled_kv, "scaled_kv", "scales: of the tensor, of a token and head, nvfp4, ds_mla",
     {yes, yes, yes, no}},
};

std::vector<std::string_view> supporters(const FeatureSupport& row) {
  std::vector<std::string_view> names;
  for (const AttentionBackend backend : all_attention_backends)
    if (row.by(backend)) names.push_back(to_string(backend));
  return names;
}

/// V is where K begins: both views are of one latent.
bool is_latent_cache(const AttentionTensors& tensors) {
  return tensors.num_kv_heads() == 1 && tensors.key.base == tensors.value.base &&
         tensors.key.layout.offset() == tensors.value.layout.offset();
}

}  // namespace

std::span<const FeatureSupport> feature_table() { return table; }

const FeatureSupport& feature_support(AttentionFeature feature) {
  for (const FeatureSupport& row : table)
    if (row.feature == feature) return row;
  throw std::logic_error("a feature outside its enumeration");
}

std::string feature_table_markdown() {
  std::string text =
      fmt::format("| feature | meaning | {} |\n|---|---|", fmt::join(names_of(attention_backend_names), " | "));
  for (std::size_t i = 0; i < all_attention_backends.size(); ++i) text += "---|";
  text += '\n';
  for (const FeatureSupport& row : table) {
    text += fmt::format("| `{}` | {} |", row.name, row.meaning);
    for (const bool supported : row.supported) text += supported ? " yes |" : " no |";
    text += '\n';
  }
  return text;
}

AttentionFeature feature_of(DType dtype) {
  switch (dtype) {
    case DType::fp32: return AttentionFeature::fp32;
    case DType::fp16: return AttentionFeature::fp16;
    case DType::bf16: return AttentionFeature::bf16;
    case DType::fp8_e4m3: return AttentionFeature::fp8_e4m3;
    case DType::fp8_e5m2: return AttentionFeature::fp8_e5m2;
    case DType::int8: return AttentionFeature::int8;
    case DType::uint8: return AttentionFeature::uint8;
  }
  throw std::logic_error("an element type outside its enumeration");
}

std::vector<AttentionFeature> features_of(const AttentionTensors& tensors, const CommonAttentionMetadata& metadata) {
  std::vector<AttentionFeature> features{metadata.causal ? AttentionFeature::causal : AttentionFeature::non_causal};
  if (tensors.num_query_heads > tensors.num_kv_heads()) features.push_back(AttentionFeature::grouped_heads);
  if (is_latent_cache(tensors)) features.push_back(AttentionFeature::mla);
  if (tensors.mask.kind == MaskKind::sliding_window) features.push_back(AttentionFeature::sliding_window);
  if (tensors.mask.kind == MaskKind::chunked_local) features.push_back(AttentionFeature::chunked_local);
  if (tensors.soft_cap != 0) features.push_back(AttentionFeature::soft_cap);
  if (!tensors.sinks.empty()) features.push_back(AttentionFeature::sinks);
  if (tensors.key_codec.has_scales() || tensors.value_codec.has_scales()) {
    features.push_back(AttentionFeature::scaled_kv);
    return features;
  }
  features.push_back(feature_of(tensors.key.dtype));
  if (tensors.value.dtype != tensors.key.dtype) features.push_back(feature_of(tensors.value.dtype));
  return features;
}

std::optional<std::string> unsupported(AttentionBackend backend, std::span<const AttentionFeature> features) {
  for (const AttentionFeature feature : features) {
    const FeatureSupport& row = feature_support(feature);
    if (row.by(backend)) continue;
    const std::vector<std::string_view> others = supporters(row);
    const std::string who = others.empty()       ? "no backend does"
                            : others.size() == 1 ? fmt::format("{} does", others.front())
                                                 : fmt::format("{} do", fmt::join(others, ", "));
    return fmt::format("backend {} does not support {} ({}); {}", to_string(backend), row.name, row.meaning, who);
  }
  return std::nullopt;
}

}  // namespace hybridkv
