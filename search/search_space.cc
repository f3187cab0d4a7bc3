#include "search/search_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/checked.h"
#include "base/error.h"
#include "planner/block_size.h"
#include "planner/layer_specs.h"
#include "planner/plan.h"
#include "simulator/plan_geometry.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_default_pack = 16;
constexpr std::int64_t least_default_floor = 32;
constexpr std::int64_t most_default_floor = 8192;
constexpr std::int64_t default_retention_blocks = 4;

bool packable(const LayerSet& set) { return set.attention && !set.draft && !set.auxiliary; }

std::vector<std::int64_t> default_packs(std::int64_t layers) {
  std::vector<std::int64_t> packs;
  for (std::int64_t n = 1; n <= layers; ++n)
    if (n <= most_default_pack || layers % n == 0) packs.push_back(n);
  return packs;
}

std::vector<std::optional<std::int64_t>> default_floors(const EngineSpec& engine, std::int64_t longest_tokens) {
  std::set<std::int64_t> sizes(engine.kernel_block_sizes.begin(), engine.kernel_block_sizes.end());
  for (std::int64_t size = least_default_floor; size <= most_default_floor; size *= 2) sizes.insert(size);
  std::vector<std::optional<std::int64_t>> floors{engine.block_size_tokens};
  for (const std::int64_t size : sizes)
    if (size > engine.block_size_tokens.value_or(1) && size <= longest_tokens) floors.emplace_back(size);
  return floors;
}

/// The space may name match units that fit no block.
void require_match_unit(const SearchSpace& space, const PlannedLayout& layout, const EngineSpec& engine) {
  if (!match_units_of(space, layout, engine).empty()) return;
  SearchSpace open = space;
  open.match_units.reset();
  std::vector<std::int64_t> fitting;
  for (const auto& unit : match_units_of(open, layout, engine))
    if (unit && fitting.size() < 4) fitting.push_back(*unit);
  throw SpecError("geometry.match_unit_tokens",
                  fmt::format("none of {} divides the block of {} tokens; {} {}", fmt::join(*space.match_units, ", "),
                              block_tokens(layout), fitting.empty() ? "only the block does" : "these do, for example:",
                              fmt::join(fitting, ", ")));
}

/// Tokens of which a retention interval is a multiple.
std::int64_t retention_step(const PlannedLayout& layout) {
  return layout.geometry.rules.blocks->retention_step(layout.geometry);
}

/// The space may name intervals of which the layout takes none.
void require_retention(const SearchSpace& space, const PlannedLayout& layout) {
  const bool named = !space.retentions.empty() || !space.retention_blocks.empty();
  if (!named || !retentions_of(space, layout).empty()) return;
  std::vector<std::int64_t> asked;
  for (const auto& interval : space.retentions) asked.push_back(interval.value_or(0));
  throw SpecError("geometry.retention_interval_tokens",
                  fmt::format("none of {} is a multiple of the {} tokens at which the blocks of all groups end; take "
                              "one that is, or 0", fmt::join(asked, ", "), retention_step(layout)));
}

}  // namespace

std::int64_t packable_layers(const ModelSpec& model, const EngineSpec& engine) {
  std::int64_t most = 1;
  for (const LayerSet& set : collect_layer_sets(model, engine))
    if (packable(set)) most = std::max<std::int64_t>(most, std::ssize(set.layers));
  return most;
}

SearchSpace default_search_space(SearchSpace space, const ModelSpec& model, const EngineSpec& engine,
                                 std::int64_t longest_tokens) {
  const std::vector<LayerSet> sets = collect_layer_sets(model, engine);
  const bool recurrent = std::any_of(sets.begin(), sets.end(), [](const LayerSet& set) { return set.recurrent; });
  if (engine.rules->is_read) {  // of which modes and blocks alone are settings
    if (space.packs.empty()) space.packs = {1};
    if (!space.match_units) space.match_units = std::vector<std::int64_t>{0};
    if (space.retentions.empty() && space.retention_blocks.empty()) space.retentions = {std::nullopt};
  }
  if (space.packs.empty()) space.packs = default_packs(packable_layers(model, engine));
  if (space.block_floors.empty()) space.block_floors = default_floors(engine, longest_tokens);
  if (!recurrent) space.modes = {engine.cache_mode};
  if (space.modes.empty()) {
    space.modes = {engine.cache_mode};
    for (const CacheMode mode : {CacheMode::align, CacheMode::all, CacheMode::none})
      if (mode != engine.cache_mode && (mode != CacheMode::all || engine.rules->has_mode_all))
        space.modes.push_back(mode);
  }
  if (space.retentions.empty() && space.retention_blocks.empty()) {
    space.retentions = {0};
    space.retention_blocks = {default_retention_blocks};
    // A release that keeps only the last checkpoint unless an interval is set has no setting for "every checkpoint".
    if (engine.rules->retention_tokens) space.retention_blocks.insert(space.retention_blocks.begin(), 1);
    else space.retentions.insert(space.retentions.begin(), std::nullopt);
  }
  return space;
}

EngineSpec engine_with(const EngineSpec& engine, std::int64_t pack, std::optional<std::int64_t> block_floor,
                       CacheMode mode) {
  EngineSpec chosen = engine;
  chosen.attention_pack_size = pack;
  chosen.block_size_tokens = block_floor;
  chosen.cache_mode = mode;
  return chosen;
}

PlannedLayouts plan_layouts(const SearchSpace& space, const ModelSpec& model, const EngineSpec& engine,
                            const LimitsSpec& limits, const SchedulerSettings& scheduler) {
  PlannedLayouts planned;
  std::set<std::tuple<std::int64_t, CacheMode, std::int64_t, std::int64_t>> seen;
  for (const CacheMode mode : space.modes)
    for (const std::int64_t pack : space.packs)
      for (const auto& floor : space.block_floors) {
        ++planned.combinations;
        const EngineSpec chosen = engine_with(engine, pack, floor, mode);
        try {
          PlannedLayout layout{.pack = pack, .block_floor = floor, .mode = mode};
          layout.plan = make_plan(model, chosen, limits, std::nullopt, PlanDetail::numbers);
          layout.geometry = geometry_of(layout.plan, chosen);
          layout.geometry.scheduler = scheduler.with_longest(layout.geometry.scheduler.max_model_len);
          validate(layout.geometry);
          require_match_unit(space, layout, chosen);
          require_retention(space, layout);
          if (!seen.emplace(pack, mode, layout.geometry.block_size_tokens, layout.plan.lanes.front().bytes).second) {
            ++planned.merged;
            continue;
          }
          planned.layouts.push_back(std::move(layout));
        } catch (const SpecError& error) {
          planned.impossible.push_back({pack, floor, mode, error});
        } catch (const InputError& error) {
          planned.impossible.push_back({pack, floor, mode, SpecError("engine", error.what())});
        }
      }
  return planned;
}

std::vector<std::optional<std::int64_t>> match_units_of(const SearchSpace& space, const PlannedLayout& layout,
                                                        const EngineSpec& engine) {
  const std::int64_t block = block_tokens(layout);
  if (!layout.geometry.caches_prefixes()) return {std::nullopt};
  std::set<std::int64_t, std::greater<>> finer;
  bool whole = !space.match_units;
  if (space.match_units) {
    for (const std::int64_t unit : *space.match_units) {
      whole = whole || unit == 0 || unit == block;
      if (unit > 0 && unit < block && block % unit == 0) finer.insert(unit);
    }
  } else {
    const std::int64_t grain = declared_blocks(engine, false).smallest;
    const std::int64_t grains = block % grain == 0 ? block / grain : 1;
    for (std::int64_t divisor = 1; divisor * divisor <= grains; ++divisor)
      if (grains % divisor == 0) finer.insert({divisor * grain, grains / divisor * grain});
    finer.erase(block);
  }
  std::vector<std::optional<std::int64_t>> units;
  if (whole) units.emplace_back(std::nullopt);
  units.insert(units.end(), finer.begin(), finer.end());
  return units;
}

std::vector<std::optional<std::int64_t>> retentions_of(const SearchSpace& space, const PlannedLayout& layout) {
  if (!layout.geometry.depends_on_retention()) return {layout.geometry.retention_interval_tokens};
  const std::int64_t step = retention_step(layout);
  std::vector<std::optional<std::int64_t>> retentions;
  const auto add = [&](std::optional<std::int64_t> interval) {
    if (std::find(retentions.begin(), retentions.end(), interval) == retentions.end()) retentions.push_back(interval);
  };
  for (const auto& interval : space.retentions)
    if (interval.value_or(0) % step == 0) add(interval);
  for (const std::int64_t blocks : space.retention_blocks)
    add(Checked(ceil_div(Checked(blocks) * block_tokens(layout), step)) * step);
  return retentions;
}

}  // namespace hybridkv
