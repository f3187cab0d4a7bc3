#include "simulator/fleet/decode_load.h"

#include <algorithm>

namespace hybridkv {

LoadFigures figures_of(const DecodeLoad& load) {
  ServedTimes times;
  DecodePool pool(load.outputs, load.decode);
  pool.on_served = [&](const RequestTimes& request) { times.add(request); };
  const auto nothing = [](const TraceRequest&, std::span<const TokenRun>) { return std::optional(FoundPrefix{}); };
  std::vector<std::unique_ptr<LoopReplica>> prompts;
  std::vector<Replica*> driven;
  for (std::int64_t i = 0; i < load.prompt_replicas; ++i) {
    prompts.push_back(std::make_unique<LoopReplica>(load.prompts, nothing, false));
    prompts.back()->on_served = [&](const RequestTimes& request) {
      if (!pool.prompt_done(request)) times.add(request);
    };
    driven.push_back(prompts.back().get());
  }
  for (std::size_t place = 0; place < pool.size(); ++place) driven.push_back(&pool.replica(place));
  const auto fewest = [&](const TraceRequest&, std::span<const TokenRun>, double) {
    return static_cast<std::size_t>(std::min_element(prompts.begin(), prompts.end(), [](const auto& a, const auto& b) {
                                      return a->num_in_flight() < b->num_in_flight();
                                    }) - prompts.begin());
  };
  TraceDriver trace({.kind = DriverKind::closed_loop, .in_flight = load.test.concurrency}, driven, fewest);
  pool.join(trace, prompts.size());
  TraceBatch batch;
  for (std::int64_t i = 0; i < load.test.num_requests(); ++i) {
    const LoopRequest request = request_of(load.test, i);
    batch.requests.push_back(
        pool.prompt_of({.index = i, .input_length = request.prompt, .output_length = request.outputs}));
  }
  trace.consume(batch);
  trace.finish();
  return {times.first_token.mean(), times.output_token.mean(), times.span_seconds()};
}

}  // namespace hybridkv
