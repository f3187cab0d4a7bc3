#include "search/radix_recommendation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/bytes_text.h"
#include "base/error.h"
#include "planner/capacity.h"
#include "planner/plan.h"
#include "planner/radix_settings.h"
#include "planner/radix_split.h"
#include "search/candidate_choice.h"
#include "simulator/cache_geometry.h"
#include "simulator/plan_radix.h"
#include "simulator/radix_replay.h"

namespace hybridkv {

namespace {

constexpr std::int64_t larger_page = 64;
constexpr std::int64_t shortest_track = 64, longest_track = 1024;
constexpr std::size_t most_replays_at_once = 32;
constexpr std::int64_t most_split_bytes = std::int64_t{1} << 60;  // of memory asked about unasked

bool keeps_prefixes(const EngineSpec& engine) { return engine.cache_mode != CacheMode::none; }
bool tracks(const EngineSpec& engine) {
  return keeps_prefixes(engine) && radix_strategy(engine) != RadixStrategy::no_buffer;
}
std::int64_t page_of(const EngineSpec& engine) { return engine.own[radix_key::page_size]; }

/// What two engines may differ in, a value of theirs each.
auto choices_of(const EngineSpec& engine) {
  return std::tuple(engine.cache_mode, radix_strategy(engine), memory_ratio(engine), page_of(engine),
                    track_interval(engine));
}

std::int64_t changes(const EngineSpec& engine, const EngineSpec& other) {
  return (engine.cache_mode != other.cache_mode) + (memory_ratio(engine) != memory_ratio(other)) +
         (page_of(engine) != page_of(other)) +
         (keeps_prefixes(engine) && radix_strategy(engine) != radix_strategy(other)) +
         (tracks(engine) && track_interval(engine) != track_interval(other));
}

/// Up to five digits, no smaller: what is typed is what is planned, and has the states that a ratio is chosen for.
double typed_ratio(double ratio) {
  const double unit = std::pow(10.0, std::floor(std::log10(ratio)) - 4);
  return std::stod(fmt::format("{:.4e}", std::ceil(ratio / unit) * unit));
}

template <class Value>
void add_value(std::vector<Value>& values, Value value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

RadixSpace filled_space(RadixSpace space, const EngineSpec& engine, bool decodes) {
  if (space.modes.empty()) {
    space.modes = {engine.cache_mode};
    for (const CacheMode mode : {CacheMode::align, CacheMode::none}) add_value(space.modes, mode);
  }
  if (space.strategies.empty()) {
    space.strategies = {radix_strategy(engine)};
    for (const RadixStrategy strategy :
         {RadixStrategy::no_buffer, RadixStrategy::extra_buffer, RadixStrategy::extra_buffer_lazy})
      add_value(space.strategies, strategy);
  }
  if (space.page_sizes.empty()) {
    space.page_sizes = {page_of(engine)};
    for (const std::int64_t page : {std::int64_t{1}, larger_page}) add_value(space.page_sizes, page);
  }
  if (space.track_intervals.empty()) {
    space.track_intervals = {track_interval(engine)};
    for (std::int64_t tokens = shortest_track; decodes && tokens <= longest_track; tokens *= 2)
      add_value(space.track_intervals, tokens);
  }
  return space;
}

/// One search; run() is its order.
class RadixSearch {
 public:
  explicit RadixSearch(const RadixRecommendSpec& spec) : spec_(spec), limits_(spec.limits) {}

  RadixRecommendation run() {
    std::vector<std::int64_t>& lengths = limits_.max_model_lens;
    result_.at_length = spec_.at_length;
    result_.max_model_len = *std::max_element(lengths.begin(), lengths.end());
    result_.workload = read_workload(*spec_.open_trace(), result_.max_model_len);
    pick_limits_ = {spec_.rule, spec_.min_concurrency, result_.workload.prompt_tokens};
    add_value(lengths, spec_.at_length);
    result_.space = filled_space(spec_.space, spec_.engine, spec_.decodes);
    tell("plan", 0, 1);
    find_least();
    plan_space();
    plan_default();
    check_any();
    result_.simulations = replay(result_.candidates, "simulate");
    std::stable_sort(result_.candidates.begin(), result_.candidates.end(),
                     [](const RadixCandidate& a, const RadixCandidate& b) {
                       return a.settings_changed < b.settings_changed;
                     });
    drop_unserving(result_.candidates);
    find_default();
    choose_pick(result_, result_.candidates, pick_limits_);
    consider_other_assumptions();
    return std::move(result_);
  }

 private:
  void tell(std::string_view what, std::int64_t done, std::int64_t total) const {
    if (spec_.on_progress) spec_.on_progress({what, done, total});
  }

  /// The default, or, where it keeps nothing, the same with a tree.
  EngineSpec reference() const {
    EngineSpec engine = spec_.engine;
    if (!keeps_prefixes(engine)) engine.cache_mode = CacheMode::align;
    return engine;
  }

  void find_least() {
    least_ = pick_limits_.least_of(0);
    try {
      least_ = pick_limits_.least_of(candidate_of(reference()).objectives.concurrency);
    } catch (const SpecError&) {
      // Then a pick is held to what is demanded alone.
    }
  }

  // Candidates

  /// The candidate of an engine. Throws SpecError where it does not start.
  RadixCandidate candidate_of(const EngineSpec& engine) const {
    RadixCandidate candidate;
    candidate.engine = engine;
    candidate.plan = make_plan(spec_.model, engine, limits_, std::nullopt, PlanDetail::numbers);
    if (keeps_prefixes(engine)) (void)radix_settings_of(candidate.plan, spec_.model, engine);
    candidate.settings_changed = changes(engine, spec_.engine);
    weigh(candidate, spec_.at_length);
    return candidate;
  }

  /// Bytes and concurrency of requests of so many tokens; a candidate that does not run enough of them is no choice.
  void weigh(RadixCandidate& candidate, std::int64_t tokens) const {
    candidate.objectives.bytes_per_request =
        capacity_at(candidate.plan, tokens, candidate.engine.token_rule).bytes_per_request;
    candidate.objectives.concurrency = static_cast<double>(running_at(candidate.plan, tokens));
    const bool takes_prompts =
        candidate.plan.radix->split.token_slots > result_.workload.longest_prompt_tokens;
    candidate.meets_limits = pick_limits_.holds_enough(candidate.objectives.concurrency) &&
                             (keeps_prefixes(candidate.engine) || takes_prompts);
  }

  /// The ratios to try beside the other choices of an engine.
  std::vector<double> ratios_of(const EngineSpec& engine) const {
    if (!spec_.space.ratios.empty()) return spec_.space.ratios;
    std::vector<double> ratios{memory_ratio(spec_.engine)};
    std::optional<double> best;
    try {
      const CachePlan plan = make_plan(spec_.model, engine, limits_, std::nullopt, PlanDetail::numbers);
      for (const LengthAdvice& advice : plan.radix->advice)
        if (advice.tokens == spec_.at_length) best = advice.best_ratio;
    } catch (const SpecError&) {
      // As it is split nothing runs; another split may.
    }
    if (best) {
      for (const double factor : {1.0, 0.25, 0.5, 0.7, 0.85, 1.2, 1.5, 2.0, 3.0, 4.0, 8.0})
        add_value(ratios, typed_ratio(*best * factor));
      if (const auto most_states = largest_running(engine, *best)) add_value(ratios, *most_states);
    } else {
      for (double ratio = 1.0 / 64; ratio <= 64; ratio *= 2) add_value(ratios, ratio);
    }
    return ratios;
  }

  /// Does the engine run as many requests as a pick has to, split by this ratio?
  bool runs_enough(EngineSpec engine, double ratio) const {
    engine.state_memory_ratio = ratio;
    try {
      const CachePlan plan = make_plan(spec_.model, engine, limits_, std::nullopt, PlanDetail::numbers);
      return static_cast<double>(running_at(plan, spec_.at_length)) >= least_;
    } catch (const SpecError&) {
      return false;
    }
  }

  /// The largest ratio above the best one that still runs enough: the most states that a pick may have.
  std::optional<double> largest_running(const EngineSpec& engine, double best) const {
    double low = typed_ratio(best), high = typed_ratio(best * 64);
    if (!runs_enough(engine, low)) return std::nullopt;
    for (double middle = 0; (middle = typed_ratio(std::sqrt(low * high))) < high && middle > low;)
      (runs_enough(engine, middle) ? low : high) = middle;
    return low;
  }

  void plan_space() {
    for (const CacheMode mode : result_.space.modes) {
      EngineSpec engine = spec_.engine;
      engine.cache_mode = mode;
      if (!keeps_prefixes(engine)) {
        plan_ratios(engine);
        continue;
      }
      for (const RadixStrategy strategy : result_.space.strategies) {
        engine.own.set(radix_key::mamba_radix_cache_strategy, strategy);
        plan_pages(engine);
      }
    }
  }

  void plan_pages(EngineSpec engine) {
    for (const std::int64_t page : result_.space.page_sizes) {
      engine.own.set(radix_key::page_size, page);
      // Of the pages and intervals that nobody asked for only those that the engine takes.
      if (spec_.space.page_sizes.empty() && !tracks(engine) && page != 1) continue;
      for (const std::int64_t interval : result_.space.track_intervals) {
        engine.own.set(radix_key::mamba_track_interval, interval);
        if (spec_.space.track_intervals.empty() && interval % page != 0) continue;
        plan_ratios(engine);
        if (!tracks(engine)) break;
      }
    }
  }

  void plan_ratios(EngineSpec engine) {
    for (const double ratio : ratios_of(engine)) {
      ++result_.planned;
      engine.state_memory_ratio = spec_.engine.state_memory_ratio;
      if (ratio != memory_ratio(spec_.engine)) engine.state_memory_ratio = ratio;
      try {
        RadixCandidate candidate = candidate_of(engine);
        const RadixPools& pools = *candidate.plan.radix;
        const auto key = std::tuple(engine.cache_mode, radix_strategy(engine), pools.page_tokens,
                                    spec_.decodes ? pools.decode_tokens : 0, pools.split.state_slots,
                                    pools.split.token_slots);
        if (seen_.insert(key).second) result_.candidates.push_back(std::move(candidate));
        else ++result_.merged;
      } catch (const SpecError& error) {
        result_.impossible.push_back({engine, error});
      } catch (const InputError& error) {
        result_.impossible.push_back({engine, SpecError("engine", error.what())});
      }
    }
    result_.combinations = std::ssize(result_.candidates);
  }

  bool is_default(const RadixCandidate& candidate) const {
    return choices_of(candidate.engine) == choices_of(spec_.engine);
  }

  /// The default, which the space may leave out.
  void plan_default() {
    if (std::any_of(result_.candidates.begin(), result_.candidates.end(),
                    [&](const RadixCandidate& candidate) { return is_default(candidate); }))
      return;
    try {
      RadixCandidate candidate = candidate_of(spec_.engine);
      candidate.in_space = false;
      result_.candidates.push_back(std::move(candidate));
    } catch (const SpecError& error) {
      result_.default_refused = error;
    }
  }

  void check_any() const {
    const auto begin = result_.candidates.begin(), end = result_.candidates.end();
    if (std::any_of(begin, end, [](const RadixCandidate& one) { return eligible(one); })) return;
    const auto most = std::max_element(begin, end, [](const RadixCandidate& a, const RadixCandidate& b) {
      return std::tuple(a.in_space, a.objectives.concurrency) < std::tuple(b.in_space, b.objectives.concurrency);
    });
    if (most == end || !most->in_space) {
      const SpecError& first = result_.impossible.front().refusal;
      throw SpecError(first.path(), fmt::format("{} (so for the first of {} combinations searched, none of which can "
                                                "run)", first.message(), result_.planned));
    }
    throw InputError(fmt::format(
        "no setting runs {} requests of {} tokens at once in {}; the most is {} (mode {}, strategy {}, ratio {}); take "
        "more memory, shorter requests (--at-length), or fp8 for K and V (--kv-dtype fp8)",
        spec_.min_concurrency.value_or(1), spec_.at_length, bytes_text(spec_.engine.memory_bytes),
        most->objectives.concurrency, to_string(most->engine.cache_mode), to_string(radix_strategy(most->engine)),
        memory_ratio(most->engine)));
  }

  // The workload

  /// Replays the workload through the trees of all candidates; how many there were.
  std::int64_t replay(std::vector<RadixCandidate>& candidates, std::string_view what) const {
    for (std::size_t first = 0; first < candidates.size(); first += most_replays_at_once) {
      tell(what, static_cast<std::int64_t>(first), std::ssize(candidates));
      const std::size_t end = std::min(candidates.size(), first + most_replays_at_once);
      std::vector<std::unique_ptr<RadixReplay>> replays;
      for (std::size_t i = first; i < end; ++i) {
        candidates[i].stats = {};
        replays.push_back(nullptr);
        if (!keeps_prefixes(candidates[i].engine)) continue;
        RadixSettings settings = radix_settings_of(candidates[i].plan, spec_.model, candidates[i].engine);
        settings.decodes = spec_.decodes;
        replays.back() = std::make_unique<RadixReplay>(settings);
      }
      const std::unique_ptr<TraceSource> trace = spec_.open_trace();
      for (TraceBatch batch; trace->next(batch);)
        for (std::size_t i = first; i < end; ++i)
          if (replays[i - first]) run(*replays[i - first], batch, candidates[i].stats);
      for (std::size_t i = first; i < end; ++i) fill(candidates[i]);
    }
    return std::ssize(candidates);
  }

  void run(RadixReplay& replay, const TraceBatch& batch, RadixStats& stats) const {
    for (const TraceRequest& request : batch.requests)
      if (!refused_for_length(request.input_length, result_.max_model_len))
        stats.add(replay.run(request, batch.prompt(request)));
  }

  void fill(RadixCandidate& candidate) const {
    const WorkloadFacts& workload = result_.workload;
    const RadixStats& stats = candidate.stats;
    candidate.prompt_tokens = keeps_prefixes(candidate.engine) ? stats.taken_prompt_tokens : workload.prompt_tokens;
    candidate.hit_tokens = stats.hit_tokens;
    candidate.requests_with_hit = stats.requests_with_hit;
    candidate.unserved_requests = stats.refused + stats.stalled;
    candidate.objectives.reprefilled_tokens = workload.repeated_tokens - stats.hit_tokens;
  }

  // Front and pick

  void find_default() {
    for (std::size_t i = result_.candidates.size(); i-- > 0;) {
      if (is_default(result_.candidates[i])) result_.default_candidate = i;
      if (choices_of(result_.candidates[i].engine) == choices_of(reference())) result_.reference_candidate = i;
    }
    if (!result_.reference_candidate) result_.reference_candidate = result_.default_candidate;
  }

  // Other assumptions

  void consider_other_assumptions() {
    const std::int64_t memory = spec_.engine.memory_bytes;
    if (memory >= 2) consider_memory(memory / 2);
    if (memory <= most_split_bytes / 2) consider_memory(memory * 2);
    if (spec_.at_length >= 4) consider_length(spec_.at_length / 4);
    if (spec_.at_length <= largest_tokens / 4) consider_length(spec_.at_length * 4);
    add_plain_what_ifs(result_, result_.candidates, pick_limits_);
  }

  void add_changed(Assumption assumption, std::int64_t value, const std::vector<RadixCandidate>& changed) {
    add_what_if(result_, assumption, static_cast<double>(value), changed,
                least_concurrency(result_, changed, pick_limits_), pick_limits_);
  }

  /// All candidates in other memory, planned and replayed again.
  void consider_memory(std::int64_t memory_bytes) {
    std::vector<RadixCandidate> changed = result_.candidates;
    std::vector<RadixCandidate> again;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      EngineSpec engine = changed[i].engine;
      engine.memory_bytes = memory_bytes;
      try {
        again.push_back(candidate_of(engine));
        again.back().in_space = changed[i].in_space;
        positions.push_back(i);
      } catch (const SpecError&) {
        changed[i].meets_limits = false;
        changed[i].objectives.concurrency = 0;
      }
    }
    replay(again, "other memory");
    for (std::size_t i = 0; i < again.size(); ++i) changed[positions[i]] = std::move(again[i]);
    drop_unserving(changed);
    add_changed(Assumption::memory, memory_bytes, changed);
  }

  void consider_length(std::int64_t tokens) {
    std::vector<RadixCandidate> changed = result_.candidates;
    for (RadixCandidate& candidate : changed) weigh(candidate, tokens);
    drop_unserving(changed);
    add_changed(Assumption::length, tokens, changed);
  }

  using Slots = std::tuple<CacheMode, RadixStrategy, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  const RadixRecommendSpec& spec_;
  LimitsSpec limits_;
  PickLimits pick_limits_;
  double least_ = 0;  // requests that a pick has to run
  RadixRecommendation result_;
  std::set<Slots> seen_;  // mode, strategy, page, grid of the decode, state slots, token slots
};

}  // namespace

std::int64_t running_at(const CachePlan& plan, std::int64_t tokens) {
  const RadixPools& pools = *plan.radix;
  return std::min(pools.split.requests_at(tokens, pools.page_tokens), pools.split.max_running);
}

RadixRecommendation recommend_radix(const RadixRecommendSpec& spec) { return RadixSearch(spec).run(); }

}  // namespace hybridkv
