#include "search/recommendation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/add_once.h"
#include "planner/capacity.h"
#include "planner/plan.h"
#include "search/candidate_choice.h"
#include "search/candidate_runs.h"
#include "search/index_space.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_memory_bytes = std::int64_t{1} << 60;  // asked about unasked

/// One search; run() is its order.
class Search {
 public:
  explicit Search(const RecommendSpec& spec) : spec_(spec) {}

  Recommendation run() {
    read_workload();
    index_ = index_space(spec_, result_.workload);
    result_.at_length = spec_.at_length;
    result_.space = index_->space();
    tell("plan", 0, 1);
    plan_all();
    add_default();
    choose_reference();
    check_layouts();
    choose_candidates();
    sort_candidates();
    find_front();
    consider_other_assumptions();
    return std::move(result_);
  }

 private:
  void tell(std::string_view what, std::int64_t done, std::int64_t total) const {
    if (spec_.on_progress) spec_.on_progress({what, done, total});
  }

  void read_workload() {
    result_.max_model_len = spec_.longest_length();
    result_.workload = hybridkv::read_workload(*spec_.open_trace(), result_.max_model_len);
    pick_limits_ = {spec_.rule, spec_.min_concurrency, result_.workload.prompt_tokens};
  }

  // Layouts

  void plan_all() {
    std::set<IndexSpace::Key> seen;
    for (const EngineSpec& engine : index_->engines()) {
      ++result_.planned_layouts;
      try {
        PlannedLayout layout = index_->planned(engine);
        index_->check(layout);
        if (seen.insert(index_->key(layout)).second) add_layout(std::move(layout));
        else ++result_.merged_layouts;
      } catch (const SpecError& error) {
        result_.impossible.push_back({engine, error});
      } catch (const InputError& error) {
        result_.impossible.push_back({engine, SpecError("engine", error.what())});
      }
    }
    in_space_.assign(result_.layouts.size(), true);
  }

  void judge(PlannedLayout& layout) const {
    if (spec_.judge) layout.plan.kernels = spec_.judge(layout);
  }
  void add_layout(PlannedLayout layout) {
    judge(layout);
    result_.layouts.push_back(std::move(layout));
  }
  bool harms(std::size_t layout) const { return harms_kernel(result_.layouts[layout].plan.kernels); }

  /// Where in the layouts one of the same choice stands; their number where none does.
  std::size_t position_of(const PlannedLayout& layout) const {
    const auto found = std::find_if(result_.layouts.begin(), result_.layouts.end(),
                                    [&](const PlannedLayout& other) { return index_->same(other, layout); });
    return static_cast<std::size_t>(found - result_.layouts.begin());
  }

  /// The default, which the space may leave out.
  void add_default() {
    try {
      PlannedLayout layout = index_->planned(index_->default_engine());
      index_->set_default(layout);
      default_layout_ = position_of(layout);
      if (*default_layout_ < result_.layouts.size()) return;
      add_layout(std::move(layout));
      in_space_.push_back(false);
    } catch (const SpecError& refusal) {
      result_.default_refused = refusal;
    } catch (const InputError& refusal) {
      result_.default_refused = SpecError("engine", refusal.what());
    }
  }

  /// The default, or, where it keeps no states, the same in mode align: nobody compares caching with not caching by
  /// concurrency alone.
  void choose_reference() {
    reference_layout_ = default_layout_;
    EngineSpec engine = index_->default_engine();
    if (default_layout_ && keeps_states(result_.layouts[*default_layout_])) return;
    engine.cache_mode = CacheMode::align;
    try {
      const std::size_t at = position_of(index_->planned(engine));
      if (at < result_.layouts.size()) reference_layout_ = at;
    } catch (const InputError&) {
      // Then the default is what a pick is compared with.
    }
  }

  static bool keeps_states(const PlannedLayout& layout) {
    return layout.cache && (!layout.has_blocks() || layout.geometry().caches_prefixes());
  }

  double concurrency_of(std::size_t layout) const {
    return index_->running(result_.layouts[layout].plan, spec_.at_length);
  }

  bool meets_limits(const PlannedLayout& layout, std::int64_t tokens) const {
    return pick_limits_.holds_enough(index_->running(layout.plan, tokens)) && index_->allows(layout);
  }
  bool meets_limits(std::size_t layout) const { return meets_limits(result_.layouts[layout], spec_.at_length); }

  void check_layouts() const {
    std::vector<const PlannedLayout*> searched;
    bool any = false;
    for (std::size_t i = 0; i < result_.layouts.size(); ++i) {
      if (!in_space_[i]) continue;
      searched.push_back(&result_.layouts[i]);
      any = any || meets_limits(i);
    }
    if (searched.empty()) {
      // Where the planner refuses the default, too, it says of that what is wrong, and where.
      if (result_.layouts.empty()) make_plan(spec_.model, index_->default_engine(), spec_.compared_limits());
      const SpecError& first = result_.impossible.front().refusal;
      throw SpecError(first.path(), fmt::format("{} (so for the first of {} combinations searched, none of which can "
                                                "run)", first.message(), result_.planned_layouts));
    }
    if (!any) index_->refuse(searched);
  }

  // Candidates

  Candidate candidate_of(std::size_t layout, const Refinement& refinement) const {
    const PlannedLayout& planned = result_.layouts[layout];
    Candidate candidate;
    static_cast<Refinement&>(candidate) = refinement;
    candidate.layout = layout;
    const Refinement of_default = index_->default_refinement(planned);
    candidate.settings_changed = index_->changes(planned.engine) +
                                 (refinement.retention_tokens != of_default.retention_tokens) +
                                 (refinement.match_unit_tokens != of_default.match_unit_tokens);
    candidate.in_space = in_space_[layout];
    weigh(candidate, planned, spec_.at_length);
    return candidate;
  }

  /// Bytes and concurrency of requests of so many tokens; a candidate that does not run enough of them is no choice.
  void weigh(Candidate& candidate, const PlannedLayout& layout, std::int64_t tokens) const {
    candidate.objectives.bytes_per_request =
        capacity_at(layout.plan, tokens, spec_.engine.token_rule).bytes_per_request;
    candidate.objectives.concurrency = index_->running(layout.plan, tokens);
    candidate.meets_limits = meets_limits(layout, tokens);
    candidate.harms_kernel = harms_kernel(layout.plan.kernels);
  }

  bool is_default(const Candidate& candidate) const {
    return default_layout_ && candidate.layout == *default_layout_ &&
           candidate.refinement() == index_->default_refinement(result_.layouts[*default_layout_]);
  }

  /// Every match unit and retention interval of one layout.
  std::vector<Candidate> refined(std::size_t layout) const {
    std::vector<Candidate> list;
    for (const Refinement& refinement : index_->refinements(result_.layouts[layout]))
      list.push_back(candidate_of(layout, refinement));
    return list;
  }

  double work_of(const std::vector<Candidate>& candidates) const {
    double work = 0;
    for (const Candidate& candidate : candidates)
      work += hybridkv::work_of(result_.layouts[candidate.layout], candidate, result_.workload);
    return work;
  }

  /// Is another layout of the same mode as fine, as small and as good in concurrency, and better in one? Not one that
  /// harms a kernel, of a layout that harms none.
  bool beaten_by_plan(std::size_t layout) const {
    // As objectives, with the block in place of tokens that are computed again: few are good of both.
    const auto objectives = [&](std::size_t i) {
      const CapacityPlan& capacity = capacity_of(result_.layouts[i].plan, spec_.at_length);
      return Objectives{block_tokens(result_.layouts[i]), capacity.bytes_per_request, capacity.usable_concurrency};
    };
    const Objectives own = objectives(layout);
    for (std::size_t other = 0; other < result_.layouts.size(); ++other)
      if (result_.layouts[other].mode() == result_.layouts[layout].mode() && in_space_[other] &&
          (harms(layout) || !harms(other)) && dominates(objectives(other), own))
        return true;
    return false;
  }

  /// The concurrency below which a layout is no pick: where no other that harms no kernel holds as much as is wanted,
  /// those that hold most are left to pick from.
  double least_of(std::size_t layout) const {
    const double wanted = pick_limits_.least_of(reference_layout_ ? concurrency_of(*reference_layout_) : 0);
    if (!spec_.judge || harms(layout)) return wanted;
    double most = 0;
    for (std::size_t other = 0; other < result_.layouts.size(); ++other)
      if (in_space_[other] && !harms(other) && meets_limits(other)) most = std::max(most, concurrency_of(other));
    return std::min(wanted, most);
  }

  /// Neither one of the packs side by side nor a pick, as far as the plan alone tells.
  bool can_be_left_out(std::size_t layout) const {
    const PlannedLayout& planned = result_.layouts[layout];
    const bool plain = planned.block_floor() == spec_.engine.block_size_tokens;
    const CacheMode mode = reference_layout_ ? result_.layouts[*reference_layout_].mode() : spec_.engine.cache_mode;
    if (plain && planned.mode() == mode) return false;
    return concurrency_of(layout) < least_of(layout) || beaten_by_plan(layout);
  }

  void choose_candidates() {
    std::vector<Candidate> all;
    std::vector<Candidate> coarse;
    for (std::size_t layout = 0; layout < result_.layouts.size(); ++layout) {
      if (!in_space_[layout] || !(index_->weighs_all() || meets_limits(layout))) continue;
      const std::vector<Candidate> of_layout = refined(layout);
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
    // The best of what engines run without packing is shown beside any other pick, and kernels may leave other picks.
    const auto add_best = [&](const std::function<bool(const Candidate&)>& wanted) {
      for (const std::size_t at : front_of(result_.candidates, wanted))
        add_finer(finer, result_.candidates[at].layout);
    };
    add_best([&](const Candidate& c) { return is_unpacked(c); });
    if (spec_.judge) add_best([](const Candidate& c) { return !c.harms_kernel; });
    if (spec_.judge) add_best([&](const Candidate& c) { return !c.harms_kernel && is_unpacked(c); });
    if (default_layout_ && in_space_[*default_layout_] && meets_limits(*default_layout_))
      add_finer(finer, *default_layout_);
    simulate(finer, "simulate match units and retention");
    result_.candidates.insert(result_.candidates.end(), finer.begin(), finer.end());
  }

  void add_finer(std::vector<Candidate>& finer, std::size_t layout) const {
    for (const Candidate& candidate : refined(layout)) {
      const auto known = [&](const Candidate& other) {
        return other.layout == layout && other.refinement() == candidate.refinement();
      };
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
        candidate_of(*default_layout_, index_->default_refinement(result_.layouts[*default_layout_])));
    const bool searched = in_space_[*default_layout_] && meets_limits(*default_layout_);
    // Here only because the space leaves out its match unit or its retention.
    if (searched) result_.candidates.back().in_space = false;
  }

  void simulate(std::vector<Candidate>& candidates, std::string_view what) const {
    simulate_candidates(spec_, result_.workload, result_.layouts, what, candidates);
  }

  bool is_unpacked(const Candidate& candidate) const { return result_.layout_of(candidate).pack() == 1; }

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
    if (spec_.judge) result_.heedless_pick = heedless_pick(result_, pick_limits_);
    keep_choices(result_.candidates);
    choose_pick(result_, pick_limits_);
    if (result_.heedless_pick == result_.pick) result_.heedless_pick.reset();
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
    add_plain_what_ifs(result_, pick_limits_);
  }

  /// The layout in other memory; nothing where it does not start.
  std::optional<PlannedLayout> in_memory(const PlannedLayout& layout, std::int64_t memory_bytes) const {
    EngineSpec engine = layout.engine;
    set_memory(engine, memory_bytes);
    try {
      PlannedLayout planned = index_->planned(engine);
      judge(planned);
      return planned;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  /// The candidates of the front, the default and the reference, or all where they are few, in other memory, planned
  /// and simulated again.
  void consider_memory(std::int64_t memory_bytes) {
    std::vector<PlannedLayout> layouts = result_.layouts;
    std::vector<Candidate> changed = result_.candidates;
    std::vector<Candidate> again;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      Candidate& candidate = changed[i];
      const bool wanted = index_->weighs_all() || candidate.on_front || i == result_.default_candidate ||
                          i == result_.reference_candidate;
      std::optional<PlannedLayout> planned;
      if (wanted) planned = in_memory(result_.layout_of(candidate), memory_bytes);
      if (!planned) {
        candidate.meets_limits = false;
        candidate.objectives.concurrency = 0;
        continue;
      }
      layouts[candidate.layout] = std::move(*planned);
      weigh(candidate, layouts[candidate.layout], spec_.at_length);
      again.push_back(candidate);
      positions.push_back(i);
    }
    simulate_candidates(spec_, result_.workload, layouts, "other memory", again);
    for (std::size_t i = 0; i < again.size(); ++i) changed[positions[i]] = again[i];
    keep_choices(changed);
    add_what_if(result_, Assumption::memory, static_cast<double>(memory_bytes), changed, pick_limits_);
  }

  void consider_length(std::int64_t tokens) {
    std::vector<Candidate> changed = result_.candidates;
    for (Candidate& candidate : changed) weigh(candidate, result_.layout_of(candidate), tokens);
    keep_choices(changed);
    add_what_if(result_, Assumption::length, static_cast<double>(tokens), changed, pick_limits_);
  }

  const RecommendSpec& spec_;
  PickLimits pick_limits_;
  Recommendation result_;
  std::unique_ptr<IndexSpace> index_;
  std::vector<bool> in_space_;  // (layout)
  std::optional<std::size_t> default_layout_;
  std::optional<std::size_t> reference_layout_;
};

}  // namespace

std::int64_t RecommendSpec::longest_length() const {
  return *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
}

LimitsSpec RecommendSpec::compared_limits() const {
  LimitsSpec compared = limits;
  std::vector<std::int64_t>& lengths = compared.max_model_lens;
  add_once(lengths, at_length);
  return compared;
}

Recommendation recommend(const RecommendSpec& spec) { return Search(spec).run(); }

}  // namespace hybridkv
