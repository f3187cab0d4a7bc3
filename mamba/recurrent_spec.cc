#include "mamba/recurrent_spec.h"

namespace hybridkv {

namespace {

constexpr std::string_view name_of(const GdnSpec&) { return "gdn"; }
constexpr std::string_view name_of(const Mamba2Spec&) { return "mamba2"; }
constexpr std::string_view name_of(const Mamba1Spec&) { return "mamba1"; }
constexpr std::string_view name_of(const KdaSpec&) { return "kda"; }
constexpr std::string_view name_of(const ShortConvSpec&) { return "short_conv"; }
constexpr std::string_view name_of(const LinearAttentionSpec&) { return "linear"; }

}  // namespace

std::string_view family_name(const RecurrentSpec& layer) {
  return std::visit([](const auto& family) { return name_of(family); }, layer);
}

StateSpec state_of(const RecurrentSpec& layer, const StateContext& context) {
  return std::visit([&](const auto& family) { return state_of(family, context); }, layer);
}

std::optional<std::int64_t> scan_chunk_tokens(const RecurrentSpec& layer) {
  if (const auto* mamba2 = std::get_if<Mamba2Spec>(&layer)) return mamba2->chunk_size;
  return std::nullopt;
}

std::optional<DType> fixed_ssm_dtype(const RecurrentSpec& layer) {
  if (std::holds_alternative<KdaSpec>(layer)) return DType::fp32;
  return std::nullopt;
}

}  // namespace hybridkv
