#pragma once

#include "engines/engine.h"
#include "engines/sglang/conformance.h"
#include "engines/sglang/rules.h"
#include "engines/sglang/serve.h"
#include "engines/sglang/start_log.h"
#include "engines/sglang/words.h"

namespace hybridkv {

/// The interval is that of a decode's states, and matters where requests decode.
inline constexpr EngineAxis axes_of_sglang[] = {
    modes_without_all,
    {&search_axis::strategies,
     tried<TreeStrategy::no_buffer, TreeStrategy::extra_buffer, TreeStrategy::extra_buffer_lazy>},
    {&search_axis::ratios},
    {&search_axis::page_sizes, tried<1, 64>},
    {&search_axis::track_intervals, tried<64, 128, 256, 512, 1024>}};

/// Steps of SGLang have prompts alone while some wait, and a layer waits for its own loads alone. Source: SGLang
/// Scheduler.get_next_batch_to_run and HiCacheController.start_loading.
inline constexpr EngineClock clock_of_sglang{.name = "sglang",
                                             .file = "sglang/clock.json",
                                             .prompts_alone = true,
                                             .reserves_outputs = true,
                                             .loads_by_layer = true,
                                             .memory_share = 0.95,
                                             .bench = bench_sglang};

/// SGLang 0.5.23.
inline constexpr Engine sglang_0_5_23{.rules = &rules_of_sglang_0_5_23,
                                      .replay = tree_cache_of,
                                      .abilities = &abilities_of_trees,
                                      .axes = axes_of_sglang,
                                      .log = &log_of_sglang,
                                      .conformance = &conformance_of_sglang,
                                      .clock = &clock_of_sglang,
                                      .command = &command_of_sglang,
                                      .serve = serve_sglang,
                                      .own_settings = sglang_settings};

}  // namespace hybridkv
