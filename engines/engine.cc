#include "engines/engine.h"

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

const Engine& engine_of(const EngineRules& rules) {
  const auto all = all_engines();
  const auto is_it = [&](const Engine* engine) { return engine->rules == &rules; };
  const auto found = std::find_if(all.begin(), all.end(), is_it);
  expects(found != all.end(), "the rules of an engine");
  return **found;
}

}  // namespace hybridkv
