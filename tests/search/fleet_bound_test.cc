// The bound of a memory as large as all replicas have together is one of every fleet.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "search/hit_ceiling.h"
#include "simulator/fleet/fleet_replay.h"
#include "tests/search/small_traces.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

using Content = std::uint32_t;  // of a cache: a bit each for K and V of a prefix's last unit and for its state

/// What a prompt finds in a cache and leaves there.
struct SmallPrompt {
  std::vector<Content> keys, states;
  Content made = 0;
  std::int64_t unit = 0, tokens = 0;

  std::int64_t found(Content cache) const {
    std::int64_t hit = 0;
    for (std::size_t at = 0; at < keys.size() && (cache & keys[at]) != 0; ++at) {
      const std::int64_t length = unit * static_cast<std::int64_t>(at + 1);
      if ((cache & states[at]) == states[at] && length < tokens) hit = length;
    }
    return hit;
  }
};

/// Every way to send the prompts to two caches, and every content of either after every prompt.
std::int64_t best_of_two(const SmallTrace& trace, const CacheSizes& each) {
  std::map<std::pair<std::vector<int>, bool>, Content> bits;
  std::vector<std::int64_t> item_bytes;
  const auto bit_of = [&](const std::vector<int>& prefix, bool is_state) {
    const auto [entry, is_new] = bits.try_emplace({prefix, is_state}, Content{1} << bits.size());
    if (is_new) item_bytes.push_back(is_state ? each.state_bytes : each.unit_bytes);
    return entry->second;
  };
  const auto fits = [&](Content content) {
    std::int64_t bytes = 0;
    for (std::size_t item = 0; item < item_bytes.size(); ++item) bytes += (content >> item & 1) * item_bytes[item];
    return bytes <= each.memory_bytes;
  };
  std::map<std::pair<Content, Content>, std::int64_t> best{{{0, 0}, 0}};
  for (const std::vector<int>& units : trace.prompts) {
    SmallPrompt prompt{.unit = trace.unit, .tokens = trace.unit * std::ssize(units) + trace.tail};
    for (std::size_t length = 1; length <= units.size(); ++length) {
      const std::vector<int> prefix(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(length));
      prompt.keys.push_back(bit_of(prefix, false));
      prompt.states.push_back(each.state_bytes > 0 ? bit_of(prefix, true) : 0);
      prompt.made |= prompt.keys.back() | prompt.states.back();
    }
    std::map<std::pair<Content, Content>, std::int64_t> next;
    for (const auto& [caches, so_far] : best)
      for (const bool second : {false, true}) {
        const Content mine = second ? caches.second : caches.first, other = second ? caches.first : caches.second;
        const std::int64_t value = so_far + prompt.found(mine);
        const Content all = mine | prompt.made;
        for (Content kept = all;; kept = (kept - 1) & all) {
          if (fits(kept)) {
            // Which of the two is which does not matter.
            std::int64_t& known = next[std::minmax(kept, other)];
            known = std::max(known, value);
          }
          if (kept == 0) break;
        }
      }
    best = std::move(next);
  }
  std::int64_t most = 0;
  for (const auto& [caches, tokens] : best) most = std::max(most, tokens);
  return most;
}

}  // namespace

TEST_CASE("law: no fleet finds more than the bound of all its memory, 1,000 random fleets") {
  std::int64_t near = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    CacheGeometry geometry{.block_size_tokens = dice.roll(1, 5), .num_blocks = dice.roll(8, 40)};
    geometry.state_groups = dice.roll(0, 3);
    if (geometry.state_groups > 0) geometry.scheduler.checkpoint_back = dice.roll(0, 2);
    const std::int64_t replicas = dice.roll(1, 4);
    const TraceBatch batch = random_batch(dice, 40, 40, 0);
    ReusePaths paths(geometry.block_size_tokens);
    paths.consume(batch);
    const double most = hit_ceiling(paths, {.memory_bytes = (geometry.num_blocks - 1) * replicas,
                                            .unit_bytes = 1,
                                            .state_bytes = geometry.state_groups}).tokens;
    const auto kinds = values_of(router_kind_names);
    FleetReplay fleet({.replica = {.cache = geometry},
                       .replicas = replicas,
                       .router = {.kind = kinds[static_cast<std::size_t>(dice.roll(0, std::ssize(kinds) - 1))],
                                  .seed = seed,
                                  .block_tokens = {}}});
    fleet.consume(batch);
    fleet.finish();
    const std::int64_t found = fleet.result().counts.hit_tokens;
    REQUIRE(static_cast<double>(found) <= most + 1e-6);
    near += found > 0 && static_cast<double>(found) > 0.8 * most ? 1 : 0;
  }
  CHECK(near > 50);
}

TEST_CASE("law: no assignment to two caches and no eviction in them passes the bound of both, 300 small traces") {
  int tight = 0;
  constexpr int cases = 300;
  for (int seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    Draw draw(static_cast<std::uint64_t>(seed));
    const SmallTrace trace = random_trace(draw);
    const CacheSizes each{.memory_bytes = draw(1, 3), .unit_bytes = draw(1, 2), .state_bytes = draw(0, 2)};
    CacheSizes both = each;
    both.memory_bytes *= 2;
    const std::int64_t exact = best_of_two(trace, each);
    const double bound = hit_ceiling(trace.paths(), both).tokens;
    CHECK(bound >= static_cast<double>(exact) * (1 - 1e-9));
    tight += bound < static_cast<double>(exact) + 1 ? 1 : 0;
  }
  CHECK(tight > cases / 4);
}
