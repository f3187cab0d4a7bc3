#include "search/reuse_paths.h"

#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "tests/search/small_traces.h"

namespace hybridkv::testing {

namespace {

/// Prompts of some runs of one to forty tokens each, which end anywhere inside the last.
TraceBatch prompts_of_runs(Draw& draw, std::int64_t requests) {
  TraceBatch batch;
  for (std::int64_t i = 0; i < requests; ++i) {
    TraceRequest request{.index = i};
    request.first_run = std::ssize(batch.runs);
    std::uint64_t chain = empty_chain;
    std::int64_t at = 0;
    const std::int64_t runs = draw(1, 4);
    for (std::int64_t run = 0; run < runs; ++run) {
      const auto content = static_cast<std::uint64_t>(draw(0, 1));
      chain = extend_chain(chain, content, at);
      at += run + 1 < runs ? 13 + 27 * static_cast<std::int64_t>(content) : draw(1, 40);
      batch.runs.push_back({at, chain});
    }
    request.input_length = at;
    request.num_runs = runs;
    batch.requests.push_back(request);
  }
  return batch;
}

/// Who passed through each unit last, unit by unit: (request) of its stretches.
std::vector<std::vector<ReuseStretch>> unit_by_unit(const TraceBatch& batch, std::int64_t unit_tokens) {
  std::vector<std::vector<ReuseStretch>> all;
  std::map<PrefixKey, std::int32_t> last;
  std::vector<PrefixKey> keys;
  for (const TraceRequest& request : batch.requests) {
    const auto number = static_cast<std::int32_t>(all.size());
    std::vector<ReuseStretch>& stretches = all.emplace_back();
    prefix_keys(batch.prompt(request), unit_tokens, keys);
    for (std::size_t unit = 0; unit < keys.size(); ++unit) {
      const auto [entry, is_new] = last.try_emplace(keys[unit], number);
      if (is_new) continue;
      if (stretches.empty() || stretches.back().last != entry->second) stretches.push_back({0, entry->second});
      stretches.back().end_unit = static_cast<std::int32_t>(unit + 1);
      entry->second = number;
    }
  }
  return all;
}

}  // namespace

TEST_CASE("law: paths by runs of content are those unit by unit") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const TraceBatch batch = prompts_of_runs(draw, 60);
    const std::int64_t unit = draw(1, 30);
    ReusePaths paths(unit);
    paths.consume(batch);
    const auto wanted = unit_by_unit(batch, unit);
    REQUIRE(paths.num_requests() == std::ssize(wanted));
    for (std::int64_t request = 0; request < paths.num_requests(); ++request) {
      const auto got = paths.stretches(request);
      REQUIRE(std::vector<ReuseStretch>(got.begin(), got.end()) == wanted[static_cast<std::size_t>(request)]);
    }
  }
}

TEST_CASE("law: what is remembered of a prompt goes by its runs, not by the units that end in them") {
  Draw draw(1);
  const TraceBatch batch = prompts_of_runs(draw, 300);
  ReusePaths fine(1), coarse(13);
  fine.consume(batch);
  coarse.consume(batch);
  std::map<std::uint64_t, std::int64_t> runs;
  for (const TokenRun& run : batch.runs) ++runs[run.chain];
  CHECK(coarse.num_kept() <= fine.num_kept());
  // One depth of each run, and those of earlier prompts that ended deeper inside it.
  CHECK(fine.num_kept() < 3 * std::ssize(runs));
  CHECK(fine.num_kept() >= std::ssize(runs));
}

}  // namespace hybridkv::testing
