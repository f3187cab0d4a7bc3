#include "planner/padded_heads.h"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

namespace hybridkv {

namespace {

constexpr const char* padding_source = "engine.pad_heads; SGLang adjust_config_with_unaligned_cpu_tp";

/// The decision about one number of heads, where it grew.
void derive_count(std::string_view name, std::int64_t count, std::int64_t padded, std::int64_t ranks,
                  const std::string& label, Derivation& derivation) {
  if (count == padded) return;
  derivation.push_back({{fmt::format("padded {} of {}", name, label), padded, ""},
                        "KV or key heads up to a multiple of TP, the heads that share them in proportion",
                        {{std::string(name), count, ""}, {"TP", ranks, ""}},
                        padding_source});
}

}  // namespace

LayerSet with_padded_heads(LayerSet set, std::int64_t tensor_parallel) {
  if (set.attention) set.attention = with_padded_heads(*set.attention, tensor_parallel);
  if (set.recurrent) set.recurrent = with_padded_heads(*set.recurrent, tensor_parallel);
  return set;
}

void derive_padding(const LayerSet& set, const LayerSet& padded, std::int64_t tensor_parallel, const std::string& label,
                    Derivation& derivation) {
  if (set.attention) {
    derive_count("KV heads", set.attention->kv_heads, padded.attention->kv_heads, tensor_parallel, label, derivation);
    derive_count("query heads", set.attention->query_heads, padded.attention->query_heads, tensor_parallel, label,
                 derivation);
    return;
  }
  std::visit([&](const auto& layer) {
    using Spec = std::decay_t<decltype(layer)>;
    for (const FamilyField<Spec>& field : family_of(layer).fields)
      if (const auto* member = std::get_if<std::int64_t Spec::*>(&field.member))
        derive_count(field.name, layer.**member, std::get<Spec>(*padded.recurrent).**member, tensor_parallel, label,
                     derivation);
  }, *set.recurrent);
}

SpecError offer_padding(const SpecError& refusal, const LayerSet& set, const EngineSpec& engine) {
  const LayerSet padded = with_padded_heads(set, engine.tensor_parallel);
  if (engine.pad_heads || (padded.attention == set.attention && padded.recurrent == set.recurrent)) return refusal;
  return {refusal.path(),
          refusal.message() + "; or set engine.pad_heads to true, where the engine pads what ranks cannot share"};
}

}  // namespace hybridkv
