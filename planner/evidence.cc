#include "planner/evidence.h"

#include "planner/primary_attention.h"

namespace hybridkv {

Evidence evidence_of(const Arrangement& arrangement) {
  const EngineRules& rules = *arrangement.rules;
  if (arrangement.what_if != SupposedLayout{}) return Evidence::modelled;
  if (primary_attention(arrangement) == nullptr) return Evidence::source_only;
  if (rules.source_only || is_one_allocation(arrangement.strategy)) return Evidence::source_only;
  if (arrangement.has_cross_attention()) return Evidence::source_only;
  if (arrangement.strategy != rules.strategy) return Evidence::modelled;
  if (arrangement.attention_pack_size == 1 || !rules.one_allocation) return Evidence::run;
  return rules.builder.empty() ? Evidence::modelled : Evidence::builder;
}

}  // namespace hybridkv
