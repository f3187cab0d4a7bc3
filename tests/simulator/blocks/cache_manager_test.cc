// The fast cache against the slow one: the same random requests must give the same hits, blocks and evictions.
#include "simulator/blocks/cache_manager.h"

#include <doctest/doctest.h>

#include "simulator/blocks/prefill_chunk.h"
#include "tests/simulator/blocks/cache_ref.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// One request in both caches.
struct Twin {
  CacheRef::Request slow;
  RequestBlocks fast;
  std::vector<PrefixKey> keys;
  std::int64_t computed = 0;
  bool running = false;
  CachedPrompt prompt() const { return {keys, slow.prompt}; }
};

CacheRef::Tokens tokens_of(const PromptSegments& prompt) {
  CacheRef::Tokens tokens;
  for (const Segment& segment : prompt)
    for (std::int64_t i = 0; i < segment.tokens; ++i) tokens.push_back(segment.id * 1000 + tokens.size());
  return tokens;
}

/// Drives both caches through the same random steps.
class TwinRun {
 public:
  TwinRun(const CacheGeometry& geometry, std::uint64_t seed) : dice_(seed), slow_(geometry), fast_(geometry) {
    for (const PromptSegments& prompt : random_prompts(dice_, 14, 40)) {
      Twin twin;
      twin.slow.tokens = tokens_of(prompt);
      twin.slow.prompt = std::ssize(twin.slow.tokens);
      twin.fast = fast_.make_request();
      // Tokens it will generate are known to nobody else.
      for (int i = 0; i < 12; ++i) twin.slow.tokens.push_back(~std::uint64_t{0} - 100 * twins_.size());
      const TraceBatch batch = batch_of({prompt});
      prefix_keys(batch.runs, geometry.match_unit(), twin.keys);
      const std::int64_t all_units = std::ssize(twin.slow.tokens) / geometry.match_unit();
      for (std::int64_t units = std::ssize(twin.keys) + 1; units <= all_units; ++units)
        twin.keys.push_back(prefix_key(twins_.size() + 7, units * geometry.match_unit()));
      twins_.push_back(std::move(twin));
    }
  }

  void run() {
    for (int step = 0; step < 60; ++step) {
      slow_.begin_step();
      fast_.begin_step();
      for (int action = 0; action < 3; ++action) act(twins_[dice_.roll(0, std::ssize(twins_) - 1)]);
      slow_.end_step();
      fast_.end_step();
      compare();
    }
  }

 private:
  void act(Twin& twin) {
    if (!twin.running) {
      start(twin);
    } else if (dice_.chance(20) || twin.computed == std::ssize(twin.slow.tokens)) {
      stop(twin);
    } else {
      go_on(twin);
    }
  }

  void start(Twin& twin) {
    const PrefixHit hit = fast_.look_up(twin.fast, twin.prompt());
    const auto [tokens, uncached] = slow_.look_up(twin.slow);
    REQUIRE(hit.tokens == tokens);
    REQUIRE(hit.uncached_common == uncached);
    const std::int64_t chunk = next_chunk(twin, tokens, uncached);
    const bool keep_watermark = dice_.chance(20);
    if (chunk == 0) return;
    twin.running = fast_.admit(twin.fast, twin.prompt(), hit, chunk, keep_watermark);
    REQUIRE(twin.running == slow_.admit(twin.slow, chunk, keep_watermark));
    if (twin.running) twin.computed = tokens + chunk;
  }

  /// Both caches must cut the prompt at the same token.
  std::int64_t next_chunk(const Twin& twin, std::int64_t start, std::int64_t uncached) {
    const std::int64_t tokens = budget();
    const std::int64_t chunk = slow_.next_chunk(twin.slow, start, uncached, tokens);
    REQUIRE(next_prefill_chunk(slow_.g, {start, twin.slow.prompt, uncached}, tokens) == chunk);
    return chunk;
  }

  void go_on(Twin& twin) {
    const std::int64_t chunk = twin.computed < twin.slow.prompt ? next_chunk(twin, twin.computed, 0) : 1;
    if (chunk == 0) return;
    const bool fits = fast_.advance(twin.fast, twin.prompt(), twin.computed, chunk, twin.slow.branch);
    REQUIRE(fits == slow_.advance(twin.slow, twin.computed, chunk));
    if (fits) {
      twin.computed += chunk;
    } else {
      stop(twin);
    }
  }

  void stop(Twin& twin) {
    fast_.release(twin.fast);
    slow_.free(twin.slow);
    twin.running = false;
  }

  void compare() {
    for (std::size_t arena = 0; arena < fast_.pools().size(); ++arena)
      REQUIRE(fast_.pools()[arena].num_free() == slow_.num_free(arena));
    REQUIRE(fast_.evictions() == slow_.evictions);
    for (const Twin& twin : twins_) {
      if (!twin.running) continue;
      REQUIRE(same(twin.fast.attention, twin.slow.attention));
      for (std::size_t group = 0; group < twin.fast.states.size(); ++group) {
        auto table = twin.slow.states[group];
        table.insert(table.end(), twin.slow.spare[group].begin(), twin.slow.spare[group].end());
        REQUIRE(same({twin.fast.states[group].with_nulls()}, {table}));
      }
    }
  }

  static bool same(const std::vector<std::vector<BlockId>>& fast, const std::vector<std::vector<int>>& slow) {
    return std::equal(fast.begin(), fast.end(), slow.begin(), slow.end(), [](const auto& a, const auto& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [](BlockId x, int y) { return x == static_cast<BlockId>(y); });
    });
  }

  std::int64_t budget() { return dice_.roll(slow_.g.checkpoint_step(), slow_.g.max_num_batched_tokens); }

  Dice dice_;
  CacheRef slow_;
  CacheManager fast_;
  std::vector<Twin> twins_;
};

}  // namespace

TEST_CASE("law: the cache equals a slow reference that compares tokens, over 1500 random runs") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Dice dice(seed + 10000);
    CacheGeometry geometry = random_geometry(dice);
    geometry.scheduler.watermark = 0.1;
    TwinRun(geometry, seed).run();
  }
}

TEST_CASE("law: so it does with several arenas and blocks of unequal size, over 1500 random runs") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Dice dice(seed + 20000);
    CacheGeometry geometry = random_arenas(dice);
    geometry.scheduler.watermark = 0.1;
    TwinRun(geometry, seed).run();
  }
}
