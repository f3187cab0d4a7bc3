#include "search/slot_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bisect.h"
#include "base/bytes_text.h"
#include "base/error.h"
#include "planner/sequence_context.h"
#include "planner/tensor_pool_rules.h"
#include "planner/row_settings.h"
#include "search/tried_values.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_slots = 4096;

std::int64_t checkpoints_of(const EngineSpec& engine) {
  return engine.cache_mode == CacheMode::none ? 0 : engine.own[row_key::ctx_checkpoints];
}

std::int64_t cache_ram_of(const EngineSpec& engine) {
  return engine.cache_mode == CacheMode::none ? 0 : engine.own[row_key::cache_ram];
}

using SlotChoices = std::array<std::int64_t, 4>;

/// What two engines may differ in; without checkpoints no distance between them matters.
SlotChoices slot_choices(const EngineSpec& engine) {
  const std::int64_t checkpoints = checkpoints_of(engine);
  return {sequences_of(engine), checkpoints, checkpoints > 0 ? engine.own[row_key::checkpoint_min_step] : 0,
          cache_ram_of(engine)};
}

/// Says a value where it is not the engine's own already.
void choose(EngineSpec& engine, const Setting<std::int64_t>& setting, std::int64_t value) {
  if (engine.own[setting] != value) engine.own.set(setting, value);
}

}  // namespace

SlotSpace::SlotSpace(const RecommendSpec& spec) : PlannedSpace(spec) {
  if (space_.slots.empty()) {
    fill(space_.slots, sequences_of(spec.engine), search_axis::slots);
    if (const auto full = most_full_slots()) add_once(space_.slots, *full);
  }
  fill(space_.slot_checkpoints, checkpoints_of(spec.engine), search_axis::slot_checkpoints);
  fill(space_.checkpoint_steps, spec.engine.own[row_key::checkpoint_min_step], search_axis::checkpoint_steps);
  if (space_.cache_rams.empty()) fill_cache_rams();
}

void SlotSpace::fill_cache_rams() {
  space_.cache_rams = tried_values(cache_ram_of(spec_.engine), *spec_.engine.rules, search_axis::cache_rams);
  if (!spec_.host_memory_bytes) return;
  const std::int64_t limit = *spec_.host_memory_bytes >> SequenceRows::mib_bits;
  std::erase_if(space_.cache_rams, [&](std::int64_t value) { return value > limit; });
  for (const std::int64_t part : {4, 3, 2, 1}) add_once(space_.cache_rams, limit / 4 * part);
}

bool SlotSpace::allows(const PlannedLayout& layout) const {
  const SequenceRows& rows = *layout.plan.rows;
  if (!spec_.host_memory_bytes) return true;
  // Saved prompts without a limit in bytes may take any.
  return rows.saved_bytes >= 0 && rows.host_bytes() <= *spec_.host_memory_bytes - rows.saved_bytes;
}

/// Rows of states take their part of the memory from the cells: with more slots than these some have to wait.
std::optional<std::int64_t> SlotSpace::most_full_slots() const {
  EngineSpec engine = spec_.engine;
  engine.own.set(row_key::kv_unified, shares_cells(spec_.engine));
  const auto are_full = [&](std::int64_t slots) {
    engine.max_running_requests = slots;
    try {
      return running(plan_of(engine), spec_.at_length) >= static_cast<double>(slots);
    } catch (const SpecError&) {
      return false;
    }
  };
  if (!are_full(1)) return std::nullopt;
  return last_that(1, most_slots + 1, are_full);
}

IndexSpace::Key SlotSpace::key(const PlannedLayout& layout) const {
  const SlotChoices choices = slot_choices(layout.engine);
  return {choices.begin(), choices.end()};
}

bool SlotSpace::same(const PlannedLayout& layout, const PlannedLayout& other) const {
  return slot_choices(layout.engine) == slot_choices(other.engine);
}

std::int64_t SlotSpace::changes(const EngineSpec& engine) const {
  const auto own = slot_choices(spec_.engine), other = slot_choices(engine);
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < own.size(); ++i) changed += own[i] != other[i] ? 1 : 0;
  return changed;
}

std::vector<EngineSpec> SlotSpace::engines() const {
  std::vector<EngineSpec> engines;
  EngineSpec engine = spec_.engine;
  for (const std::int64_t slots : space_.slots) {
    engine.max_running_requests = spec_.engine.max_running_requests;
    if (slots != sequences_of(spec_.engine)) engine.max_running_requests = slots;
    for (const std::int64_t checkpoints : space_.slot_checkpoints) {
      engine.own = spec_.engine.own;
      // A number of slots alone would give each its own cells.
      if (engine.max_running_requests != spec_.engine.max_running_requests)
        engine.own.set(row_key::kv_unified, shares_cells(spec_.engine));
      choose(engine, row_key::ctx_checkpoints, checkpoints);
      for (const std::int64_t step : space_.checkpoint_steps) {
        choose(engine, row_key::checkpoint_min_step, step);
        for (const std::int64_t cache_ram : space_.cache_rams) {
          choose(engine, row_key::cache_ram, cache_ram);
          engines.push_back(engine);
          if (engine.cache_mode == CacheMode::none) break;
        }
        if (checkpoints_of(engine) == 0) break;
      }
    }
  }
  return engines;
}

void SlotSpace::refuse(const std::vector<const PlannedLayout*>& layouts) const {
  if (std::none_of(layouts.begin(), layouts.end(), [&](const PlannedLayout* layout) { return allows(*layout); }))
    throw InputError(fmt::format("no setting keeps all checkpoints and saved prompts within {} of the host "
                                 "(simulate.host_memory); search fewer of {} and {}",
                                 bytes_text(*spec_.host_memory_bytes), search_axis::slot_checkpoints.flag,
                                 search_axis::cache_rams.flag));
  const PlannedLayout& most = most_running(layouts);
  throw InputError(fmt::format(
      "no setting holds {} requests of {} tokens at once in {}; the most is {:.2f} ({} slots); take more memory, or "
      "shorter requests (--at-length)",
      spec_.min_concurrency.value_or(1), spec_.at_length, bytes_text(spec_.engine.memory_bytes),
      running(most.plan, spec_.at_length),
      sequences_of(most.engine)));
}

}  // namespace hybridkv
