#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ask/plot/plot_inputs.h"
#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

/// Does a prompt get through at all? In mode align a step that is smaller than the block would wait for ever.
bool can_prefill(const CacheGeometry& geometry);

/// Tokens that a prompt hits whose first `shared_tokens` tokens are those of a prompt of `cached_tokens` tokens that
/// was prefilled alone, in the plan's mode. Pre: 0 <= shared_tokens <= cached_tokens, the prompt goes on after what is
/// shared.
std::int64_t shared_prefix_hit(const CacheGeometry& geometry, std::int64_t cached_tokens, std::int64_t shared_tokens);

/// How one layout climbs in one situation: tokens that hit, at the lengths of the situation that are corners of its
/// own.
struct LayoutStairs {
  std::int64_t attention_pack_size = 1;
  std::int64_t block_size_tokens = 0;             ///< of the plan's primary attention
  bool has_edges = false;                         ///< in mode align a copy that ends on a block boundary hits nothing
  std::vector<std::optional<std::int64_t>> hits;  ///< (length); unset between corners
  std::vector<std::optional<std::int64_t>> hits_on_boundary;  ///< (length) of such copies, which `hits` leaves out
};

/// What hits against what is shared, in one mode.
struct PrefixSituation {
  CacheMode mode = CacheMode::align;
  bool is_copy = true;                ///< a prompt sent a second time; else only its first tokens are shared
  std::int64_t most_tokens = 0;       ///< lengths go up to it; of the cached prompt where it is no copy
  std::vector<std::int64_t> lengths;  ///< ascending: of the prompt, or of what is shared
  std::vector<LayoutStairs> layouts;  ///< (pack of the scenario)
};

/// The stairs of prefix caching for each pack size, in the order to show them: a prompt sent a second time, in modes
/// align and all (planner/prefix.h, duplicate_hit_tokens), then only the first tokens of one of the longest length, in
/// mode align: only its checkpoints can be found. All modes are planned anew, whatever the scenario's, with memory set
/// aside: hits depend on blocks, not on how many there are. Models without states have one situation, a copy in the
/// scenario's mode. Throws SpecError where the planner refuses a mode.
std::vector<PrefixSituation> prefix_stairs(const PlotInputs& inputs);

}  // namespace hybridkv
