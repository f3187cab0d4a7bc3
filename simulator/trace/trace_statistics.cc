#include "simulator/trace/trace_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hybridkv {

namespace {

constexpr std::size_t fewest_ids = 2;

/// Ids of the prompt that are as long as its first one.
std::size_t full_ids(std::span<const TokenRun> prompt) {
  if (prompt.size() < 2) return prompt.size();
  const std::int64_t last = prompt.back().end_token - prompt[prompt.size() - 2].end_token;
  return prompt.size() - (last < prompt.front().end_token ? 1 : 0);
}

}  // namespace

Spread spread_of(std::vector<double>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto size = static_cast<double>(values.size());
  const auto at = [&](double share) {
    const double rank = std::ceil(share * size);
    return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  };
  return {.count = std::ssize(values), .min = values.front(), .median = at(0.5),
          .mean = std::accumulate(values.begin(), values.end(), 0.0) / size,
          .p90 = at(0.9), .p99 = at(0.99), .max = values.back()};
}

void TraceStatisticsReader::find_earlier(const TraceRequest& request, std::span<const TokenRun> prompt) {
  const std::int64_t number = std::ssize(seen_);
  Seen here{.seconds = request.arrival_seconds, .session = number};
  for (std::size_t ids = prompt.size(); ids >= fewest_ids; --ids) {
    const auto found = ends_.find(prompt[ids - 1].chain);
    if (found == ends_.end()) continue;
    Seen& earlier = seen_[static_cast<std::size_t>(found->second)];
    here.session = earlier.session;
    here.turn = earlier.turn + 1;
    earlier.returned = true;
    ++statistics_.going_on;
    statistics_.going_on_prompt_tokens += request.input_length;
    statistics_.taken_up_tokens += prompt[ids - 1].end_token;
    requests_between_.push_back(static_cast<double>(number - found->second - 1));
    seconds_between_.push_back(here.seconds - earlier.seconds);
    break;
  }
  if (const std::size_t ids = full_ids(prompt); ids >= fewest_ids) ends_[prompt[ids - 1].chain] = number;
  seen_.push_back(here);
}

void TraceStatisticsReader::consume(const TraceBatch& batch) {
  for (const TraceRequest& request : batch.requests) {
    const std::span<const TokenRun> prompt = batch.prompt(request);
    TraceStatistics& all = statistics_;
    if (all.requests == 0) all.first_seconds = all.last_seconds = request.arrival_seconds;
    if (!seen_.empty()) all.in_order = all.in_order && request.arrival_seconds >= seen_.back().seconds;
    all.first_seconds = std::min(all.first_seconds, request.arrival_seconds);
    all.last_seconds = std::max(all.last_seconds, request.arrival_seconds);
    ++all.requests;
    all.dependencies += request.num_dependencies;
    all.prompt_tokens += request.input_length;
    all.output_tokens += request.output_length;
    all.repeated_tokens += exact_.match(prompt);
    all.repeated_id_tokens += reuse_.touch(prompt);
    input_.push_back(static_cast<double>(request.input_length));
    output_.push_back(static_cast<double>(request.output_length));
    find_earlier(request, prompt);
  }
}

TraceStatistics TraceStatisticsReader::finish() {
  TraceStatistics& all = statistics_;
  all.input = spread_of(input_);
  all.output = spread_of(output_);
  all.requests_between = spread_of(requests_between_);
  all.seconds_between = spread_of(seconds_between_);
  all.distinct_tokens = reuse_.distinct_tokens();
  all.distances = reuse_.distances();
  std::vector<double> prompts(seen_.size());
  for (const Seen& seen : seen_) {
    const auto turn = std::min(static_cast<std::size_t>(seen.turn), most_turns - 1);
    if (all.turns.size() <= turn) all.turns.resize(turn + 1);
    ++all.turns[turn].prompts;
    all.turns[turn].returned += seen.returned ? 1 : 0;
    ++prompts[static_cast<std::size_t>(seen.session)];
  }
  std::erase_if(prompts, [](double count) { return count < 2; });
  all.sessions = std::ssize(prompts);
  all.session_prompts = spread_of(prompts);
  return all;
}

}  // namespace hybridkv
