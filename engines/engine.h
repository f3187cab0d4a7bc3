#pragma once

#include <span>

#include "engines/serve.h"
#include "planner/engine_rules.h"

namespace hybridkv {

/// An engine at a version: its rules of memory and what is known of how it is run. A null member says that the program
/// does not know that of this engine.
struct Engine {
  const EngineRules* rules = nullptr;
  /// The command line that starts it.
  ServeCommand (*serve)(const Served& served) = nullptr;
  /// What was chosen of a cache of blocks, with its flags; null: such choices have no flags that are known.
  std::vector<EngineSetting> (*block_settings)(const BlockChoice& choice) = nullptr;
  /// The same of an engine without blocks, whose choices are all in the plan.
  std::vector<EngineSetting> (*own_settings)(const EngineSpec& engine) = nullptr;
};

/// All engines, the default first. engines/all.cc is the list, one for the program; a test that links another one has
/// other engines.
std::span<const Engine* const> all_engines();

/// The engine of these rules. Pre: they are those of an engine.
const Engine& engine_of(const EngineRules& rules);

}  // namespace hybridkv
