#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "search/reuse_paths.h"
#include "simulator/trace/trace.h"

namespace hybridkv::testing {

/// Prompts as paths in a tree of units of `unit` tokens: each prompt is a list of contents.
struct SmallTrace {
  std::int64_t unit = 10;
  std::vector<std::vector<int>> prompts;
  std::int64_t tail = 1;  ///< tokens behind the last whole unit

  TraceBatch batch() const {
    TraceBatch batch;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      TraceRequest request{.index = static_cast<std::int64_t>(i)};
      request.first_run = std::ssize(batch.runs);
      std::uint64_t chain = empty_chain;
      std::int64_t at = 0;
      for (const int content : prompts[i]) {
        chain = extend_chain(chain, static_cast<std::uint64_t>(content), at);
        at += unit;
        batch.runs.push_back({at, chain});
      }
      if (tail > 0) batch.runs.push_back({at + tail, extend_chain(chain, 1'000'000 + i, at)});
      request.input_length = at + tail;
      request.num_runs = std::ssize(batch.runs) - request.first_run;
      batch.requests.push_back(request);
    }
    return batch;
  }
  ReusePaths paths() const {
    ReusePaths paths(unit);
    paths.consume(batch());
    return paths;
  }
};

/// Whole numbers [least, most], the same in every run.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t operator()(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::mt19937_64 random_;
};

inline SmallTrace random_trace(Draw& draw) {
  SmallTrace trace;
  trace.tail = draw(0, 2) * 2;
  trace.prompts.resize(static_cast<std::size_t>(draw(2, 6)));
  for (std::vector<int>& prompt : trace.prompts) {
    prompt.resize(static_cast<std::size_t>(draw(1, 2)));
    for (int& content : prompt) content = static_cast<int>(draw(0, 1));
  }
  return trace;
}

}  // namespace hybridkv::testing
