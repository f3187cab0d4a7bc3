#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/named_values.h"
#include "search/pareto_front.h"
#include "search/workload.h"

namespace hybridkv {

/// One combination of settings as a search weighs it, whatever its engine.
struct WeighedCandidate {
  std::int64_t settings_changed = 0;   ///< against the default
  bool in_space = true;                ///< false: only there as the default
  bool meets_limits = true;            ///< those of the search, and as many requests served as any
  bool on_front = false;
  Objectives objectives;
  std::int64_t prompt_tokens = 0;      ///< of the prompts that the engine takes, served or not
  std::int64_t hit_tokens = 0;
  std::int64_t requests_with_hit = 0;
  std::int64_t unserved_requests = 0;  ///< refused or stalled
  /// Share of the prompts that the engine takes, 0 .. 1: as in a replay.
  double hit_rate() const {
    return prompt_tokens == 0 ? 0 : static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens);
  }
  bool operator==(const WeighedCandidate&) const = default;
};

/// What is assumed other than stated.
enum class Assumption {
  memory,       ///< `value` bytes
  length,       ///< requests of `value` tokens
  concurrency,  ///< more than `value` requests at once are demanded
  no_reuse,     ///< no prompt shares anything with another
};

inline constexpr auto assumption_names = std::to_array<Named<Assumption>>(
    {{Assumption::memory, "memory"},
     {Assumption::length, "length"},
     {Assumption::concurrency, "concurrency"},
     {Assumption::no_reuse, "no_reuse"}});

constexpr std::string_view to_string(Assumption assumption) { return name_in(assumption_names, assumption); }

/// The pick under another assumption.
struct WhatIf {
  Assumption assumption = Assumption::memory;
  double value = 0;
  std::optional<std::size_t> pick;  ///< position in candidates; nothing where none meets the limits
  Objectives objectives;            ///< of that pick under the assumption
  Objectives stated_pick;           ///< of the stated pick under the assumption
};

/// What a search finds, whatever the engine. Positions are those of its candidates.
struct SearchResult {
  WorkloadFacts workload;
  std::int64_t at_length = 0;
  std::int64_t max_model_len = 0;   ///< the longest; requests with a prompt of as many tokens are refused
  double least_concurrency = 0;     ///< that the pick had to hold: min_concurrency, or nearly the reference's
  std::int64_t combinations = 0;    ///< of settings that can run
  std::int64_t simulations = 0;     ///< for the candidates; other assumptions took more
  std::optional<std::size_t> default_candidate;   ///< everything as the engine has it; nothing where it cannot run
  std::optional<SpecError> default_refused;       ///< why not
  /// Whose concurrency the pick may not fall far below: the default, or, where that keeps no states, the same in mode
  /// align, if it was searched; nothing where neither runs.
  std::optional<std::size_t> reference_candidate;
  std::vector<std::size_t> front;                 ///< ascending in re-prefilled tokens
  std::size_t pick = 0;
  std::vector<WhatIf> what_ifs;
};

}  // namespace hybridkv
