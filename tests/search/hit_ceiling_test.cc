#include "search/hit_ceiling.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"
#include "search/offline_schedule.h"
#include "simulator/token_exact_bound.h"

using namespace hybridkv;

namespace {

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

SmallTrace random_trace(Draw& draw) {
  SmallTrace trace;
  trace.tail = draw(0, 2) * 2;
  trace.prompts.resize(static_cast<std::size_t>(draw(2, 6)));
  for (std::vector<int>& prompt : trace.prompts) {
    prompt.resize(static_cast<std::size_t>(draw(1, 2)));
    for (int& content : prompt) content = static_cast<int>(draw(0, 1));
  }
  return trace;
}

/// Every content of the cache after every request: the best that any policy can do. Items are prefixes, each with K and
/// V of its last unit and, where states take room, a state; a content is a set of them, one bit each.
std::int64_t best_of_all_policies(const SmallTrace& trace, const CacheSizes& sizes) {
  using Prefix = std::vector<int>;
  using Content = std::uint32_t;
  std::map<std::pair<Prefix, bool>, Content> bits;
  std::vector<std::int64_t> item_bytes;
  const auto bit_of = [&](const Prefix& prefix, bool is_state) {
    const auto [entry, is_new] = bits.try_emplace({prefix, is_state}, Content{1} << bits.size());
    if (is_new) item_bytes.push_back(is_state ? sizes.state_bytes : sizes.unit_bytes);
    return entry->second;
  };
  const auto fits = [&](Content content) {
    std::int64_t bytes = 0;
    for (std::size_t item = 0; item < item_bytes.size(); ++item) bytes += (content >> item & 1) * item_bytes[item];
    return bytes <= sizes.memory_bytes;
  };
  std::map<Content, std::int64_t> best{{0, 0}};
  for (const std::vector<int>& prompt : trace.prompts) {
    const std::int64_t tokens = trace.unit * std::ssize(prompt) + trace.tail;
    std::vector<Content> keys, states;
    Content made = 0;
    for (std::size_t length = 1; length <= prompt.size(); ++length) {
      const Prefix prefix(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(length));
      keys.push_back(bit_of(prefix, false));
      states.push_back(sizes.state_bytes > 0 ? bit_of(prefix, true) : 0);
      made |= keys.back() | states.back();
    }
    std::map<Content, std::int64_t> next;
    for (const auto& [cache, so_far] : best) {
      std::int64_t hit = 0;
      for (std::size_t at = 0; at < keys.size() && (cache & keys[at]) != 0; ++at) {
        const std::int64_t length = trace.unit * static_cast<std::int64_t>(at + 1);
        if ((cache & states[at]) == states[at] && length < tokens) hit = length;
      }
      const Content all = cache | made;
      for (Content kept = all;; kept = (kept - 1) & all) {
        if (fits(kept)) {
          std::int64_t& value = next[kept];
          value = std::max(value, so_far + hit);
        }
        if (kept == 0) break;
      }
    }
    best = std::move(next);
  }
  std::int64_t most = 0;
  for (const auto& [content, tokens] : best) most = std::max(most, tokens);
  return most;
}

RunningBytes nothing(std::int64_t) { return {}; }

}  // namespace

TEST_CASE("law: no policy passes the bound, no schedule passes the best policy, over all contents of 1,000 caches") {
  constexpr int cases = 1000;
  int tight = 0, reached = 0;
  for (int seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    Draw draw(static_cast<std::uint64_t>(seed));
    const SmallTrace trace = random_trace(draw);
    const CacheSizes sizes{.memory_bytes = draw(1, 5), .unit_bytes = draw(1, 2), .state_bytes = draw(0, 2)};
    const ReusePaths paths = trace.paths();
    const std::int64_t exact = best_of_all_policies(trace, sizes);
    const HitCeiling ceiling = hit_ceiling(paths, sizes);
    CHECK(ceiling.tokens >= static_cast<double>(exact) * (1 - 1e-9));
    std::vector<double> price(static_cast<std::size_t>(paths.num_requests() - 1));
    for (double& of_gap : price) of_gap = static_cast<double>(draw(0, 20)) / 3;
    CHECK(hit_bound(paths, sizes, price) >= static_cast<double>(exact) * (1 - 1e-9));
    const OfflineSchedule schedule =
        offline_schedule(paths, sizes, ceiling.price, {.token_bytes = sizes.memory_bytes}, nothing);
    CHECK(schedule.tokens <= exact);
    tight += ceiling.tokens < static_cast<double>(exact) + 1 ? 1 : 0;
    reached += schedule.tokens == exact ? 1 : 0;
  }
  MESSAGE(tight << " bounds are what the best policy finds, " << reached << " schedules find as much");
  CHECK(tight > cases / 2);
  CHECK(reached > cases / 2);
}

TEST_CASE("law: without prices the bound is what endless memory finds") {
  for (int seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Draw draw(static_cast<std::uint64_t>(seed));
    SmallTrace trace = random_trace(draw);
    trace.unit = 1;  // tokens
    const ReusePaths paths = trace.paths();
    TokenExactBound exact;
    exact.consume(trace.batch());
    const std::vector<double> none(static_cast<std::size_t>(paths.num_requests() - 1), 0);
    CHECK(hit_bound(paths, {.memory_bytes = 1, .unit_bytes = 1, .state_bytes = 1}, none) ==
          static_cast<double>(exact.hit_tokens()));
  }
}

TEST_CASE("edge: where all fits the bound, the schedule and endless memory are one; where nothing fits it is little") {
  const SmallTrace trace{.prompts = {{0, 1, 2}, {0, 1, 3}, {4}, {0, 1, 2}}};
  const ReusePaths paths = trace.paths();
  const CacheSizes all{.memory_bytes = 1000, .unit_bytes = 1, .state_bytes = 1};
  // The second request begins as the first one did for two units, the last one for three, of which none is its last
  // token.
  CHECK(hit_ceiling(paths, all).tokens == 50);
  CHECK(offline_schedule(paths, all, {0, 0, 0}, {.token_bytes = 1000}, nothing).tokens == 50);
  // One unit and a state are 4 bytes: never both over the gap.
  const CacheSizes little{.memory_bytes = 3, .unit_bytes = 2, .state_bytes = 2};
  CHECK(best_of_all_policies(trace, little) == 0);
  CHECK(offline_schedule(paths, little, {1, 1, 1}, {.token_bytes = 3}, nothing).tokens == 0);
}

TEST_CASE("rule: a schedule leaves running requests their own bytes, and states an arena of their own") {
  const SmallTrace trace{.prompts = {{0}, {1}, {0}}};
  const ReusePaths paths = trace.paths();
  const CacheSizes sizes{.memory_bytes = 10, .unit_bytes = 4, .state_bytes = 5};
  const auto tokens_with = [&](const ScheduleMemory& memory, const RunningBytes& own) {
    return offline_schedule(paths, sizes, {0, 0}, memory, [&](std::int64_t) { return own; }).tokens;
  };
  CHECK(tokens_with({.token_bytes = 10}, {}) == 10);
  CHECK(tokens_with({.token_bytes = 10}, {.tokens = 1}) == 10);
  CHECK(tokens_with({.token_bytes = 10}, {.tokens = 2}) == 0);
  CHECK(tokens_with({.token_bytes = 10}, {.tokens = 1, .states = 1}) == 0);
  CHECK(tokens_with({.token_bytes = 5, .state_bytes = 5}, {.tokens = 1}) == 10);
  CHECK(tokens_with({.token_bytes = 5, .state_bytes = 5}, {.states = 1}) == 0);
  CHECK(tokens_with({.token_bytes = 3, .state_bytes = 7}, {}) == 0);
}

TEST_CASE("fault: more units than a machine should remember are refused with a way out") {
  TraceBatch batch;
  batch.runs.push_back({std::int64_t{1} << 25, 7});
  batch.requests.push_back({.input_length = std::int64_t{1} << 25, .num_runs = 1});
  ReusePaths paths(1);
  CHECK_THROWS_WITH_AS(paths.consume(batch), doctest::Contains("take fewer requests, or a larger page"), InputError);
}
