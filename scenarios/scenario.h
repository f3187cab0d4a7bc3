#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"
#include "scenarios/fleet_question.h"
#include "scenarios/source_map.h"
#include "scenarios/timed_question.h"
#include "simulator/schedule/scheduler_settings.h"
#include "simulator/schedule/simulation.h"
#include "simulator/trace/trace_spec.h"

namespace hybridkv {

/// What `verify` is asked to run. Example: packs 4 and 5, three requests, seed 1, at most 2 GiB resident.
struct VerifyRequest {
  std::vector<std::int64_t> request_tokens;           ///< length of each request; empty: verify's own choice
  std::uint64_t seed = 1;                             ///< of block ids and values
  std::optional<std::int64_t> resident_budget_bytes;  ///< default: half of the free memory
  std::vector<std::int64_t> pack_sizes;               ///< N to verify; empty: all of the scenario
  bool operator==(const VerifyRequest&) const = default;
};

/// What `simulate` is asked to run. Example: the embedded made-up trace, one request at a time.
struct SimulateRequest {
  TraceSpec trace;
  DriverSpec driver{.in_flight = 64,
                    .cost = {.per_prefill_token = 5e-5, .per_decode_step = 0.02, .per_copied_state = 1e-5}};
  bool upper_bounds = false;                ///< also an unlimited pool, and token by token
  bool losses = false;                      ///< also book what is computed again to its causes
  TimedQuestion clock;                      ///< by which the driver goes, if any
  FleetQuestion fleet;                      ///< of replicas behind a router, if any
  // The rest of the cache is the plan's. Meaning as in CacheGeometry.
  SchedulerSettings scheduler;
  std::optional<std::int64_t> retention_interval_tokens;
  bool keeps_all_checkpoints = false;       ///< whatever the release's default interval
  std::optional<std::int64_t> match_unit_tokens;
  // Memory of the host behind the pools, meaning as in HostSettings; none without host_memory_bytes.
  std::optional<std::int64_t> host_memory_bytes;
  std::optional<double> host_state_share;
  HostWrite host_write = HostWrite::eviction;
  bool operator==(const SimulateRequest&) const = default;
};

/// One question to the planner, read from a scenario file: every value decided except the pack size, of which
/// the planner is asked for each.
struct Scenario {
  std::string name;                           ///< key `name`, else the name of the file without ".yaml"
  ModelSpec model;
  EngineSpec engine;                          ///< attention_pack_size is the first of pack_sizes
  LimitsSpec limits;
  std::optional<WorkspaceSpec> workspace;
  VerifyRequest verify;
  SimulateRequest simulate;
  std::vector<std::int64_t> pack_sizes = {1}; ///< N to plan, in the order written, each >= 1 and once
  bool packs_given = false;                   ///< did the scenario or a flag say them?
  SourceMap places;                           ///< for errors: where each value stands
  std::optional<WrittenNumber> largest;       ///< of the numbers written, beside what is usual for its key
  std::vector<std::string> notes;             ///< what was assumed of the model or left unused, a sentence each
};

/// A planner's error with the place of the value it names: file, line, column, the line itself and a caret.
/// A value that stands nowhere (a default) is shown at the nearest mapping around it.
InputError located(const SpecError& error, const Scenario& scenario);

}  // namespace hybridkv
