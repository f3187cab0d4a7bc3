#include "simulator/cache_replay.h"

#include <utility>

#include "simulator/cache_replica.h"
#include "simulator/schedule/loop_replica.h"
#include "simulator/schedule/trace_driver.h"

namespace hybridkv {

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

namespace {

/// One cache under its driver; by a clock, beside it, what would be without any cache of prefixes.
class DrivenReplay final : public CacheReplay {
 public:
  explicit DrivenReplay(const SimulationSpec& spec)
      : replica_(make_replica(spec)), trace_(spec.driver, {&replica_->replica()}) {
    if (spec.driver.clock && spec.uncached) uncached_.emplace(spec);
  }
  void consume(const TraceBatch& batch) override {
    trace_.consume(batch);
    if (uncached_) uncached_->trace.consume(batch);
  }
  void finish() override {
    trace_.finish();
    if (uncached_) uncached_->trace.finish();
  }
  ReplayResult result() override {
    ReplayResult result = replica_->result();
    if (uncached_) result.uncached = uncached_->replica.times();
    return result;
  }

 private:
  struct Uncached {
    explicit Uncached(const SimulationSpec& spec)
        : replica(spec.driver,
                  [longest = max_model_len_of(spec.cache)](const TraceRequest& request, std::span<const TokenRun>) {
                    return refused_for_length(request.input_length, longest) ? std::nullopt
                                                                             : std::optional(FoundPrefix{});
                  },
                  false),
          trace(spec.driver, {&replica}) {}
    LoopReplica replica;
    TraceDriver trace;
  };

  std::unique_ptr<CacheReplica> replica_;
  TraceDriver trace_;
  std::optional<Uncached> uncached_;
};

}  // namespace

std::unique_ptr<CacheReplay> make_replay(const SimulationSpec& spec) { return std::make_unique<DrivenReplay>(spec); }

}  // namespace hybridkv
