#include "search/snapshot_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/bytes_text.h"
#include "base/error.h"
#include "planner/snapshot_places.h"
#include "search/tried_values.h"

namespace hybridkv {

namespace {

/// What two engines may differ in; without a ratio memory is shared by the length of requests.
auto snapshot_choices(const EngineSpec& engine) {
  const SnapshotPoints points = snapshot_points(engine);
  return std::tuple(engine.cache_mode, points.from_start, points.from_end, points.at_branches, points.interval_tokens,
                    engine.state_memory_ratio, engine.own.find(group_key::pool_ratio));
}

/// Another place than the engine's own is at the very end of a prompt.
void choose_places(EngineSpec& engine, SnapshotPlaces places) {
  if (snapshot_places(engine) == places) return;
  engine.own.reset(group_key::offsets_from_end);
  engine.own.reset(group_key::enable_branch_snapshot);
  if (has_end(places)) engine.own.set(group_key::offsets_from_end, {0});
  if (has_branch(places)) engine.own.set(group_key::enable_branch_snapshot, true);
}

void choose_interval(EngineSpec& engine, std::int64_t tokens) {
  if (snapshot_points(engine).interval_tokens == tokens) return;
  engine.own.reset(group_key::mamba_state_cache_interval);
  engine.own.set(group_key::periodic_snapshot_interval, tokens);
}

double ratio_of(const CachePlan& plan) {
  const auto bytes = [&](std::size_t arena) {
    return static_cast<double>(plan.arenas[arena].num_ids) * static_cast<double>(plan.arenas[arena].bytes_per_id);
  };
  return bytes(1) / bytes(0);
}

}  // namespace

SnapshotSpace::SnapshotSpace(const RecommendSpec& spec) : PlannedSpace(spec) {
  fill(space_.snapshots, snapshot_places(spec.engine), search_axis::snapshots);
  fill(space_.snapshot_intervals, snapshot_points(spec.engine).interval_tokens, search_axis::snapshot_intervals);
}

std::vector<double> SnapshotSpace::ratios_around_own() const {
  std::vector<double> ratios;
  try {
    const double own = ratio_of(plan_of(spec_.engine));
    for (const double factor : {0.5, 2.0, 4.0}) ratios.push_back(std::stod(fmt::format("{:.3g}", own * factor)));
  } catch (const SpecError&) {
    ratios = {0.25, 1, 4};  // as it is set it does not start; another split may
  }
  return ratios;
}

IndexSpace::Key SnapshotSpace::key(const PlannedLayout& layout) const {
  const SnapshotPoints& points = layout.plan.pool_groups->points;
  Key key{points.interval_tokens, points.at_branches, layout.plan.arenas[0].num_ids, layout.plan.arenas[1].num_ids,
          std::ssize(points.from_start)};
  key.insert(key.end(), points.from_start.begin(), points.from_start.end());
  key.insert(key.end(), points.from_end.begin(), points.from_end.end());
  return key;
}

bool SnapshotSpace::same(const PlannedLayout& layout, const PlannedLayout& other) const {
  return snapshot_choices(layout.engine) == snapshot_choices(other.engine);
}

std::int64_t SnapshotSpace::changes(const EngineSpec& engine) const {
  const EngineSpec& own = spec_.engine;
  return (snapshot_places(engine) != snapshot_places(own)) +
         (snapshot_points(engine).interval_tokens != snapshot_points(own).interval_tokens) +
         (engine.state_memory_ratio != own.state_memory_ratio);
}

void SnapshotSpace::add_ratios(EngineSpec engine, std::vector<EngineSpec>& engines) const {
  const bool is_asked = !space_.ratios.empty();
  if (!is_asked) engines.push_back(engine);
  engine.own.reset(group_key::pool_ratio);
  for (const double ratio : is_asked ? space_.ratios : ratios_around_own()) {
    engine.state_memory_ratio = ratio;
    engines.push_back(engine);
  }
}

std::vector<EngineSpec> SnapshotSpace::engines() const {
  std::vector<EngineSpec> engines;
  for (const SnapshotPlaces places : space_.snapshots)
    for (const std::int64_t interval : space_.snapshot_intervals) {
      EngineSpec engine = spec_.engine;
      choose_places(engine, places);
      choose_interval(engine, interval);
      add_ratios(std::move(engine), engines);
    }
  return engines;
}

void SnapshotSpace::refuse(const std::vector<const PlannedLayout*>& layouts) const {
  const PlannedLayout& most = most_running(layouts);
  throw InputError(fmt::format(
      "no setting holds {} requests of {} tokens at once in {}; the most is {:.2f} ({} states, {} blocks); take more "
      "memory, or shorter requests (--at-length)",
      spec_.min_concurrency.value_or(1), spec_.at_length, bytes_text(spec_.engine.memory_bytes),
      running(most.plan, spec_.at_length),
      most.plan.arenas[1].num_ids, most.plan.arenas[0].num_ids));
}

}  // namespace hybridkv
