#include "search/tree_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/bytes_text.h"
#include "base/error.h"
#include "planner/tree_settings.h"
#include "planner/tree_split.h"
#include "search/candidate_choice.h"
#include "search/tried_values.h"

namespace hybridkv {

namespace {

bool keeps_prefixes(const EngineSpec& engine) { return engine.cache_mode != CacheMode::none; }
bool tracks(const EngineSpec& engine) {
  return keeps_prefixes(engine) && tree_strategy(engine) != TreeStrategy::no_buffer;
}

/// What two engines may differ in, a value of theirs each.
auto choices_of(const ModelSpec& model, const EngineSpec& engine) {
  return std::tuple(engine.cache_mode, tree_strategy(engine), memory_ratio(engine), tree_page(model, engine),
                    track_interval(engine));
}

/// Up to five digits, no smaller: what is typed is what is planned, and has the states that a ratio is chosen for.
double typed_ratio(double ratio) {
  const double unit = std::pow(10.0, std::floor(std::log10(ratio)) - 4);
  return std::stod(fmt::format("{:.4e}", std::ceil(ratio / unit) * unit));
}

}  // namespace

TreeSpace::TreeSpace(const RecommendSpec& spec, const WorkloadFacts& workload)
    : PlannedSpace(spec), workload_(workload), decodes_(tree_decodes(spec.driver)) {
  fill_space();
  least_ = least_running();
}

void TreeSpace::fill_space() {
  const EngineSpec& engine = spec_.engine;
  if (!decodes_ && space_.track_intervals.empty()) space_.track_intervals = {track_interval(engine)};
  fill(space_.modes, engine.cache_mode, search_axis::modes);
  fill(space_.strategies, tree_strategy(engine), search_axis::strategies);
  fill(space_.page_sizes, tree_page(spec_.model, engine), search_axis::page_sizes);
  fill(space_.track_intervals, track_interval(engine), search_axis::track_intervals);
}

/// Nearly as many as the default runs, with a tree where it has none.
double TreeSpace::least_running() const {
  const PickLimits limits{spec_.rule, spec_.min_concurrency, workload_.prompt_tokens};
  EngineSpec reference = spec_.engine;
  if (!keeps_prefixes(reference)) reference.cache_mode = CacheMode::align;
  try {
    return limits.least_of(running(planned(reference).plan, spec_.at_length));
  } catch (const SpecError&) {
    return limits.least_of(0);  // then a pick is held to what is demanded alone
  }
}

PlannedLayout TreeSpace::planned(const EngineSpec& engine) const {
  PlannedLayout layout{.engine = engine, .plan = plan_of(engine)};
  if (!keeps_prefixes(engine)) return layout;
  layout.cache = replayed_cache(layout.plan, spec_.model, engine, spec_.longest_length());
  return layout;
}

IndexSpace::Key TreeSpace::key(const PlannedLayout& layout) const {
  const TreePools& pools = *layout.plan.tree_pools;
  return {static_cast<std::int64_t>(layout.mode()), static_cast<std::int64_t>(tree_strategy(layout.engine)),
          pools.page_tokens, decodes_ ? pools.decode_tokens : 0, pools.split.state_slots, pools.split.token_slots};
}

bool TreeSpace::same(const PlannedLayout& layout, const PlannedLayout& other) const {
  return choices_of(spec_.model, layout.engine) == choices_of(spec_.model, other.engine);
}

std::int64_t TreeSpace::changes(const EngineSpec& engine) const {
  const EngineSpec& other = spec_.engine;
  return (engine.cache_mode != other.cache_mode) + (memory_ratio(engine) != memory_ratio(other)) +
         (tree_page(spec_.model, engine) != tree_page(spec_.model, other)) +
         (keeps_prefixes(engine) && tree_strategy(engine) != tree_strategy(other)) +
         (tracks(engine) && track_interval(engine) != track_interval(other));
}

std::vector<EngineSpec> TreeSpace::engines() const {
  std::vector<EngineSpec> engines;
  for (const CacheMode mode : space_.modes) {
    EngineSpec engine = spec_.engine;
    engine.cache_mode = mode;
    if (!keeps_prefixes(engine)) {
      // A host tier has no use without a tree, and the engine refuses it.
      if (spec_.space.modes.empty() && engine.own[tree_key::enable_hierarchical_cache]) continue;
      add_ratios(engine, engines);
      continue;
    }
    for (const TreeStrategy strategy : space_.strategies) {
      engine.own.set(tree_key::mamba_radix_cache_strategy, strategy);
      add_pages(engine, engines);
    }
  }
  return engines;
}

void TreeSpace::add_pages(EngineSpec engine, std::vector<EngineSpec>& engines) const {
  for (const std::int64_t page : space_.page_sizes) {
    engine.own.set(tree_key::page_size, page);
    // Of the pages and intervals that nobody asked for only those that the engine takes.
    if (spec_.space.page_sizes.empty() && !tracks(engine) && page != 1) continue;
    for (const std::int64_t interval : space_.track_intervals) {
      engine.own.set(tree_key::mamba_track_interval, interval);
      if (spec_.space.track_intervals.empty() && interval % page != 0) continue;
      add_ratios(engine, engines);
      if (!tracks(engine)) break;
    }
  }
}

void TreeSpace::add_ratios(EngineSpec engine, std::vector<EngineSpec>& engines) const {
  for (const double ratio : ratios_of(engine)) {
    engine.state_memory_ratio = spec_.engine.state_memory_ratio;
    if (ratio != memory_ratio(spec_.engine)) engine.state_memory_ratio = ratio;
    engines.push_back(engine);
  }
}

/// The ratios to try beside the other choices of an engine.
std::vector<double> TreeSpace::ratios_of(const EngineSpec& engine) const {
  if (!spec_.space.ratios.empty()) return spec_.space.ratios;
  std::vector<double> ratios{memory_ratio(spec_.engine)};
  std::optional<double> best;
  try {
    const CachePlan plan = plan_of(engine);
    for (const LengthAdvice& advice : plan.tree_pools->advice)
      if (advice.tokens == spec_.at_length) best = advice.best_ratio;
  } catch (const SpecError&) {
    // As it is split nothing runs; another split may.
  }
  if (best) {
    for (const double factor : {1.0, 0.25, 0.5, 0.7, 0.85, 1.2, 1.5, 2.0, 3.0, 4.0, 8.0})
      add_once(ratios, typed_ratio(*best * factor));
    if (const auto most_states = largest_running(engine, *best)) add_once(ratios, *most_states);
  } else {
    for (double ratio = 1.0 / 64; ratio <= 64; ratio *= 2) add_once(ratios, ratio);
  }
  return ratios;
}

/// Does the engine run as many requests as a pick has to, split by this ratio?
bool TreeSpace::runs_enough(EngineSpec engine, double ratio) const {
  engine.state_memory_ratio = ratio;
  try {
    return running(plan_of(engine), spec_.at_length) >= least_;
  } catch (const SpecError&) {
    return false;
  }
}

/// The largest ratio above the best one that still runs enough: the most states that a pick may have.
std::optional<double> TreeSpace::largest_running(const EngineSpec& engine, double best) const {
  double low = typed_ratio(best), high = typed_ratio(best * 64);
  if (!runs_enough(engine, low)) return std::nullopt;
  for (double middle = 0; (middle = typed_ratio(std::sqrt(low * high))) < high && middle > low;)
    (runs_enough(engine, middle) ? low : high) = middle;
  return low;
}

double TreeSpace::running(const CachePlan& plan, std::int64_t tokens) const {
  const TreePools& pools = *plan.tree_pools;
  return static_cast<double>(std::min(pools.split.requests_at(tokens, pools.page_tokens), pools.split.max_running));
}

/// Without a tree nothing is replayed, which is where prompts longer than the pool are refused.
bool TreeSpace::allows(const PlannedLayout& layout) const {
  return layout.cache || layout.plan.tree_pools->split.token_slots > workload_.longest_prompt_tokens;
}

void TreeSpace::refuse(const std::vector<const PlannedLayout*>& layouts) const {
  const PlannedLayout& most = most_running(layouts);
  throw InputError(fmt::format(
      "no setting runs {} requests of {} tokens at once in {}; the most is {} (mode {}, strategy {}, ratio {}); take "
      "more memory, shorter requests (--at-length), or fp8 for K and V (--kv-dtype fp8)",
      spec_.min_concurrency.value_or(1), spec_.at_length, bytes_text(spec_.engine.memory_bytes),
      running(most.plan, spec_.at_length), to_string(most.mode()), to_string(tree_strategy(most.engine)),
      memory_ratio(most.engine)));
}

}  // namespace hybridkv
