#include "simulator/cache_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "simulator/losses/loss_ledger.h"
#include "simulator/losses/slot_ledger.h"
#include "simulator/losses/snapshot_ledger.h"
#include "simulator/losses/tree_ledger.h"
#include "simulator/recording/block_recorder.h"
#include "simulator/schedule/served_replay.h"
#include "simulator/tree/tree_scheduler.h"

namespace hybridkv {

namespace {

class BlockCacheReplay final : public CacheReplay {
 public:
  BlockCacheReplay(const CacheGeometry& geometry, const SimulationSpec& spec)
      : ledger_(spec.losses ? std::make_unique<LossLedger>(geometry, on_loss_of(spec)) : nullptr),
        recorder_(spec.on_event),
        simulation_(geometry, spec.driver, on_record_of(spec)) {
    if (ledger_) ledger_->watch(simulation_);
    if (spec.on_event) recorder_.watch(simulation_);
    if (spec.counts_copies) simulation_.count_copies();
    if (spec.on_shape)
      simulation_.after_schedule = [this, before = simulation_.after_schedule, tell = spec.on_shape] {
        if (before) before();
        tell(simulation_.scheduler().step_parts());
      };
  }
  void consume(const TraceBatch& batch) override { simulation_.consume(batch); }
  void finish() override { stats_ = simulation_.finish(); }
  ReplayResult result() override {
    const std::optional<ServedTimes> times = stats_.times;
    return {std::move(stats_), ledger_ ? std::optional(ledger_->stats()) : std::nullopt, times, {}};
  }

 private:
  static std::function<void(const RequestRecord&, const ReuseLoss&)> on_loss_of(const SimulationSpec& spec) {
    if (!spec.on_record) return {};
    return [tell = spec.on_record](const RequestRecord& record, const ReuseLoss& loss) { tell(&record, &loss); };
  }
  // Where losses are counted, the ledger passes each record on together with its loss.
  std::function<void(const RequestRecord&)> on_record_of(const SimulationSpec& spec) {
    if (ledger_) return [this](const RequestRecord& record) { ledger_->end(record); };
    if (!spec.on_record) return {};
    return [tell = spec.on_record](const RequestRecord& record) { tell(&record, nullptr); };
  }

  std::unique_ptr<LossLedger> ledger_;
  BlockRecorder recorder_;
  Simulation simulation_;
  SimulationStats stats_;
};

void check_driver_of_slots(const DriverSpec& driver) {
  if (driver.kind != DriverKind::one_at_a_time)
    throw SpecError("simulate.driver", "slots are replayed one prompt at a time; take one_at_a_time");
}

/// More than one request in flight: a scheduler chooses who acts.
bool has_several(const DriverSpec& driver) { return driver.kind == DriverKind::closed_loop && driver.in_flight > 1; }

TreeSettings driven(TreeSettings settings, const DriverSpec& driver) {
  settings.decodes = tree_decodes(driver);
  return settings;
}

void check_tree_losses(const SimulationSpec& spec) {
  if (spec.losses && has_several(spec.driver))
    throw SpecError("simulate.driver", "losses of a radix tree are booked for one request at a time; take "
                                       "one_at_a_time, or closed_loop with in_flight 1");
}

/// The record of a request that a tree does not take in.
TreeRecord turned_away(const TreeActions& actions, const TraceRequest& request) {
  TreeRecord record{.index = request.index, .input_length = request.input_length};
  actions.close(record);
  record.status = RequestStatus::too_long;
  return record;
}

class TreeCacheReplay final : public CacheReplay {
 public:
  TreeCacheReplay(const TreeCache& cache, const SimulationSpec& spec)
      : replay_(driven(cache.settings, spec.driver)),
        ledger_(spec.losses ? std::make_unique<TreeLedger>(replay_) : nullptr),
        max_model_len_(cache.max_model_len),
        on_record_(spec.on_record) {
    stats_.settings = replay_.settings();
  }
  void consume(const TraceBatch& batch) override {
    for (const TraceRequest& one : batch.requests) {
      const TreeRecord record =
          refused_for_length(one.input_length, max_model_len_) ? turned_away(replay_, one)
                                                               : run(one, batch.prompt(one));
      const ReuseLoss loss = ledger_ ? ledger_->end(record) : ReuseLoss{};
      stats_.add(record);
      if (on_record_) on_record_(&record, ledger_ ? &loss : nullptr);
    }
  }
  ReplayResult result() override { return {stats_, ledger_ ? std::optional(ledger_->stats()) : std::nullopt, {}, {}}; }

 private:
  TreeRecord run(const TraceRequest& request, std::span<const TokenRun> prompt) {
    if (ledger_) ledger_->expect(request, prompt);
    return replay_.run(request, prompt);
  }

  TreeReplay replay_;
  std::unique_ptr<TreeLedger> ledger_;
  std::optional<std::int64_t> max_model_len_;
  std::function<void(const RecordView&, const ReuseLoss*)> on_record_;
  TreeStats stats_;
};

/// Several requests in flight. A prompt that is too long takes no place.
class TreeLoopReplay final : public CacheReplay {
 public:
  TreeLoopReplay(const TreeCache& cache, const SimulationSpec& spec)
      : scheduler_(driven(cache.settings, spec.driver), [this](const TreeRecord& record) { ended(record); }),
        in_flight_(spec.driver.in_flight),
        max_model_len_(cache.max_model_len),
        on_record_(spec.on_record) {
    stats_.settings = scheduler_.settings();
    stats_.in_flight = in_flight_;
  }
  void consume(const TraceBatch& batch) override {
    for (const TraceRequest& one : batch.requests) {
      while (scheduler_.num_in_flight() >= in_flight_) step();
      if (refused_for_length(one.input_length, max_model_len_)) ended(turned_away(scheduler_, one));
      else scheduler_.submit(one, batch.prompt(one));
    }
  }
  void finish() override {
    while (scheduler_.num_in_flight() > 0) step();
  }
  ReplayResult result() override { return {stats_, std::nullopt, {}, {}}; }

 private:
  void step() {
    scheduler_.schedule();
    ++stats_.steps;
    stats_.most_running = std::max(stats_.most_running, scheduler_.num_running());
    scheduler_.complete();
  }
  void ended(const TreeRecord& record) {
    stats_.add(record);
    if (on_record_) on_record_(&record, nullptr);
  }

  TreeScheduler scheduler_;
  std::int64_t in_flight_;
  std::optional<std::int64_t> max_model_len_;
  std::function<void(const RecordView&, const ReuseLoss*)> on_record_;
  TreeStats stats_;
};

class SlotCacheReplay final : public CacheReplay {
 public:
  SlotCacheReplay(const SlotCache& cache, const SimulationSpec& spec)
      : replay_(cache.settings),
        ledger_(spec.losses ? std::make_unique<SlotLedger>(replay_) : nullptr),
        max_model_len_(cache.max_model_len),
        on_record_(spec.on_record) {
    check_driver_of_slots(spec.driver);
    stats_.settings = cache.settings;
  }
  void consume(const TraceBatch& batch) override {
    for (const TraceRequest& one : batch.requests) {
      const SlotRecord record =
          refused_for_length(one.input_length, max_model_len_)
              ? SlotRecord{.index = one.index, .input_length = one.input_length, .status = RequestStatus::too_long}
              : run(one, batch.prompt(one));
      const ReuseLoss loss = ledger_ ? ledger_->end(record) : ReuseLoss{};
      stats_.add(record);
      if (on_record_) on_record_(&record, ledger_ ? &loss : nullptr);
    }
  }
  ReplayResult result() override { return {stats_, ledger_ ? std::optional(ledger_->stats()) : std::nullopt, {}, {}}; }

 private:
  SlotRecord run(const TraceRequest& request, std::span<const TokenRun> prompt) {
    if (ledger_) ledger_->expect(request, prompt);
    return replay_.run(request, prompt);
  }

  SlotReplay replay_;
  std::unique_ptr<SlotLedger> ledger_;
  std::optional<std::int64_t> max_model_len_;
  std::function<void(const RecordView&, const ReuseLoss*)> on_record_;
  SlotStats stats_;
};

bool snapshots_decode(const DriverSpec& driver) {
  if (driver.kind == DriverKind::one_at_a_time) return false;
  if (driver.kind == DriverKind::closed_loop && driver.in_flight == 1) return true;
  throw SpecError("simulate.driver", "a radix tree is replayed one request at a time, as the engine's own results were "
                                     "made: take one_at_a_time for prompts alone, or closed_loop with in_flight 1");
}

SnapshotSettings driven(SnapshotSettings settings, const DriverSpec& driver) {
  settings.decodes = snapshots_decode(driver);
  return settings;
}

class SnapshotsReplay final : public CacheReplay {
 public:
  SnapshotsReplay(const SnapshotCache& cache, const SimulationSpec& spec)
      : replay_(driven(cache.settings, spec.driver)),
        ledger_(spec.losses ? std::make_unique<SnapshotLedger>(replay_) : nullptr),
        max_model_len_(cache.max_model_len),
        on_record_(spec.on_record) {
    stats_.settings = replay_.settings();
  }
  void consume(const TraceBatch& batch) override {
    for (const TraceRequest& one : batch.requests) {
      const SnapshotRecord record = refused_for_length(one.input_length, max_model_len_)
                                        ? replay_.turned_away(one)
                                        : run(one, batch.prompt(one));
      const ReuseLoss loss = ledger_ ? ledger_->end(record) : ReuseLoss{};
      stats_.add(record);
      if (on_record_) on_record_(&record, ledger_ ? &loss : nullptr);
    }
  }
  ReplayResult result() override { return {stats_, ledger_ ? std::optional(ledger_->stats()) : std::nullopt, {}, {}}; }

 private:
  SnapshotRecord run(const TraceRequest& request, std::span<const TokenRun> prompt) {
    if (ledger_) ledger_->expect(request, prompt);
    return replay_.run(request, prompt);
  }

  SnapshotReplay replay_;
  std::unique_ptr<SnapshotLedger> ledger_;
  std::optional<std::int64_t> max_model_len_;
  std::function<void(const RecordView&, const ReuseLoss*)> on_record_;
  SnapshotStats stats_;
};

}  // namespace

const EngineRules& rules_of(const AnyCache& cache) {
  if (const auto* blocks = std::get_if<CacheGeometry>(&cache)) return *blocks->rules.engine;
  if (const auto* tree = std::get_if<TreeCache>(&cache)) return *tree->rules;
  if (const auto* slots = std::get_if<SlotCache>(&cache)) return *slots->rules;
  return *std::get<SnapshotCache>(cache).rules;
}

const std::string& name_of(const AnyCache& cache) {
  return std::visit([](const auto& one) -> const std::string& { return one.name; }, cache);
}

std::optional<std::int64_t> max_model_len_of(const AnyCache& cache) {
  if (const auto* blocks = std::get_if<CacheGeometry>(&cache)) return blocks->scheduler.max_model_len;
  if (const auto* tree = std::get_if<TreeCache>(&cache)) return tree->max_model_len;
  if (const auto* slots = std::get_if<SlotCache>(&cache)) return slots->max_model_len;
  return std::get<SnapshotCache>(cache).max_model_len;
}

void set_max_model_len(AnyCache& cache, std::int64_t tokens) {
  if (auto* blocks = std::get_if<CacheGeometry>(&cache)) blocks->scheduler.max_model_len = tokens;
  else if (auto* tree = std::get_if<TreeCache>(&cache)) tree->max_model_len = tokens;
  else if (auto* slots = std::get_if<SlotCache>(&cache)) slots->max_model_len = tokens;
  else std::get<SnapshotCache>(cache).max_model_len = tokens;
}

const ReplayCounts& counts_of(const IndexStats& stats) {
  return std::visit([](const auto& one) -> const ReplayCounts& { return one; }, stats);
}

bool tree_decodes(const DriverSpec& driver) {
  if (driver.kind == DriverKind::open_loop)
    throw SpecError("simulate.driver", "a radix tree is replayed in the order of the trace, not by its timestamps: "
                                       "take one_at_a_time for prompts alone, or closed_loop");
  if (driver.in_flight < 1)
    throw SpecError("driver.in_flight", fmt::format("must be at least 1, is {}", driver.in_flight));
  return driver.kind == DriverKind::closed_loop;
}

namespace {

/// How a cache without time is replayed for a clock: one request to its end, with its output, after the other.
SimulationSpec untimed(const SimulationSpec& spec) {
  SimulationSpec one = spec;
  if (std::holds_alternative<CacheGeometry>(spec.cache)) return one;
  const bool decodes = !std::holds_alternative<SlotCache>(spec.cache);
  one.driver = {.kind = decodes ? DriverKind::closed_loop : DriverKind::one_at_a_time};
  return one;
}

}  // namespace

void check_replay(const SimulationSpec& asked) {
  const SimulationSpec spec = asked.driver.clock ? untimed(asked) : asked;
  if (const auto* blocks = std::get_if<CacheGeometry>(&spec.cache)) return validate(*blocks);
  if (const auto* tree = std::get_if<TreeCache>(&spec.cache)) {
    check_tree_losses(spec);
    return driven(tree->settings, spec.driver).check();
  }
  if (const auto* snapshots = std::get_if<SnapshotCache>(&spec.cache))
    return driven(snapshots->settings, spec.driver).check();
  check_driver_of_slots(spec.driver);
  std::get<SlotCache>(spec.cache).settings.check();
}

namespace {

std::unique_ptr<CacheReplay> make_untimed(const SimulationSpec& spec) {
  if (const auto* blocks = std::get_if<CacheGeometry>(&spec.cache))
    return std::make_unique<BlockCacheReplay>(*blocks, spec);
  if (const auto* tree = std::get_if<TreeCache>(&spec.cache)) {
    check_tree_losses(spec);
    if (has_several(spec.driver)) return std::make_unique<TreeLoopReplay>(*tree, spec);
    return std::make_unique<TreeCacheReplay>(*tree, spec);
  }
  if (const auto* slots = std::get_if<SlotCache>(&spec.cache)) return std::make_unique<SlotCacheReplay>(*slots, spec);
  return std::make_unique<SnapshotsReplay>(std::get<SnapshotCache>(spec.cache), spec);
}

/// What every record says of a request: how it ended, and what of its prompt was found.
struct FoundTokens {
  RequestStatus status = RequestStatus::ok;
  std::int64_t tokens = 0;
};

FoundTokens found_of(const RecordView& view) {
  return std::visit([](const auto* record) { return FoundTokens{record->status, record->hit_tokens}; }, view);
}

/// A replay by a clock. Pools of blocks know it themselves; for the others the requests go through the engine's steps
/// with what was found of each. Beside it runs what would be without any cache of prefixes.
class TimedReplay final : public CacheReplay {
 public:
  explicit TimedReplay(const SimulationSpec& spec)
      : has_own_times_(std::holds_alternative<CacheGeometry>(spec.cache)),
        served_(spec.driver),
        uncached_(spec.driver),
        longest_(max_model_len_of(spec.cache)) {
    SimulationSpec inner = untimed(spec);
    if (!has_own_times_)
      inner.on_record = [this, tell = spec.on_record](const RecordView& record, const ReuseLoss* loss) {
        found_.push_back(found_of(record));
        if (tell) tell(record, loss);
      };
    inner_ = make_untimed(inner);
  }
  void consume(const TraceBatch& batch) override {
    found_.clear();
    inner_->consume(batch);
    std::size_t at = 0;
    for (const TraceRequest& request : batch.requests) {
      const auto prompt = batch.prompt(request);
      const auto waits_for = batch.waits_for(request);
      if (!has_own_times_) {
        const FoundTokens& found = found_.at(at++);
        served_.consume(request, prompt, waits_for,
                        found.status == RequestStatus::ok ? std::optional(found.tokens) : std::nullopt);
      }
      uncached_.consume(request, prompt, waits_for,
                        refused_for_length(request.input_length, longest_) ? std::nullopt : std::optional(no_tokens));
    }
  }
  void finish() override {
    inner_->finish();
    if (!has_own_times_) times_ = served_.finish();
    without_ = uncached_.finish();
  }
  ReplayResult result() override {
    ReplayResult result = inner_->result();
    if (!has_own_times_) result.times = times_;
    result.uncached = without_;
    return result;
  }

 private:
  static constexpr std::int64_t no_tokens = 0;

  bool has_own_times_;
  std::unique_ptr<CacheReplay> inner_;
  ServedReplay served_, uncached_;
  std::optional<std::int64_t> longest_;
  std::vector<FoundTokens> found_;  // of the batch at hand, in its order
  ServedTimes times_, without_;
};

}  // namespace

std::unique_ptr<CacheReplay> make_replay(const SimulationSpec& spec) {
  if (spec.driver.clock) return std::make_unique<TimedReplay>(spec);
  return make_untimed(spec);
}

}  // namespace hybridkv
