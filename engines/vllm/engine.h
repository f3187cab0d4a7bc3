#pragma once

#include "engines/engine.h"
#include "engines/vllm/conformance.h"
#include "engines/vllm/plan_builder.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/serve.h"
#include "engines/vllm/start.h"
#include "engines/vllm/words.h"
#include "simulator/blocks/match_unit_rules.h"

namespace hybridkv {

/// What is searched of either release; of 0.33 without mode all, and without packs, which no release has.
inline constexpr EngineAxis axes_of_vllm_0_33[] = {{&search_axis::packs, tried<1>}, {&search_axis::block_sizes},
                                                   modes_without_all, {&search_axis::match_units},
                                                   {&search_axis::retentions}};
inline constexpr EngineAxis axes_of_vllm_2026_06[] = {{&search_axis::packs}, {&search_axis::block_sizes}, all_modes,
                                                      {&search_axis::match_units}, {&search_axis::retentions}};

/// Steps of vLLM take every decoding sequence, then tokens of prompts up to the budget. Source: vLLM
/// Scheduler.schedule.
inline constexpr EngineClock clock_of_vllm{
    .name = "vllm", .file = "vllm/clock.json", .memory_share = 0.9, .bench = bench_vllm,
    .forward = forward_vllm};

/// vLLM 0.33.0.
inline constexpr Engine vllm_0_33{.rules = &rules_of_vllm_0_33,
                                  .blocks = &match_unit_rules,
                                  .replay = block_cache_of,
                                  .axes = axes_of_vllm_0_33,
                                  .label = "vLLM 0.33",
                                  .start = &start_of_vllm,
                                  .log = &log_of_vllm_0_33,
                                  .conformance = &conformance_of_vllm_0_33,
                                  .clock = &clock_of_vllm,
                                  .command = &command_of_vllm,
                                  .serve = serve_vllm,
                                  .emit = emit_vllm_builder,
                                  .planned_settings = vllm_planned_settings,
                                  .block_settings = vllm_settings};

/// vLLM's main branch of June 2026 with PR 35703, which is in no release.
inline constexpr Engine vllm_2026_06 = [] {
  Engine engine = vllm_0_33;
  engine.rules = &rules_of_vllm_2026_06;
  engine.blocks = &plain_block_rules;
  engine.axes = axes_of_vllm_2026_06;
  engine.successor = &vllm_0_33;
  engine.log = &log_of_vllm_2026_06;
  engine.conformance = nullptr;
  engine.emit = nullptr;
  return engine;
}();

}  // namespace hybridkv
