#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "planner/cache_plan.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"
#include "simulator/cache_geometry.h"

namespace hybridkv {

/// What `recommend` may choose from. A list that is left empty stands for the defaults of default_search_space.
struct SearchSpace {
  std::vector<std::int64_t> packs;                         ///< N, each >= 1
  std::vector<std::optional<std::int64_t>> block_floors;   ///< user block sizes, unset = none
  std::vector<CacheMode> modes;
  std::vector<std::optional<std::int64_t>> retentions;     ///< tokens, unset = keep every checkpoint, 0 = only the last
  std::vector<std::int64_t> retention_blocks;              ///< further retention intervals, in blocks of the layout
  std::optional<std::vector<std::int64_t>> match_units;    ///< tokens, 0 = the block; those that do not divide a block
                                                           ///< are left out there; unset: every multiple of the
                                                           ///< smallest kernel block that divides the block
  bool operator==(const SearchSpace&) const = default;
};

/// The space with its empty lists filled:
/// packs 1 .. 16 as far as there are attention layers to pack, and every divisor of their number;
/// block floors: the engine's own setting, the kernel blocks of the backend and the powers of two from 32 up to 8192,
/// those above the engine's own and not above `longest_tokens`;
/// modes: all three, the engine's own first (models without recurrent layers: that one alone);
/// retention: everything (or every block, by a release that has no other way to keep it), only the last checkpoint,
/// every fourth block.
SearchSpace default_search_space(SearchSpace space, const ModelSpec& model, const EngineSpec& engine,
                                 std::int64_t longest_tokens);

/// Layers of the attention spec that has most of them; at least 1.
std::int64_t packable_layers(const ModelSpec& model, const EngineSpec& engine);

/// One planned layout: what the bytes and the concurrency of candidates depend on.
struct PlannedLayout {
  std::int64_t pack = 1;                        ///< N
  std::optional<std::int64_t> block_floor;      ///< user block size
  CacheMode mode = CacheMode::none;
  CachePlan plan;                               ///< without views and derivation
  CacheGeometry geometry;                       ///< with retention and match unit at their defaults
};

/// A combination that cannot run.
struct ImpossibleLayout {
  std::int64_t pack = 1;
  std::optional<std::int64_t> block_floor;
  CacheMode mode = CacheMode::none;
  SpecError refusal;  ///< of the planner or the simulator, with the path of the value at fault
};

struct PlannedLayouts {
  std::vector<PlannedLayout> layouts;
  std::vector<ImpossibleLayout> impossible;
  std::int64_t combinations = 0;  ///< planned
  std::int64_t merged = 0;        ///< of those, equal to another one with a smaller floor and left out
};

/// Plans every pack, floor and mode of a filled space. Floors that give the same block are one layout, with the first
/// of them. What the planner or the simulator refuses is a row of `impossible`, and so is a layout whose block no match
/// unit of the space divides, or that takes none of its retention intervals.
PlannedLayouts plan_layouts(const SearchSpace& space, const ModelSpec& model, const EngineSpec& engine,
                            const LimitsSpec& limits, const SchedulerSettings& scheduler = {});

/// The engine with the choices of one layout.
EngineSpec engine_with(const EngineSpec& engine, std::int64_t pack, std::optional<std::int64_t> block_floor,
                       CacheMode mode);

/// Tokens of a block of the layout that the prefix cache works with.
inline std::int64_t block_tokens(const PlannedLayout& layout) { return layout.geometry.block_size_tokens; }

/// Match units of a layout, the block itself (unset) first, then descending.
std::vector<std::optional<std::int64_t>> match_units_of(const SearchSpace& space, const PlannedLayout& layout,
                                                        const EngineSpec& engine);

/// Retention intervals of a layout, in tokens, everything (unset) first where it is asked for; those that it does not
/// take are left out. Where nothing that it keeps depends on them, the release's own alone.
std::vector<std::optional<std::int64_t>> retentions_of(const SearchSpace& space, const PlannedLayout& layout);

/// The interval with which a layout runs where `asked` is asked for: that, or the release's own where nothing depends
/// on it.
inline std::optional<std::int64_t> retention_in(const PlannedLayout& layout, std::optional<std::int64_t> asked) {
  return layout.geometry.depends_on_retention() ? asked : layout.geometry.retention_interval_tokens;
}

}  // namespace hybridkv
