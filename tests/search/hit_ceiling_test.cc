#include "search/hit_ceiling.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "search/offline_schedule.h"
#include "simulator/losses/token_exact_bound.h"
#include "tests/search/small_traces.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

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

namespace {

/// Units found by the rule that keeps what is wanted again soonest (Belady), attention alone, all units of one size.
std::int64_t belady(const SmallTrace& trace, std::size_t most_kept) {
  using Prefix = std::vector<int>;
  const auto next_use = [&](const Prefix& prefix, std::size_t after) {
    for (std::size_t later = after + 1; later < trace.prompts.size(); ++later) {
      const auto& prompt = trace.prompts[later];
      if (prompt.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), prompt.begin())) return later;
    }
    return trace.prompts.size();
  };
  std::set<Prefix> cache;
  std::int64_t tokens = 0;
  for (std::size_t now = 0; now < trace.prompts.size(); ++now) {
    const std::vector<int>& prompt = trace.prompts[now];
    bool found = true;
    for (std::size_t length = 1; length <= prompt.size(); ++length) {
      const Prefix prefix(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(length));
      found = found && cache.contains(prefix);
      const bool is_last = length == prompt.size() && trace.tail == 0;  // it holds the last token
      if (found && !is_last) tokens += trace.unit;
    }
    for (std::size_t length = 1; length <= prompt.size(); ++length)
      cache.insert(Prefix(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(length)));
    while (cache.size() > most_kept)
      cache.erase(*std::max_element(cache.begin(), cache.end(), [&](const Prefix& a, const Prefix& b) {
        return std::pair(next_use(a, now), a.size()) < std::pair(next_use(b, now), b.size());
      }));
  }
  return tokens;
}

}  // namespace

TEST_CASE("law: attention alone, in units of one size: at least what Belady's rule finds") {
  int tight = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Draw draw(static_cast<std::uint64_t>(seed));
    SmallTrace trace{.tail = draw(0, 2)};
    trace.prompts.resize(static_cast<std::size_t>(draw(5, 30)));
    for (std::vector<int>& prompt : trace.prompts) {
      prompt.resize(static_cast<std::size_t>(draw(1, 6)));
      for (int& content : prompt) content = static_cast<int>(draw(0, 1));
    }
    const std::int64_t units = draw(1, 12);
    const std::int64_t found = belady(trace, static_cast<std::size_t>(units));
    const HitCeiling ceiling = hit_ceiling(trace.paths(), {.memory_bytes = 7 * units, .unit_bytes = 7});
    CHECK(ceiling.tokens >= static_cast<double>(found) * (1 - 1e-9));
    tight += ceiling.tokens < static_cast<double>(found + trace.unit) ? 1 : 0;
  }
  MESSAGE(tight << " of 1,000 bounds are less than a unit above Belady's rule");
  CHECK(tight > 300);
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

TEST_CASE("edge: memory that is filled to the byte needs no prices, a byte less does") {
  // A unit and a state of the first prompt are kept for the second.
  const ReusePaths paths = SmallTrace{.prompts = {{0}, {0}}}.paths();
  const auto ceiling = [&](std::int64_t memory) {
    return hit_ceiling(paths, {.memory_bytes = memory, .unit_bytes = 4, .state_bytes = 5});
  };
  CHECK(ceiling(9).tokens == 10);
  CHECK(ceiling(9).evaluations == ceiling(1000).evaluations);
  CHECK(ceiling(8).evaluations > ceiling(1000).evaluations);
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

TEST_CASE("fault: prices that are not one for every gap are a bug of the caller") {
  const ReusePaths paths = SmallTrace{.prompts = {{0}, {1}, {0}}}.paths();
  const CacheSizes sizes{.memory_bytes = 10, .unit_bytes = 4, .state_bytes = 5};
  CHECK_THROWS_AS(hit_bound(paths, sizes, {0}), std::logic_error);
  CHECK_NOTHROW(hit_bound(paths, sizes, {0, 0}));
}
