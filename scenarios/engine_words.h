#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "planner/engine_rules.h"

namespace hybridkv {

/// The engines of which something holds, as meanings of keys say it: an engine by its name without a version where it
/// holds of all its releases, "from vllm-0.33 on" where of that and all after it; nothing where of none. Releases of
/// an engine stand one behind the other in the list of all.
std::string engines_with(const std::function<bool(const EngineRules&)>& holds);

/// What each engine says, "engine: words", engines with the same words together; nothing where none says anything.
std::string words_by_engine(const std::function<std::string_view(const EngineRules&)>& words_of);

/// The engines that take a key, "engine.page_size" being "page_size".
std::string engines_taking(std::string_view key);

/// What engines with words of their own say of a key that they share.
std::string meanings_of(std::string_view key);

}  // namespace hybridkv
