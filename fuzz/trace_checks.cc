#include "fuzz/trace_checks.h"

#include "fuzz/harness.h"

namespace hybridkv::fuzz {

namespace {

void check_request(const TraceRequest& request, std::span<const TokenRun> prompt) {
  require(request.input_length >= 1 && request.output_length >= 0, "lengths of a request out of range");
  require(request.arrival_seconds >= 0, "a request before the start");
  require(!prompt.empty() && prompt.back().end_token == request.input_length, "runs that do not end with the prompt");
  for (std::size_t i = 1; i < prompt.size(); ++i)
    require(prompt[i - 1].end_token < prompt[i].end_token, "runs that do not ascend");
}

}  // namespace

std::optional<TraceBatch> read_trace(const TraceFileSpec& spec) {
  TraceBatch all;
  const bool is_read = accepts([&] {
    TraceFile file(spec);
    for (TraceBatch batch; file.next(batch);)
      for (TraceRequest request : batch.requests) {
        const auto prompt = batch.prompt(request);
        check_request(request, prompt);
        require(request.index == std::ssize(all.requests), "requests out of order");
        request.first_dependency = std::ssize(all.dependencies);
        for (const TraceDependency& waits_for : batch.waits_for(request)) {
          require(waits_for.request >= 0 && waits_for.request < request.index, "a request waits for a later one");
          const double earliest = all.requests[static_cast<std::size_t>(waits_for.request)].arrival_seconds;
          require(request.arrival_seconds >= earliest + waits_for.delay_seconds, "a request before what it waits for");
          all.dependencies.push_back(waits_for);
        }
        request.first_run = std::ssize(all.runs);
        all.runs.insert(all.runs.end(), prompt.begin(), prompt.end());
        all.requests.push_back(request);
      }
    require(file.progress().requests == std::ssize(all.requests), "progress that counts otherwise");
  });
  if (!is_read) return std::nullopt;
  return all;
}

}  // namespace hybridkv::fuzz
