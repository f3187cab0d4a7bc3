#include "simulator/cache_replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "simulator/losses/loss_ledger.h"
#include "simulator/losses/slot_ledger.h"
#include "simulator/losses/snapshot_ledger.h"
#include "simulator/losses/tree_ledger.h"
#include "simulator/recording/block_recorder.h"
#include "simulator/schedule/loop_replica.h"
#include "simulator/tree/tree_scheduler.h"

namespace hybridkv {

namespace {

class BlockReplica final : public CacheReplica {
 public:
  BlockReplica(const CacheGeometry& geometry, const SimulationSpec& spec)
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
  Replica& replica() override { return simulation_; }
  Scheduler* blocks() override { return &simulation_.scheduler(); }
  ReplayResult result() override {
    SimulationStats stats = simulation_.stats();
    const std::optional<ServedTimes> times = stats.times;
    return {std::move(stats), ledger_ ? std::optional(ledger_->stats()) : std::nullopt, times, {}};
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
};

/// More than one request in flight: a scheduler chooses who acts.
bool has_several(const DriverSpec& driver) { return driver.kind == DriverKind::closed_loop && driver.in_flight > 1; }

TreeSettings driven(TreeSettings settings, const DriverSpec& driver) {
  settings.decodes = tree_decodes(driver);
  return settings;
}

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

SlotSettings driven(const SlotSettings& settings, const DriverSpec& driver) {
  if (driver.kind != DriverKind::one_at_a_time)
    throw SpecError("simulate.driver", "slots are replayed one prompt at a time; take one_at_a_time");
  return settings;
}

void check_tree_losses(const SimulationSpec& spec) {
  if (spec.losses && has_several(spec.driver))
    throw SpecError("simulate.driver", "losses of a radix tree are booked for one request at a time; take "
                                       "one_at_a_time, or closed_loop with in_flight 1");
}

/// The record of a request that is too long to be taken in.
TreeRecord turned_away(const TreeActions& actions, const TraceRequest& request) {
  TreeRecord record{.index = request.index, .input_length = request.input_length};
  actions.close(record);
  record.status = RequestStatus::too_long;
  return record;
}

SlotRecord turned_away(const SlotReplay&, const TraceRequest& request) {
  return {.index = request.index, .input_length = request.input_length, .status = RequestStatus::too_long};
}

SnapshotRecord turned_away(const SnapshotReplay& replay, const TraceRequest& request) {
  return replay.turned_away(request);
}

/// An index that is replayed one request at a time: each has ended when it has been submitted.
template <class Cache, class Index, class Ledger, class Stats>
class AtOnceReplica final : public CacheReplica, public Replica {
 public:
  AtOnceReplica(const Cache& cache, const SimulationSpec& spec)
      : replay_(driven(cache.settings, spec.driver)),
        ledger_(spec.losses ? std::make_unique<Ledger>(replay_) : nullptr),
        max_model_len_(cache.max_model_len),
        on_record_(spec.on_record) {
    stats_.settings = replay_.settings();
  }
  Replica& replica() override { return *this; }
  void pass_until(double seconds) override { now_ = std::max(now_, seconds); }
  void submit(const TraceRequest& request, std::span<const TokenRun> prompt) override {
    ++requests_;
    const auto record = refused_for_length(request.input_length, max_model_len_) ? turned_away(replay_, request)
                                                                                 : run(request, prompt);
    const ReuseLoss loss = ledger_ ? ledger_->end(record) : ReuseLoss{};
    stats_.add(record);
    if (on_record_) on_record_(&record, ledger_ ? &loss : nullptr);
    if (on_end) on_end(request.index, now_);
  }
  std::int64_t num_in_flight() const override { return 0; }
  std::int64_t waiting_tokens() const override { return 0; }
  void step(double /*until*/) override {}
  double now() const override { return now_; }
  std::int64_t steps() const override { return requests_; }
  ReplayResult result() override { return {stats_, ledger_ ? std::optional(ledger_->stats()) : std::nullopt, {}, {}}; }

 private:
  auto run(const TraceRequest& request, std::span<const TokenRun> prompt) {
    if (ledger_) ledger_->expect(request, prompt);
    return replay_.run(request, prompt);
  }

  Index replay_;
  std::unique_ptr<Ledger> ledger_;
  std::optional<std::int64_t> max_model_len_;
  std::function<void(const RecordView&, const ReuseLoss*)> on_record_;
  Stats stats_;
  double now_ = 0;
  std::int64_t requests_ = 0;
};
using TreeReplica = AtOnceReplica<TreeCache, TreeReplay, TreeLedger, TreeStats>;
using SlotReplica = AtOnceReplica<SlotCache, SlotReplay, SlotLedger, SlotStats>;
using SnapshotReplica = AtOnceReplica<SnapshotCache, SnapshotReplay, SnapshotLedger, SnapshotStats>;

/// A tree with several requests in flight, without time. A prompt that is too long takes no place.
class TreeLoopReplica final : public CacheReplica, public Replica {
 public:
  TreeLoopReplica(const TreeCache& cache, const SimulationSpec& spec)
      : scheduler_(driven(cache.settings, spec.driver), [this](const TreeRecord& record) { ended(record); }),
        max_model_len_(cache.max_model_len),
        on_record_(spec.on_record) {
    stats_.settings = scheduler_.settings();
    stats_.in_flight = spec.driver.in_flight;
  }
  Replica& replica() override { return *this; }
  void pass_until(double /*seconds*/) override {}
  void submit(const TraceRequest& request, std::span<const TokenRun> prompt) override {
    if (refused_for_length(request.input_length, max_model_len_)) ended(turned_away(scheduler_, request));
    else scheduler_.submit(request, prompt);
  }
  std::int64_t num_in_flight() const override { return scheduler_.num_in_flight(); }
  std::int64_t waiting_tokens() const override { return scheduler_.waiting_tokens(); }
  void step(double /*until*/) override {
    scheduler_.schedule();
    ++stats_.steps;
    stats_.most_running = std::max(stats_.most_running, scheduler_.num_running());
    scheduler_.complete();
  }
  double now() const override { return 0; }
  std::int64_t steps() const override { return stats_.steps; }
  ReplayResult result() override { return {stats_, std::nullopt, {}, {}}; }

 private:
  void ended(const TreeRecord& record) {
    stats_.add(record);
    if (on_record_) on_record_(&record, nullptr);
    if (on_end) on_end(record.index, 0);
  }

  TreeScheduler scheduler_;
  std::optional<std::int64_t> max_model_len_;
  std::function<void(const RecordView&, const ReuseLoss*)> on_record_;
  TreeStats stats_;
};

std::unique_ptr<CacheReplica> make_untimed(const SimulationSpec& spec) {
  if (const auto* blocks = std::get_if<CacheGeometry>(&spec.cache))
    return std::make_unique<BlockReplica>(*blocks, spec);
  if (const auto* tree = std::get_if<TreeCache>(&spec.cache)) {
    check_tree_losses(spec);
    if (has_several(spec.driver)) return std::make_unique<TreeLoopReplica>(*tree, spec);
    return std::make_unique<TreeReplica>(*tree, spec);
  }
  if (const auto* slots = std::get_if<SlotCache>(&spec.cache)) return std::make_unique<SlotReplica>(*slots, spec);
  return std::make_unique<SnapshotReplica>(std::get<SnapshotCache>(spec.cache), spec);
}

/// How a cache without time is replayed for a clock: one request to its end, with its output, after the other.
SimulationSpec untimed(const SimulationSpec& spec) {
  SimulationSpec one = spec;
  if (std::holds_alternative<CacheGeometry>(spec.cache)) return one;
  const bool decodes = !std::holds_alternative<SlotCache>(spec.cache);
  one.driver = {.kind = decodes ? DriverKind::closed_loop : DriverKind::one_at_a_time};
  return one;
}

/// Bytes that a request had loaded from the host.
double loaded_bytes(const AnyCache& cache, const RecordView& view) {
  const auto sum = [](const LoadedBytes& loaded, std::int64_t units, std::int64_t states) {
    return static_cast<double>(loaded.of_unit) * static_cast<double>(units) +
           static_cast<double>(loaded.of_state) * static_cast<double>(states);
  };
  if (const auto* const* tree = std::get_if<const TreeRecord*>(&view))
    return sum(std::get<TreeCache>(cache).loaded, (*tree)->loaded_tokens, (*tree)->loaded_states);
  if (const auto* const* snapshots = std::get_if<const SnapshotRecord*>(&view))
    return sum(std::get<SnapshotCache>(cache).loaded, (*snapshots)->loaded_blocks, (*snapshots)->loaded_states);
  return 0;
}

/// What a record says to a clock of a request that was served; nothing of another.
std::optional<FoundPrefix> found_of(const AnyCache& cache, const RecordView& view, double bytes_per_second) {
  return std::visit(
      [&](const auto* record) {
        return record->status == RequestStatus::ok
                   ? std::optional(FoundPrefix{record->hit_tokens, loaded_bytes(cache, view) / bytes_per_second})
                   : std::nullopt;
      },
      view);
}

/// A cache that knows no time, by a clock.
class TimedReplica final : public CacheReplica {
 public:
  explicit TimedReplica(const SimulationSpec& spec)
      : loop_(spec.driver,
              [this](const TraceRequest& request, std::span<const TokenRun> prompt) {
                found_.reset();
                inner_->replica().submit(request, prompt);
                return found_;
              },
              true) {
    SimulationSpec inner = untimed(spec);
    inner.on_record = [this, cache = spec.cache, rate = spec.driver.host_bytes_per_second,
                       tell = spec.on_record](const RecordView& record, const ReuseLoss* loss) {
      found_ = found_of(cache, record, rate);
      if (tell) tell(record, loss);
    };
    inner_ = make_untimed(inner);
  }
  Replica& replica() override { return loop_; }
  ReplayResult result() override {
    ReplayResult result = inner_->result();
    result.times = loop_.times();
    return result;
  }

 private:
  LoopReplica loop_;
  std::unique_ptr<CacheReplica> inner_;
  std::optional<FoundPrefix> found_;  // of the request that was submitted last
};

}  // namespace

bool tree_decodes(const DriverSpec& driver) {
  if (driver.kind == DriverKind::open_loop)
    throw SpecError("simulate.driver", "a radix tree is replayed in the order of the trace, not by its timestamps: "
                                       "take one_at_a_time for prompts alone, or closed_loop");
  if (driver.in_flight < 1)
    throw SpecError("driver.in_flight", fmt::format("must be at least 1, is {}", driver.in_flight));
  return driver.kind == DriverKind::closed_loop;
}

void check_replay(const SimulationSpec& asked) {
  const SimulationSpec spec = asked.driver.clock ? untimed(asked) : asked;
  if (const auto* blocks = std::get_if<CacheGeometry>(&spec.cache)) return validate(*blocks);
  if (const auto* tree = std::get_if<TreeCache>(&spec.cache)) {
    check_tree_losses(spec);
    return driven(tree->settings, spec.driver).check();
  }
  if (const auto* snapshots = std::get_if<SnapshotCache>(&spec.cache))
    return driven(snapshots->settings, spec.driver).check();
  driven(std::get<SlotCache>(spec.cache).settings, spec.driver).check();
}

std::unique_ptr<CacheReplica> make_replica(const SimulationSpec& spec) {
  if (spec.driver.clock && !std::holds_alternative<CacheGeometry>(spec.cache))
    return std::make_unique<TimedReplica>(spec);
  return make_untimed(spec);
}

}  // namespace hybridkv
