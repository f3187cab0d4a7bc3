#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "engines/command_grammar.h"
#include "engines/conformance.h"
#include "engines/emit.h"
#include "engines/engine_clock.h"
#include "engines/search_axes.h"
#include "engines/serve.h"
#include "engines/start.h"
#include "engines/start_log.h"
#include "planner/engine_rules.h"
#include "planner/evidence.h"
#include "simulator/blocks/block_rules.h"
#include "simulator/plan_cache.h"
#include "simulator/replay_abilities.h"

namespace hybridkv {

/// An engine at a version: its rules of memory, how a trace is replayed through its cache, and what is known of how it
/// is run. A null member says that the program does not know that of this engine.
struct Engine {
  const EngineRules* rules = nullptr;
  /// How prefixes are found in its pools of blocks; null: it has an index of its own.
  const BlockRules* blocks = nullptr;
  /// The cache of one of its plans that a trace is replayed through. Throws SpecError for what has no replay.
  AnyCache (*replay)(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine) = nullptr;
  Evidence replayed = Evidence::run;  ///< how it is known that the engine finds what its replay finds
  const ReplayAbilities* abilities = &abilities_of_blocks;
  std::span<const EngineAxis> axes;  ///< along which its settings are searched; empty: that is not known
  /// The release that its users run today, which a plan is told of beside its own answer; null: it is that release.
  const Engine* successor = nullptr;
  std::string_view label;  ///< of such a line: "vLLM 0.33"
  const EngineStart* start = nullptr;  ///< what it takes and prints as it starts
  const EngineLog* log = nullptr;      ///< how the log of a start is read
  const Conformance* conformance = nullptr;  ///< how its own code is asked for our figures, where it is installed
  const EngineClock* clock = nullptr;  ///< how long its steps take; null: nobody measured it
  const CommandGrammar* command = nullptr;  ///< how a command line that starts it is read
  /// The command line that starts it.
  ServeCommand (*serve)(const Served& served) = nullptr;
  /// The files of a plug-in by which it makes one of its plans, EngineRules::builder; null: it has no door for one.
  std::vector<EmittedFile> (*emit)(const EmitQuestion& question) = nullptr;
  /// What a plan of blocks alone says, with its flags; null: such choices have no flags that are known.
  std::vector<EngineSetting> (*planned_settings)(const PlannedChoice& choice) = nullptr;
  /// What was chosen of a cache of blocks, with its flags; null: such choices have no flags that are known.
  std::vector<EngineSetting> (*block_settings)(const BlockChoice& choice) = nullptr;
  /// The same of an engine without blocks, whose choices are all in the plan.
  std::vector<EngineSetting> (*own_settings)(const EngineSpec& engine) = nullptr;
};

/// All engines, the one with packs first. engines/all.cc is the list, one for the program; a test that links another
/// one has other engines.
std::span<const Engine* const> all_engines();

/// The engine of these rules. Pre: they are those of an engine.
const Engine& engine_of(const EngineRules& rules);

/// That axis of the engine; null where it has none.
const EngineAxis* axis_of(const Engine& engine, const SearchAxis& axis);

/// The cache of one of its plans as the engine replays it, which refuses prompts of that length or more. Throws
/// SpecError for what has no replay.
AnyCache replayed_cache(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine,
                        std::int64_t max_model_len);

/// The engine that is meant where nobody names one: the first that is known to start and has no successor. Its rules
/// are the default of scenarios.
const Engine& engine_of_today();

/// The refusal of a question that a null member of an engine leaves open. `what` has its title in place of {}: "how {}
/// starts"; `instead`: what to do.
SpecError not_known_of(const EngineRules& rules, std::string_view what, std::string_view instead);

}  // namespace hybridkv
