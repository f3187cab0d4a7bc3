#include "planner/advised_release.h"

namespace hybridkv {

std::string_view without_version(std::string_view release) {
  for (std::size_t i = 1; i < release.size(); ++i)
    if (release[i - 1] == '-' && release[i] >= '0' && release[i] <= '9') return release.substr(0, i - 1);
  return release;
}

const EngineRules* advised_release(const std::function<bool(const EngineRules&)>& holds) {
  if (holds(*default_rules())) return default_rules();
  const EngineRules* advised = nullptr;
  for (const EngineRules* const rules : all_engine_rules())
    if (holds(*rules) && (advised == nullptr || without_version(rules->name) == without_version(advised->name)))
      advised = rules;
  return advised;
}

}  // namespace hybridkv
