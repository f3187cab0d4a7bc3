#include "simulator/trace/trace_statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <list>

#include "simulator/trace/trace_file.h"
#include "test_paths.h"
#include "tests/simulator/blocks/workload.h"
#include "tests/simulator/trace/read_trace.h"

using namespace hybridkv;
using hybridkv::testing::PromptSegments;

namespace {

TraceStatistics statistics_of(const TraceBatch& batch) {
  TraceStatisticsReader reader;
  reader.consume(batch);
  return reader.finish();
}

/// The same distances from a list of runs, the one touched last in front.
struct ListedRuns {
  struct Run {
    std::uint64_t chain = 0;
    std::int64_t tokens = 0, request = 0;
  };
  std::list<Run> newest_first;

  std::list<Run>::iterator find(std::uint64_t chain) {
    return std::find_if(newest_first.begin(), newest_first.end(), [&](const Run& run) { return run.chain == chain; });
  }
};

}  // namespace

TEST_CASE("golden: statistics of six prompts, by hand") {
  TraceBatch batch;
  const auto add = [&](const PromptSegments& prompt, double arrival) {
    hybridkv::testing::add_request(batch, prompt, 5, arrival);
  };
  add({{1, 10}, {2, 10}, {3, 4}}, 0);                        // 24, a first turn
  add({{8, 10}, {9, 10}}, 1);                                // 20, alone
  add({{1, 10}, {2, 10}, {4, 10}, {5, 10}}, 2);              // 40, goes on from the first
  add({{1, 10}, {6, 10}}, 3);                                // 20, shares one id: goes on from nothing
  add({{1, 10}, {2, 10}, {4, 10}, {5, 10}, {7, 6}}, 8);      // 46, goes on from the third
  add({{1, 10}, {2, 10}, {4, 10}, {5, 10}, {7, 6}}, 10);     // 46, from the fifth, whose full ids are the third's
  const TraceStatistics all = statistics_of(batch);
  CHECK(all.requests == 6);
  CHECK(all.first_seconds == 0);
  CHECK(all.last_seconds == 10);
  CHECK(all.in_order);
  CHECK(all.prompt_tokens == 196);
  CHECK(all.output_tokens == 30);
  CHECK(all.input == Spread{6, 20, 24, 196.0 / 6, 46, 46, 46});
  // 20 + 10 + 40 + 45: never the last token; whole ids: 20 + 10 + 40 + 46.
  CHECK(all.repeated_tokens == 115);
  CHECK(all.repeated_id_tokens == 116);
  CHECK(all.distinct_tokens == 24 + 20 + 20 + 10 + 6);
  CHECK(all.going_on == 3);
  CHECK(all.going_on_prompt_tokens == 40 + 46 + 46);
  CHECK(all.taken_up_tokens == 20 + 40 + 40);
  CHECK(all.requests_between == Spread{3, 0, 1, 2.0 / 3, 1, 1, 1});
  CHECK(all.seconds_between == Spread{3, 2, 2, 10.0 / 3, 6, 6, 6});
  CHECK(all.sessions == 1);
  CHECK(all.session_prompts == Spread{1, 4, 4, 4, 4, 4, 4});
  REQUIRE(all.turns.size() == 4);
  CHECK(all.turns[0].prompts == 3);
  CHECK(all.turns[0].returned == 1);
  CHECK(all.turns[3].prompts == 1);
  CHECK(all.turns[3].returned == 0);
}

TEST_CASE("edge: the last turn that is counted stands for all later ones") {
  // Ten prompts, each of which goes on from the one before it: the eighth turn is that of three, of which two return.
  TraceBatch batch;
  PromptSegments prompt{{1, 10}};
  for (std::uint64_t id = 2; id <= 11; ++id) {
    prompt.push_back({id, 10});
    hybridkv::testing::add_request(batch, prompt);
  }
  const TraceStatistics all = statistics_of(batch);
  CHECK(all.going_on == 9);
  REQUIRE(all.turns.size() == 8);
  CHECK(all.turns[6].prompts == 1);
  CHECK(all.turns[7].prompts == 3);
  CHECK(all.turns[7].returned == 2);
}

TEST_CASE("law: reuse distances are those of a list in the order of use") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    hybridkv::testing::Dice dice(seed);
    ReuseDistances reuse;
    ListedRuns listed;
    LogHistogram requests, tokens;
    std::int64_t distinct = 0;
    for (std::int64_t request = 0; request < 150; ++request) {
      PromptSegments prompt;
      for (std::int64_t ids = dice.roll(1, 6); ids > 0; --ids)
        prompt.push_back({static_cast<std::uint64_t>(dice.roll(1, 3)), dice.roll(1, 2) * 5});
      const TraceBatch batch = hybridkv::testing::batch_of({prompt});
      const auto runs = batch.prompt(batch.requests[0]);
      std::int64_t start = 0, repeated = 0;
      bool repeats = true;
      for (const TokenRun& run : runs) {
        const auto found = listed.find(run.chain);
        repeats = repeats && found != listed.newest_first.end() && found->tokens >= run.end_token - start;
        if (!repeats) break;
        std::int64_t since = 0;
        for (auto newer = listed.newest_first.begin(); newer != found; ++newer) since += newer->tokens;
        requests.add(request - found->request - 1, run.end_token - start);
        tokens.add(since + found->tokens, run.end_token - start);
        repeated = start = run.end_token;
      }
      CHECK(reuse.touch(runs) == repeated);
      for (std::size_t i = runs.size(); i-- > 0;) {
        ListedRuns::Run run{runs[i].chain, runs[i].end_token - (i > 0 ? runs[i - 1].end_token : 0), request};
        if (const auto found = listed.find(run.chain); found != listed.newest_first.end()) {
          run.tokens = std::max(run.tokens, found->tokens);
          distinct -= found->tokens;
          listed.newest_first.erase(found);
        }
        distinct += run.tokens;
        listed.newest_first.push_front(run);
      }
    }
    CHECK(reuse.distinct_tokens() == distinct);
    for (const double share : {0.0, 0.1, 0.5, 0.9, 1.0}) {
      CHECK(reuse.distances().requests.quantile(share) == requests.quantile(share));
      CHECK(reuse.distances().tokens.quantile(share) == tokens.quantile(share));
    }
  }
}

TEST_CASE("law: quantiles of a logarithmic histogram are at most a sixteenth too large") {
  for (const std::int64_t least : {0L, 1L, 15L, 16L, 31L, 32L, 33L, 1000L, 123456789L, INT64_MAX / 4}) {
    LogHistogram histogram;
    for (std::int64_t i = 0; i < 100; ++i) histogram.add(least + i * (least / 64 + 1), 3);
    CHECK(histogram.weight() == 300);
    for (const std::int64_t rank : {1, 25, 50, 99, 100}) {
      const std::int64_t exact = least + (rank - 1) * (least / 64 + 1);
      const std::int64_t told = histogram.quantile(static_cast<double>(rank) / 100);
      CHECK(told >= exact);
      CHECK(static_cast<double>(told) <= static_cast<double>(exact) * (1 + 1.0 / 16));
    }
  }
  CHECK(LogHistogram().quantile(0.5) == 0);
}

TEST_CASE("golden: sessions of the published conversation trace") {
  const auto path = find_trace("mooncake_conversation.jsonl", HYBRIDKV_SOURCE_DIR);
  if (!path) {
    std::puts("SKIPPED: HYBRIDKV_TRACE_DIR names no folder with mooncake_conversation.jsonl");
    return;
  }
  const TraceStatistics all = statistics_of(hybridkv::testing::read_all({.path = *path}));
  CHECK(all.requests == 12031);
  // A third of the prompts go on from an earlier one, after 430 others: from a quarter of first turns, three fifths of
  // fifth ones.
  CHECK(all.going_on == 3975);
  CHECK(all.requests_between.median == 430);
  CHECK(all.repeated_tokens * 100 / all.prompt_tokens == 37);
  REQUIRE(all.turns.size() == TraceStatisticsReader::most_turns);
  CHECK(all.turns[0].returned * 100 / all.turns[0].prompts == 24);
  CHECK(all.turns[4].returned * 100 / all.turns[4].prompts == 60);
}
