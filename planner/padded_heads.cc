#include "planner/padded_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <variant>

namespace hybridkv {

namespace {

/// What changes numbers of heads before ranks share them.
struct HeadRule {
  const char* what;  ///< how decisions call the new number
  const char* rule;
  std::string source;
};

/// The decision about one number of heads, where it changed.
void derive_count(const HeadRule& rule, std::string_view name, std::int64_t before, std::int64_t after,
                  std::int64_t ranks, const std::string& label, Derivation& derivation) {
  if (before == after) return;
  derivation.push_back({{fmt::format("{} {} of {}", rule.what, name, label), after, ""},
                        rule.rule,
                        {{std::string(name), before, ""}, {"TP", ranks, ""}},
                        rule.source});
}

void derive_counts(const HeadRule& rule, const LayerSet& before, const LayerSet& after, std::int64_t ranks,
                   const std::string& label, Derivation& derivation) {
  if (before.attention) {
    derive_count(rule, "KV heads", before.attention->kv_heads, after.attention->kv_heads, ranks, label, derivation);
    derive_count(rule, "query heads", before.attention->query_heads, after.attention->query_heads, ranks, label,
                 derivation);
    return;
  }
  std::visit([&](const auto& layer) {
    using Spec = std::decay_t<decltype(layer)>;
    for (const FamilyField<Spec>& field : family_of(layer).fields)
      if (const auto* member = std::get_if<std::int64_t Spec::*>(&field.member))
        derive_count(rule, field.name, layer.**member, std::get<Spec>(*after.recurrent).**member, ranks, label,
                     derivation);
  }, *before.recurrent);
}

}  // namespace

LayerSet with_padded_heads(LayerSet set, std::int64_t tensor_parallel) {
  if (set.attention) set.attention = with_padded_heads(*set.attention, tensor_parallel);
  if (set.recurrent) set.recurrent = with_padded_heads(*set.recurrent, tensor_parallel);
  return set;
}

void derive_padding(const LayerSet& set, const LayerSet& padded, const EngineSpec& engine, const std::string& label,
                    Derivation& derivation) {
  derive_counts({"padded", "KV or key heads up to a multiple of TP, the heads that share them in proportion",
                 "engine.pad_heads; " + cited(*engine.rules, RuleOf::padded_heads)},
                set, padded, engine.tensor_parallel, label, derivation);
}

LayerSet with_counted_heads(LayerSet set, std::int64_t tensor_parallel) {
  if (set.recurrent) extend_groups(*set.recurrent, tensor_parallel);
  if (!set.attention || is_latent(set.attention->kind)) return set;
  AttentionSpec& layer = *set.attention;
  const bool shared = layer.kv_heads % tensor_parallel == 0 || tensor_parallel % layer.kv_heads == 0;
  if (!shared) layer.kv_heads = std::max<std::int64_t>(1, layer.kv_heads / tensor_parallel) * tensor_parallel;
  if (layer.query_heads % tensor_parallel != 0) layer.query_heads = 0;
  return set;
}

void derive_counted_heads(const LayerSet& set, const LayerSet& counted, const EngineSpec& engine,
                          const std::string& label, Derivation& derivation) {
  derive_counts({"counted",
                 "as many as ranks, where these do not divide them; of KV heads a rank has max(1, KV heads // TP), "
                 "query heads that nobody can share are left out",
                 cited(*engine.rules, RuleOf::counted_heads)},
                set, counted, engine.tensor_parallel, label, derivation);
}

}  // namespace hybridkv
