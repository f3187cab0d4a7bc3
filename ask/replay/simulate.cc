#include "ask/replay/simulate.h"

#include <memory>
#include <utility>

#include "ask/replay/longest_repeats.h"
#include "simulator/blocks/closed_form.h"
#include "simulator/trace/trace_spec.h"

namespace hybridkv {

namespace {

AnyRecord record_of(const RecordView& view) {
  return std::visit([](const auto* record) -> AnyRecord { return *record; }, view);
}

/// Of requests that found nothing; the others say nothing of a cold cache.
std::vector<std::int64_t> cold_checkpoints(const CacheGeometry& geometry, const AnyRecord& record) {
  const auto& request = std::get<RequestRecord>(record);
  if (request.hit_tokens > 0 || request.uncached_common > 0 || request.status != RequestStatus::ok) return {};
  return checkpoint_positions(geometry, request.input_length);
}

/// What the closed forms say of a cache of blocks.
void add_closed_forms(ReplayedCache& cache, const CacheGeometry& geometry) {
  cache.longest_request = longest_request(geometry);
  for (ListedRequest& listed : cache.requests) listed.cold_checkpoints = cold_checkpoints(geometry, listed.record);
}

}  // namespace

SimulateAnswer simulate(const SimulateQuestion& question, const SimulateWatch& watch) {
  const SimulateRequest& request = question.request;
  SimulateAnswer answer{
      .trace = describe(request.trace), .driver = request.driver, .caches = {}, .timed = question.timed};
  SweepSpec sweep{.simulations = {}, .upper_bounds = request.upper_bounds, .losses = request.losses};
  if (!question.caches.empty()) answer.rules = &rules_of(question.caches.front());
  std::vector<std::vector<ListedRequest>> listed(question.caches.size());
  for (std::size_t i = 0; i < question.caches.size(); ++i) {
    const AnyCache& cache = question.caches[i];
    SimulationSpec& one = sweep.simulations.emplace_back(SimulationSpec{.cache = cache, .driver = request.driver});
    check_replay(one);
    one.counts_copies = true;
    one.uncached = question.uncached;
    if (i == 0) one.on_event = watch.on_event;
    if (i == 0) one.on_shape = watch.on_shape;
    one.on_record = [&to = listed[i], next = i == 0 ? watch.on_record : nullptr](const RecordView& record,
                                                                                const ReuseLoss* loss) {
      if (std::ssize(to) <= most_listed_requests) to.push_back({record_of(record), {}});
      if (next) next(record, loss);
    };
  }
  const std::unique_ptr<TraceSource> trace = open_trace(request.trace);
  if (watch.on_start) watch.on_start();
  sweep.on_progress = watch.on_progress;
  SweepResult result = run_sweep(*trace, sweep);
  answer.requests = result.requests;
  answer.prompt_tokens = result.prompt_tokens;
  if (const auto* file = dynamic_cast<const TraceFile*>(trace.get())) answer.bad_lines = file->bad_lines();
  for (std::size_t i = 0; i < result.caches.size(); ++i) {
    ReplayedCache& cache = answer.caches.emplace_back();
    static_cast<ReplayedIndex&>(cache) = std::move(result.caches[i]);
    cache.name = name_of(question.caches[i]);
    cache.max_model_len = max_model_len_of(question.caches[i]);
    if (answer.requests <= most_listed_requests) cache.requests = std::move(listed[i]);
    if (const auto* stats = std::get_if<SimulationStats>(&cache.index)) add_closed_forms(cache, stats->geometry);
  }
  LongestRepeats repeats(request.trace);
  for (ReplayedCache& cache : answer.caches) cache.longest_repeat = repeats.of(cache.index, cache.max_model_len);
  return answer;
}

}  // namespace hybridkv
