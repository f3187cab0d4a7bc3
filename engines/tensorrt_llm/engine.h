#pragma once

#include "engines/engine.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/tensorrt_llm/serve.h"
#include "engines/tensorrt_llm/start_log.h"
#include "engines/tensorrt_llm/words.h"
#include "planner/snapshot_places.h"

namespace hybridkv {

inline constexpr EngineAxis axes_of_tensorrt_llm[] = {
    {&search_axis::snapshots,
     tried<SnapshotPlaces::none, SnapshotPlaces::end, SnapshotPlaces::branch, SnapshotPlaces::end_and_branch>},
    {&search_axis::snapshot_intervals, tried<0, 512, 2048, 8192>},
    {&search_axis::ratios}};

/// Steps of TensorRT-LLM mix as vLLM's; with GUARANTEED_NO_EVICT, its default, nobody gives way. Source: its
/// documentation of the capacity scheduler.
inline constexpr EngineClock clock_of_tensorrt_llm{
    .name = "tensorrt-llm", .file = "tensorrt_llm/clock.json", .reserves_outputs = true, .memory_share = 0.95,
    .bench = bench_tensorrt_llm};

/// TensorRT-LLM's second cache manager.
inline constexpr Engine tensorrt_llm{.rules = &rules_of_tensorrt_llm,
                                     .replay = snapshot_cache_of,
                                     .abilities = &abilities_of_snapshots,
                                     .axes = axes_of_tensorrt_llm,
                                     .log = &log_of_tensorrt_llm,
                                     .clock = &clock_of_tensorrt_llm,
                                     .command = &command_of_tensorrt_llm,
                                     .serve = serve_tensorrt_llm,
                                     .own_settings = tensorrt_llm_settings};

}  // namespace hybridkv
