#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ask/start/startup_log.h"
#include "planner/cache_plan.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

/// Why what was seen at run time is as it is.
struct RunReason {
  std::string code;        ///< stable: "caching_off", "mode_none", "match_unit", …
  std::string text;        ///< with the numbers and the lines they stand in; no full stop
  bool is_certain = true;  ///< it follows from rules and figures; else they only allow it
};

/// What is known of an engine that served.
struct ServedCache {
  const StartupLog& log;
  const CachePlan& plan;
  const AnyCache* cache = nullptr;         ///< null: how the engine finds prefixes is not known here
  std::optional<std::int64_t> num_blocks;  ///< nothing: the log does not give them, and the plan's are any
  std::int64_t length = 0;                 ///< max_model_len, tokens; 0: unknown
  bool is_sized_by_settings = false;       ///< the plan's pools are those of the log, which have no blocks
  bool has_trace = false;                  ///< the requests are replayed too
};

/// Every hit in such a cache is a multiple of so many tokens.
std::int64_t hit_step(const CacheGeometry& geometry);
/// The longest prompt that can find nothing, tokens.
std::int64_t longest_hopeless_prompt(const CacheGeometry& geometry);

/// Why so many tokens hit, why requests waited or were preempted; what is certain first. Empty where nothing was seen.
std::vector<RunReason> run_reasons(const ServedCache& served);

/// Values that cannot have been, a sentence each.
std::vector<std::string> run_contradictions(const ServedCache& served);

}  // namespace hybridkv
