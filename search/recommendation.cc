#include "search/recommendation.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/checked.h"
#include "base/error.h"
#include "planner/capacity.h"
#include "planner/plan.h"
#include "search/candidate_choice.h"
#include "search/candidate_runs.h"
#include "search/layout_limits.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_memory_bytes = std::int64_t{1} << 60;  // asked about unasked

/// One search; run() is its order.
class Search {
 public:
  explicit Search(const RecommendSpec& spec)
      : spec_(spec), scheduler_(spec.scheduler), default_unit_(spec.default_match_unit) {}

  Recommendation run() {
    if (spec_.engine.num_blocks)
      throw SpecError("engine.num_blocks",
                      "the layouts to compare take different bytes per block, so that a number of blocks is no common "
                      "limit; give engine.memory instead");
    read_workload();
    result_.at_length = spec_.at_length;
    limits_ = spec_.limits;
    if (std::find(limits_.max_model_lens.begin(), limits_.max_model_lens.end(), spec_.at_length) ==
        limits_.max_model_lens.end())
      limits_.max_model_lens.push_back(spec_.at_length);
    plan_all();
    check_layouts();
    choose_candidates();
    sort_candidates();
    drop_unserving(result_.candidates);
    find_front();
    consider_other_assumptions();
    return std::move(result_);
  }

 private:
  void tell(std::string_view what, std::int64_t done, std::int64_t total) const {
    if (spec_.on_progress) spec_.on_progress({what, done, total});
  }

  void read_workload() {
    // The length that is compared may be another one.
    result_.max_model_len = *std::max_element(spec_.limits.max_model_lens.begin(), spec_.limits.max_model_lens.end());
    result_.workload = hybridkv::read_workload(*spec_.open_trace(), result_.max_model_len);
    scheduler_.max_model_len = result_.max_model_len;
    pick_limits_ = {spec_.rule, spec_.min_concurrency, result_.workload.prompt_tokens};
  }

  // Layouts

  void plan_all() {
    check_packs();
    result_.space = default_search_space(spec_.space, spec_.model, spec_.engine, spec_.at_length);
    add_default_values(result_.space);
    tell("plan", 0, 1);
    PlannedLayouts planned = plan_layouts(result_.space, spec_.model, spec_.engine, limits_, scheduler_);
    result_.planned_layouts = planned.combinations;
    result_.merged_layouts = planned.merged;
    result_.impossible = std::move(planned.impossible);
    result_.layouts = std::move(planned.layouts);
    in_space_.assign(result_.layouts.size(), true);
    add_default();
    choose_reference();
    if (!result_.layouts.empty()) return;
    // Nothing runs: the planner says of the default what is wrong, and where.
    const EngineSpec engine = engine_with(spec_.engine, 1, spec_.engine.block_size_tokens, spec_.engine.cache_mode);
    make_plan(spec_.model, engine, limits_);
    throw result_.impossible.empty() ? SpecError(default_refusal_->path(), default_refusal_->message())
                                     : refusal_of(result_.impossible.front());
  }

  /// A page of more layers than there are can hold nothing that one of all layers does not.
  void check_packs() const {
    const std::int64_t layers = packable_layers(spec_.model, spec_.engine);
    for (const std::int64_t pack : spec_.space.packs)
      if (pack < 1 || pack > layers)
        throw SpecError("engine.attention_pack_size",
                        fmt::format("{} layers a page cannot be searched: the model has {} to pack; take 1 to {}", pack,
                                    layers == 1 ? "1 attention layer" : fmt::format("{} attention layers", layers),
                                    layers));
  }

  /// What is wrong with all layouts searched, under the path of the value at fault.
  SpecError refusal_of(const ImpossibleLayout& first) const {
    return {first.refusal.path(),
            fmt::format("{} (so for the first of {} combinations searched, none of which can run)",
                        first.refusal.message(), result_.planned_layouts)};
  }

  /// What the user left to the search includes the default's value, first: layouts are compared with it.
  void add_default_values(SearchSpace& space) const {
    const bool free_retention = spec_.space.retentions.empty() && spec_.space.retention_blocks.empty();
    if (!free_retention) return;
    std::erase(space.retentions, spec_.default_retention);
    space.retentions.insert(space.retentions.begin(), spec_.default_retention);
  }

  void add_default() {
    const SearchSpace alone{.packs = {1}, .block_floors = {spec_.engine.block_size_tokens},
                            .modes = {spec_.engine.cache_mode}};
    PlannedLayouts planned = plan_layouts(alone, spec_.model, spec_.engine, limits_, scheduler_);
    if (planned.layouts.empty()) {
      refuse_default(planned.impossible.front().refusal);
      return;
    }
    PlannedLayout& layout = planned.layouts.front();
    if (default_unit_ == block_tokens(layout)) default_unit_.reset();
    const auto own_retention = layout.geometry.retention_interval_tokens;
    layout.geometry.match_unit_tokens = default_unit_;
    layout.geometry.retention_interval_tokens = retention_in(layout, spec_.default_retention);
    try {
      validate(layout.geometry);
    } catch (const SpecError& error) {
      refuse_default(error);
      return;
    }
    layout.geometry.match_unit_tokens.reset();
    layout.geometry.retention_interval_tokens = own_retention;
    const auto same = [&](const PlannedLayout& other) {
      return other.pack == 1 && other.mode == layout.mode && block_tokens(other) == block_tokens(layout);
    };
    const auto found = std::find_if(result_.layouts.begin(), result_.layouts.end(), same);
    default_layout_ = static_cast<std::size_t>(found - result_.layouts.begin());
    if (found != result_.layouts.end()) return;
    result_.layouts.push_back(std::move(layout));
    in_space_.push_back(false);
  }

  void refuse_default(const SpecError& refusal) {
    default_refusal_ = refusal;
    result_.default_refused = refusal;
  }

  /// The default, or, where it keeps no states, the same in mode align: nobody compares caching with not caching by
  /// concurrency alone.
  void choose_reference() {
    reference_layout_ = default_layout_;
    if (default_layout_ && result_.layouts[*default_layout_].geometry.caches_prefixes()) return;
    for (std::size_t i = 0; i < result_.layouts.size(); ++i) {
      const PlannedLayout& layout = result_.layouts[i];
      if (layout.pack == 1 && layout.mode == CacheMode::align && layout.block_floor == spec_.engine.block_size_tokens)
        reference_layout_ = i;
    }
  }

  double concurrency_of(std::size_t layout) const {
    return capacity_of(result_.layouts[layout].plan, spec_.at_length).usable_concurrency;
  }

  bool meets_limits(std::size_t layout) const {
    const PlannedLayout& planned = result_.layouts[layout];
    return pick_limits_.holds_enough(concurrency_of(layout)) &&
           kernel_block_of(planned.plan) >= spec_.min_kernel_block.value_or(1);
  }

  void check_layouts() const {
    std::vector<std::size_t> searched;
    for (std::size_t i = 0; i < result_.layouts.size(); ++i)
      if (in_space_[i]) searched.push_back(i);
    if (searched.empty()) throw refusal_of(result_.impossible.front());
    check_limits(spec_, result_.layouts, searched);
  }

  // Candidates

  Candidate candidate_of(std::size_t layout, std::optional<std::int64_t> retention,
                         std::optional<std::int64_t> unit) const {
    const PlannedLayout& planned = result_.layouts[layout];
    const CapacityPlan& capacity = capacity_of(planned.plan, spec_.at_length);
    Candidate candidate;
    candidate.layout = layout;
    candidate.retention_tokens = retention;
    candidate.match_unit_tokens = unit;
    const bool floor_changed = planned.block_floor != spec_.engine.block_size_tokens;
    candidate.settings_changed = (planned.pack != 1) + floor_changed + (planned.mode != spec_.engine.cache_mode) +
                                 (retention != default_retention(layout)) + (unit != default_unit_);
    candidate.in_space = in_space_[layout];
    candidate.meets_limits = meets_limits(layout);
    candidate.objectives.bytes_per_request = capacity.bytes_per_request;
    candidate.objectives.concurrency = capacity.usable_concurrency;
    return candidate;
  }

  /// What the default would have in that layout.
  std::optional<std::int64_t> default_retention(std::size_t layout) const {
    return retention_in(result_.layouts[layout], spec_.default_retention);
  }

  bool is_default(const Candidate& candidate) const {
    return default_layout_ && candidate.layout == *default_layout_ &&
           candidate.retention_tokens == default_retention(*default_layout_) &&
           candidate.match_unit_tokens == default_unit_;
  }

  /// Every match unit and retention interval of one layout.
  std::vector<Candidate> refinements(std::size_t layout) const {
    std::vector<Candidate> list;
    const PlannedLayout& planned = result_.layouts[layout];
    for (const auto& retention : retentions_of(result_.space, planned))
      for (const auto& unit : match_units_of(result_.space, planned, spec_.engine))
        list.push_back(candidate_of(layout, retention, unit));
    return list;
  }

  double work_of(const std::vector<Candidate>& candidates) const {
    double work = 0;
    for (const Candidate& candidate : candidates)
      work += hybridkv::work_of(result_.layouts[candidate.layout], candidate, result_.workload);
    return work;
  }

  /// Is another layout of the same mode as fine, as small and as good in concurrency, and better in one?
  bool beaten_by_plan(std::size_t layout) const {
    // As objectives, with the block in place of tokens that are computed again: few are good of both.
    const auto objectives = [&](std::size_t i) {
      const CapacityPlan& capacity = capacity_of(result_.layouts[i].plan, spec_.at_length);
      return Objectives{block_tokens(result_.layouts[i]), capacity.bytes_per_request, capacity.usable_concurrency};
    };
    const Objectives own = objectives(layout);
    for (std::size_t other = 0; other < result_.layouts.size(); ++other)
      if (result_.layouts[other].mode == result_.layouts[layout].mode && in_space_[other] &&
          dominates(objectives(other), own))
        return true;
    return false;
  }

  /// Neither one of the packs side by side nor a pick, as far as the plan alone tells.
  bool can_be_left_out(std::size_t layout) const {
    const PlannedLayout& planned = result_.layouts[layout];
    const bool plain = planned.block_floor == spec_.engine.block_size_tokens;
    const CacheMode mode = reference_layout_ ? result_.layouts[*reference_layout_].mode : spec_.engine.cache_mode;
    if (plain && planned.mode == mode) return false;
    return concurrency_of(layout) < pick_limits_.least_of(reference_layout_ ? concurrency_of(*reference_layout_) : 0) ||
           beaten_by_plan(layout);
  }

  void choose_candidates() {
    std::vector<Candidate> all;
    std::vector<Candidate> coarse;
    for (std::size_t layout = 0; layout < result_.layouts.size(); ++layout) {
      if (!in_space_[layout] || !meets_limits(layout)) continue;
      const std::vector<Candidate> of_layout = refinements(layout);
      all.insert(all.end(), of_layout.begin(), of_layout.end());
      coarse.push_back(of_layout.front());
    }
    result_.combinations = std::ssize(all);
    result_.search = spec_.search.value_or(work_of(all) <= spec_.most_work      ? SearchKind::exhaustive
                                           : work_of(coarse) <= spec_.most_work ? SearchKind::refined
                                                                                : SearchKind::pruned);
    if (result_.search == SearchKind::exhaustive) {
      result_.candidates = std::move(all);
      add_default_candidate();
      simulate(result_.candidates, "simulate");
    } else {
      refine(std::move(coarse));
    }
    result_.simulations = std::ssize(result_.candidates);
  }

  void refine(std::vector<Candidate> coarse) {
    if (result_.search == SearchKind::pruned)
      std::erase_if(coarse, [&](const Candidate& candidate) { return can_be_left_out(candidate.layout); });
    result_.candidates = std::move(coarse);
    add_default_candidate();
    simulate(result_.candidates, "simulate layouts");
    std::vector<Candidate> finer;
    for (const std::size_t at : front_of(result_.candidates)) add_finer(finer, result_.candidates[at].layout);
    // The best of what engines run without packing is shown beside any other pick.
    for (const std::size_t at : front_of(result_.candidates, [&](const Candidate& c) { return is_unpacked(c); }))
      add_finer(finer, result_.candidates[at].layout);
    if (default_layout_ && in_space_[*default_layout_] && meets_limits(*default_layout_))
      add_finer(finer, *default_layout_);
    simulate(finer, "simulate match units and retention");
    result_.candidates.insert(result_.candidates.end(), finer.begin(), finer.end());
  }

  void add_finer(std::vector<Candidate>& finer, std::size_t layout) const {
    const auto same = [](const Candidate& a, const Candidate& b) {
      return a.layout == b.layout && a.retention_tokens == b.retention_tokens &&
             a.match_unit_tokens == b.match_unit_tokens;
    };
    for (const Candidate& candidate : refinements(layout)) {
      const auto known = [&](const Candidate& other) { return same(candidate, other); };
      if (std::none_of(finer.begin(), finer.end(), known) &&
          std::none_of(result_.candidates.begin(), result_.candidates.end(), known))
        finer.push_back(candidate);
    }
  }

  void add_default_candidate() {
    if (!default_layout_) return;
    const bool there = std::any_of(result_.candidates.begin(), result_.candidates.end(),
                                   [&](const Candidate& candidate) { return is_default(candidate); });
    if (there) return;
    result_.candidates.push_back(
        candidate_of(*default_layout_, default_retention(*default_layout_), default_unit_));
    const bool searched = in_space_[*default_layout_] && meets_limits(*default_layout_);
    // Here only because the space leaves out its match unit or its retention.
    if (searched) result_.candidates.back().in_space = false;
  }

  void simulate(std::vector<Candidate>& candidates, std::string_view what) const {
    simulate_candidates(spec_, result_.workload, result_.layouts, what, candidates);
  }

  bool is_unpacked(const Candidate& candidate) const { return result_.layouts[candidate.layout].pack == 1; }

  // Front and pick

  void sort_candidates() {
    const auto key = [](const Candidate& candidate) {
      return std::tuple(candidate.settings_changed, candidate.layout, candidate.match_unit_tokens.has_value(),
                        -candidate.match_unit_tokens.value_or(0), candidate.retention_tokens.has_value(),
                        candidate.retention_tokens.value_or(0));
    };
    std::stable_sort(result_.candidates.begin(), result_.candidates.end(),
                     [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  }

  void find_front() {
    for (std::size_t i = result_.candidates.size(); i-- > 0;) {
      if (is_default(result_.candidates[i])) result_.default_candidate = i;
      if (reference_layout_ == result_.candidates[i].layout) result_.reference_candidate = i;
    }
    if (!result_.reference_candidate) result_.reference_candidate = result_.default_candidate;
    choose_pick(result_, result_.candidates, pick_limits_);
    const std::vector<std::size_t> unpacked =
        front_of(result_.candidates, [&](const Candidate& candidate) { return is_unpacked(candidate); });
    if (!unpacked.empty() && !is_unpacked(result_.candidates[result_.pick]))
      result_.unpacked_pick = pick_from(result_.candidates, unpacked, result_.least_concurrency, pick_limits_);
  }

  // Other assumptions

  void consider_other_assumptions() {
    if (spec_.engine.memory_bytes >= 2) consider_memory(spec_.engine.memory_bytes / 2);
    if (spec_.engine.memory_bytes <= most_memory_bytes / 2) consider_memory(spec_.engine.memory_bytes * 2);
    if (spec_.at_length >= 4) consider_length(spec_.at_length / 4);
    if (spec_.at_length <= largest_tokens / 4) consider_length(spec_.at_length * 4);
    add_plain_what_ifs(result_, result_.candidates, pick_limits_);
  }

  /// The candidates of the front, the default and the reference in other memory, planned and simulated again.
  void consider_memory(std::int64_t memory_bytes) {
    EngineSpec engine = spec_.engine;
    set_memory(engine, memory_bytes);
    std::vector<PlannedLayout> layouts = result_.layouts;
    std::vector<Candidate> changed = result_.candidates;
    std::vector<Candidate> again;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      Candidate& candidate = changed[i];
      const bool wanted = candidate.on_front || i == result_.default_candidate || i == result_.reference_candidate;
      const PlannedLayout& layout = result_.layouts[candidate.layout];
      PlannedLayouts planned;
      if (wanted)
        planned = plan_layouts({.packs = {layout.pack}, .block_floors = {layout.block_floor}, .modes = {layout.mode}},
                               spec_.model, engine, limits_, scheduler_);
      if (planned.layouts.empty()) {
        candidate.meets_limits = false;
        candidate.objectives.concurrency = 0;
        continue;
      }
      layouts[candidate.layout] = std::move(planned.layouts.front());
      const CapacityPlan& capacity = capacity_of(layouts[candidate.layout].plan, spec_.at_length);
      candidate.objectives.concurrency = capacity.usable_concurrency;
      candidate.meets_limits = candidate.meets_limits && pick_limits_.holds_enough(capacity.usable_concurrency);
      again.push_back(candidate);
      positions.push_back(i);
    }
    simulate_candidates(spec_, result_.workload, layouts, "other memory", again);
    for (std::size_t i = 0; i < again.size(); ++i) changed[positions[i]] = again[i];
    drop_unserving(changed);
    add_what_if(result_, Assumption::memory, static_cast<double>(memory_bytes), changed,
                least_concurrency(result_, changed, pick_limits_), pick_limits_);
  }

  void consider_length(std::int64_t tokens) {
    std::vector<Candidate> changed = result_.candidates;
    for (Candidate& candidate : changed) {
      const CapacityPlan capacity =
          capacity_at(result_.layout_of(candidate).plan, tokens, spec_.engine.token_rule);
      candidate.objectives.bytes_per_request = capacity.bytes_per_request;
      candidate.objectives.concurrency = capacity.usable_concurrency;
      candidate.meets_limits = candidate.meets_limits && pick_limits_.holds_enough(capacity.usable_concurrency);
    }
    add_what_if(result_, Assumption::length, static_cast<double>(tokens), changed,
                least_concurrency(result_, changed, pick_limits_), pick_limits_);
  }

  const RecommendSpec& spec_;
  SchedulerSettings scheduler_;
  PickLimits pick_limits_;
  std::optional<std::int64_t> default_unit_;  // of the default, unset where it is the block
  Recommendation result_;
  LimitsSpec limits_;
  std::vector<bool> in_space_;  // (layout)
  std::optional<std::size_t> default_layout_;
  std::optional<SpecError> default_refusal_;
  std::optional<std::size_t> reference_layout_;
};

}  // namespace

Recommendation recommend(const RecommendSpec& spec) { return Search(spec).run(); }

}  // namespace hybridkv
