#include "mamba/recurrent_spec.h"

namespace hybridkv {

std::string_view family_name(const RecurrentSpec& layer) {
  return std::visit([](const auto& family) { return family_of(family).name; }, layer);
}

StateSpec state_of(const RecurrentSpec& layer, const StateContext& context) {
  return std::visit([&](const auto& family) { return state_of(family, context); }, layer);
}

std::vector<ChannelSection> sections_of(const RecurrentSpec& layer) {
  return std::visit([](const auto& family) { return sections_of(family); }, layer);
}

RecurrentSpec with_padded_heads(const RecurrentSpec& layer, std::int64_t tensor_parallel) {
  return std::visit([&](const auto& family) -> RecurrentSpec {
    const auto padded = family_of(family).padded;
    return padded == nullptr ? family : padded(family, tensor_parallel);
  }, layer);
}

void hold_drafts(RecurrentSpec& layer) {
  std::visit([](auto& family) {
    if constexpr (requires { family.replicated; })
      if (family.replicated) return;
    if constexpr (requires { family.conv_holds_drafts; }) family.conv_holds_drafts = true;
  }, layer);
}

void extend_groups(RecurrentSpec& layer, std::int64_t tensor_parallel) {
  const auto extend = [&](std::int64_t& groups) {
    if (groups % tensor_parallel != 0) groups = tensor_parallel;
  };
  if (auto* mamba2 = std::get_if<Mamba2Spec>(&layer)) extend(mamba2->groups);
  if (auto* gdn = std::get_if<GdnSpec>(&layer)) extend(gdn->key_heads);
}

std::optional<std::int64_t> scan_chunk_tokens(const RecurrentSpec& layer) {
  return std::visit([](const auto& family) -> std::optional<std::int64_t> {
    const auto field = family_of(family).scan_chunk;
    if (field == nullptr) return std::nullopt;
    return family.*field;
  }, layer);
}

bool convolves_alone(const RecurrentSpec& layer) {
  return std::visit([](const auto& family) { return family_of(family).convolves_alone; }, layer);
}

std::optional<DType> fixed_ssm_dtype(const RecurrentSpec& layer) {
  return std::visit([](const auto& family) { return family_of(family).ssm_dtype; }, layer);
}

}  // namespace hybridkv
