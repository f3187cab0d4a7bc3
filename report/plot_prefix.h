#pragma once

#include "report/plot_inputs.h"

namespace hybridkv {

/// The stairs of prefix caching: tokens that hit against what two prompts share, for each pack size.
///
/// Above, a prompt is sent a second time, in modes align and all (planner/prefix.h, duplicate_hit_tokens). Below, only
/// the first tokens of a long cached prompt are shared, in mode align: only its checkpoints can be found. Both modes
/// are planned anew, whatever the mode of the scenario; models without recurrent layers have one diagram.
/// Throws SpecError where the planner refuses a mode.
Plot plot_staircase(const PlotInputs& inputs);

/// Does a prompt get through at all? In mode align a step that is smaller than the block would wait for ever.
bool can_prefill(const CacheGeometry& geometry);

/// Tokens that a prompt hits whose first `shared_tokens` tokens are those of a prompt of `cached_tokens` tokens that
/// was prefilled alone, in the plan's mode. Pre: 0 <= shared_tokens <= cached_tokens, the prompt goes on after what is
/// shared.
std::int64_t shared_prefix_hit(const CacheGeometry& geometry, std::int64_t cached_tokens, std::int64_t shared_tokens);

}  // namespace hybridkv
