#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/replay.h"

namespace hybridkv {

/// Requests and prompt tokens of the whole trace.
class TraceTotals final : public Replay {
 public:
  void consume(const TraceBatch& batch) override {
    requests_ += std::ssize(batch.requests);
    for (const TraceRequest& request : batch.requests) prompt_tokens_ += request.input_length;
  }
  std::int64_t requests() const { return requests_; }
  std::int64_t prompt_tokens() const { return prompt_tokens_; }

 private:
  std::int64_t requests_ = 0;
  std::int64_t prompt_tokens_ = 0;
};

/// Totals among `replays`, which own them.
inline const TraceTotals& add_totals(std::vector<std::unique_ptr<Replay>>& replays) {
  auto totals = std::make_unique<TraceTotals>();
  const TraceTotals& added = *totals;
  replays.push_back(std::move(totals));
  return added;
}

}  // namespace hybridkv
