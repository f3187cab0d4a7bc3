#include "search/block_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/add_once.h"
#include "base/bytes_text.h"
#include "base/checked.h"
#include "base/error.h"
#include "planner/block_size.h"
#include "planner/capacity.h"
#include "planner/layer_specs.h"
#include "planner/plan.h"
#include "planner/primary_attention.h"
#include "search/tried_values.h"

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

/// A page of more layers than there are can hold nothing that one of all layers does not.
void check_packs(const RecommendSpec& spec) {
  const std::int64_t layers = packable_layers(spec.model, spec.engine);
  for (const std::int64_t pack : spec.space.packs)
    if (pack < 1 || pack > layers)
      throw SpecError("engine.attention_pack_size",
                      fmt::format("{} layers a page cannot be searched: the model has {} to pack; take 1 to {}", pack,
                                  layers == 1 ? "1 attention layer" : fmt::format("{} attention layers", layers),
                                  layers));
}

/// Tokens of which a retention interval is a multiple.
std::int64_t retention_step(const PlannedLayout& layout) {
  return layout.geometry().rules.blocks->retention_step(layout.geometry());
}

/// Largest number where no kernel runs over the plan.
std::int64_t kernel_block_of(const CachePlan& plan) {
  const SpecPlan* attention = primary_attention(plan);
  const bool has_kernel = attention != nullptr && attention->role() != SpecRole::auxiliary;
  return has_kernel ? attention->kernel_block_size_tokens : std::numeric_limits<std::int64_t>::max();
}

/// The least memory with which a plan would hold `wanted` requests of so many tokens; nothing beyond any memory.
std::optional<std::int64_t> memory_for(const CachePlan& plan, std::int64_t tokens, double wanted) {
  double bytes = 0;
  const Demand demand = request_demand(plan, tokens);
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
    bytes += (std::ceil(wanted * static_cast<double>(demand.ids[arena])) + 1) *  // and the null id
             static_cast<double>(plan.arenas[arena].bytes_per_id);
  return bytes < 0x1p62 ? std::optional(static_cast<std::int64_t>(bytes)) : std::nullopt;
}

}  // namespace

std::int64_t packable_layers(const ModelSpec& model, const EngineSpec& engine) {
  std::int64_t most = 1;
  for (const LayerSet& set : collect_layer_sets(model, engine))
    if (packable(set)) most = std::max<std::int64_t>(most, std::ssize(set.layers));
  return most;
}

std::optional<std::int64_t> retention_in(const PlannedLayout& layout, std::optional<std::int64_t> asked) {
  return layout.geometry().depends_on_retention() ? asked : layout.geometry().retention_interval_tokens;
}

BlockSpace::BlockSpace(const RecommendSpec& spec)
    : spec_(spec),
      limits_(spec.compared_limits()),
      scheduler_(spec.scheduler),
      space_(spec.space),
      default_unit_(spec.default_match_unit) {
  scheduler_.max_model_len = spec.longest_length();
  check_packs(spec);
  fill_space();
}

std::vector<std::optional<std::int64_t>> BlockSpace::default_floors() const {
  const EngineSpec& engine = spec_.engine;
  std::set<std::int64_t> sizes(engine.kernel_block_sizes.begin(), engine.kernel_block_sizes.end());
  for (std::int64_t size = least_default_floor; size <= most_default_floor; size *= 2) sizes.insert(size);
  std::vector<std::optional<std::int64_t>> floors{engine.block_size_tokens};
  for (const std::int64_t size : sizes)
    if (size > engine.block_size_tokens.value_or(1) && size <= spec_.at_length) floors.emplace_back(size);
  return floors;
}

const EngineAxis* BlockSpace::axis(const SearchAxis& wanted) const {
  return axis_of(engine_of(*spec_.engine.rules), wanted);
}

std::vector<std::int64_t> BlockSpace::tried_packs() const {
  const EngineAxis* const packs = axis(search_axis::packs);
  if (packs == nullptr) return {1};
  if (packs->values.empty()) return default_packs(packable_layers(spec_.model, spec_.engine));
  return {packs->values.begin(), packs->values.end()};
}

void BlockSpace::fill_space() {
  const EngineSpec& engine = spec_.engine;
  const std::vector<LayerSet> sets = collect_layer_sets(spec_.model, engine);
  const bool recurrent = std::any_of(sets.begin(), sets.end(), [](const LayerSet& set) { return set.recurrent; });
  if (space_.packs.empty()) space_.packs = tried_packs();
  if (!axis(search_axis::block_sizes) && space_.block_floors.empty()) space_.block_floors = {engine.block_size_tokens};
  if (space_.block_floors.empty()) space_.block_floors = default_floors();
  if (!recurrent) space_.modes = {engine.cache_mode};
  if (space_.modes.empty()) space_.modes = tried_values(engine.cache_mode, *engine.rules, search_axis::modes);
  if (!axis(search_axis::match_units) && !space_.match_units) space_.match_units = std::vector<std::int64_t>{0};
  if (space_.retentions.empty() && space_.retention_blocks.empty()) fill_retentions();
}

/// The default's value is among them, first: layouts are compared with it.
void BlockSpace::fill_retentions() {
  space_.retentions = {std::nullopt};
  if (axis(search_axis::retentions)) {
    space_.retentions.emplace_back(0);
    space_.retention_blocks = {default_retention_blocks};
    // A release that keeps only the last checkpoint unless an interval is set has no setting for "every checkpoint".
    if (spec_.engine.rules->retention_tokens) {
      space_.retention_blocks.insert(space_.retention_blocks.begin(), 1);
      space_.retentions.erase(space_.retentions.begin());
    }
  }
  std::erase(space_.retentions, spec_.default_retention);
  space_.retentions.insert(space_.retentions.begin(), spec_.default_retention);
}

EngineSpec BlockSpace::default_engine() const {
  EngineSpec engine = spec_.engine;
  engine.attention_pack_size = 1;
  return engine;
}

std::vector<EngineSpec> BlockSpace::engines() const {
  std::vector<EngineSpec> engines;
  for (const CacheMode mode : space_.modes)
    for (const std::int64_t pack : space_.packs)
      for (const auto& floor : space_.block_floors) {
        engines.push_back(spec_.engine);
        engines.back().attention_pack_size = pack;
        engines.back().block_size_tokens = floor;
        engines.back().cache_mode = mode;
      }
  return engines;
}

PlannedLayout BlockSpace::planned(const EngineSpec& engine) const {
  PlannedLayout layout{.engine = engine,
                       .plan = make_plan(spec_.model, engine, limits_, std::nullopt, PlanDetail::numbers)};
  layout.cache = replayed_cache(layout.plan, spec_.model, engine, spec_.longest_length());
  layout.geometry().scheduler = scheduler_;
  validate(layout.geometry());
  return layout;
}

IndexSpace::Key BlockSpace::key(const PlannedLayout& layout) const {
  return {layout.pack(), static_cast<std::int64_t>(layout.mode()), block_tokens(layout),
          layout.plan.lanes.front().bytes};
}

bool BlockSpace::same(const PlannedLayout& layout, const PlannedLayout& other) const {
  return layout.pack() == other.pack() && layout.mode() == other.mode() &&
         block_tokens(layout) == block_tokens(other);
}

std::int64_t BlockSpace::changes(const EngineSpec& engine) const {
  return (engine.attention_pack_size != 1) + (engine.block_size_tokens != spec_.engine.block_size_tokens) +
         (engine.cache_mode != spec_.engine.cache_mode);
}

void BlockSpace::set_default(const PlannedLayout& layout) {
  if (default_unit_ == block_tokens(layout)) default_unit_.reset();
  CacheGeometry geometry = layout.geometry();
  geometry.match_unit_tokens = default_unit_;
  geometry.retention_interval_tokens = retention_in(layout, spec_.default_retention);
  validate(geometry);
}

Refinement BlockSpace::default_refinement(const PlannedLayout& layout) const {
  return {retention_in(layout, spec_.default_retention), default_unit_};
}

void BlockSpace::check(const PlannedLayout& layout) const {
  require_match_unit(layout);
  require_retention(layout);
}

std::vector<Refinement> BlockSpace::refinements(const PlannedLayout& layout) const {
  std::vector<Refinement> refinements;
  for (const auto& retention : retentions_of(layout))
    for (const auto& unit : match_units_of(layout, space_)) refinements.push_back({retention, unit});
  return refinements;
}

std::vector<std::optional<std::int64_t>> BlockSpace::match_units_of(const PlannedLayout& layout,
                                                                    const SearchSpace& space) const {
  const std::int64_t block = block_tokens(layout);
  if (!layout.geometry().caches_prefixes()) return {std::nullopt};
  std::set<std::int64_t, std::greater<>> finer;
  bool whole = !space.match_units;
  if (space.match_units) {
    for (const std::int64_t unit : *space.match_units) {
      whole = whole || unit == 0 || unit == block;
      if (unit > 0 && unit < block && block % unit == 0) finer.insert(unit);
    }
  } else {
    const std::int64_t grain = declared_blocks(spec_.engine, false).smallest;
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

std::vector<std::optional<std::int64_t>> BlockSpace::retentions_of(const PlannedLayout& layout) const {
  if (!layout.geometry().depends_on_retention()) return {layout.geometry().retention_interval_tokens};
  const std::int64_t step = retention_step(layout);
  std::vector<std::optional<std::int64_t>> retentions;
  for (const auto& interval : space_.retentions)
    if (interval.value_or(0) % step == 0) add_once(retentions, interval);
  for (const std::int64_t blocks : space_.retention_blocks)
    add_once(retentions, Checked(ceil_div(Checked(blocks) * block_tokens(layout), step)) * step);
  return retentions;
}

/// The space may name match units that fit no block.
void BlockSpace::require_match_unit(const PlannedLayout& layout) const {
  if (!match_units_of(layout, space_).empty()) return;
  SearchSpace open = space_;
  open.match_units.reset();
  std::vector<std::int64_t> fitting;
  for (const auto& unit : match_units_of(layout, open))
    if (unit && fitting.size() < 4) fitting.push_back(*unit);
  throw SpecError("geometry.match_unit_tokens",
                  fmt::format("none of {} divides the block of {} tokens; {} {}", fmt::join(*space_.match_units, ", "),
                              block_tokens(layout), fitting.empty() ? "only the block does" : "these do, for example:",
                              fmt::join(fitting, ", ")));
}

/// The space may name intervals of which the layout takes none.
void BlockSpace::require_retention(const PlannedLayout& layout) const {
  if (!retentions_of(layout).empty()) return;
  std::vector<std::int64_t> asked;
  for (const auto& interval : space_.retentions) asked.push_back(interval.value_or(0));
  throw SpecError("geometry.retention_interval_tokens",
                  fmt::format("none of {} is a multiple of the {} tokens at which the blocks of all groups end; take "
                              "one that is, or 0", fmt::join(asked, ", "), retention_step(layout)));
}

double BlockSpace::running(const CachePlan& plan, std::int64_t tokens) const {
  return (tokens == spec_.at_length ? capacity_of(plan, tokens) : capacity_at(plan, tokens, spec_.engine.token_rule))
      .usable_concurrency;
}

bool BlockSpace::allows(const PlannedLayout& layout) const {
  return kernel_block_of(layout.plan) >= spec_.min_kernel_block.value_or(1);
}

void BlockSpace::refuse(const std::vector<const PlannedLayout*>& layouts) const {
  const double wanted = spec_.min_concurrency.value_or(1);
  const PlannedLayout* best = nullptr;
  std::int64_t largest_kernel_block = 0;
  std::int64_t least_memory = std::numeric_limits<std::int64_t>::max();
  std::int64_t longest = 0;
  for (const PlannedLayout* const layout : layouts) {
    largest_kernel_block = std::max(largest_kernel_block, kernel_block_of(layout->plan));
    if (!allows(*layout)) continue;
    if (best == nullptr || running(best->plan, spec_.at_length) < running(layout->plan, spec_.at_length)) best = layout;
    least_memory =
        std::min(least_memory, memory_for(layout->plan, spec_.at_length, wanted).value_or(least_memory));
    longest = std::max(longest, longest_request(layout->plan, wanted));
  }
  if (best == nullptr)
    throw InputError(fmt::format("no layout has a kernel block of {} tokens or more; the largest is {}",
                                 *spec_.min_kernel_block, largest_kernel_block));
  std::string would = fmt::format("it takes {} of memory", bytes_text(least_memory));
  if (longest > 0) would += fmt::format(", or requests of at most {} tokens", longest);
  throw InputError(fmt::format(
      "no layout holds {} requests of {} tokens at once in {}; the most is {:.2f} (N = {}, block {}, mode {}); {}",
      wanted, spec_.at_length, bytes_text(spec_.engine.memory_bytes), running(best->plan, spec_.at_length),
      best->pack(), block_tokens(*best), to_string(best->mode()), would));
}

}  // namespace hybridkv
