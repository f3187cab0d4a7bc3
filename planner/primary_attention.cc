#include "planner/primary_attention.h"

namespace hybridkv {

const SpecPlan* primary_attention(const Arrangement& arrangement) {
  const SpecPlan* windowed = nullptr;
  const SpecPlan* hidden_states = nullptr;
  for (const SpecPlan& spec : arrangement.specs) {
    const SpecRole role = spec.role();
    if (role == SpecRole::attention) return &spec;
    if (role == SpecRole::window && windowed == nullptr) windowed = &spec;
    if (role == SpecRole::auxiliary && spec.attention && hidden_states == nullptr) hidden_states = &spec;
  }
  return windowed != nullptr ? windowed : hidden_states;
}

const SpecPlan& primary_spec(const Arrangement& arrangement) {
  const SpecPlan* const attention = primary_attention(arrangement);
  return attention != nullptr ? *attention : arrangement.specs.front();
}

const GroupPlan& primary_group(const Arrangement& arrangement) {
  const SpecPlan* attention = primary_attention(arrangement);
  for (const GroupPlan& group : arrangement.groups)
    if (attention != nullptr && group.spec == attention->id) return group;
  return arrangement.groups.front();
}

std::int64_t primary_block_tokens(const Arrangement& arrangement) {
  return primary_spec(arrangement).block_size_tokens;
}

}  // namespace hybridkv
