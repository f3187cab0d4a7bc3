// Which blocks vLLM 0.33 takes, keeps, copies and finds again, block by block, worked out by hand.
#include <doctest/doctest.h>

#include <map>

#include "simulator/blocks/cache_manager.h"
#include "simulator/blocks/invariants.h"
#include "tests/simulator/blocks/release_033_cases.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

using Blocks = std::vector<BlockId>;

/// One request in a cache of 0.33, chunk by chunk; a step each.
class Stepped {
 public:
  Stepped(CacheManager& cache, const PromptSegments& prompt) : cache_(cache), blocks_(cache.make_request()) {
    const TraceBatch batch = batch_of({prompt});
    prompt_ = tokens_ = batch.requests[0].input_length;
    prefix_keys(batch.runs, cache.geometry().match_unit(), keys_, cache.geometry().rules.lookahead_tokens);
  }
  PrefixHit look_up() { return hit_ = cache_.look_up(blocks_, prompt()); }
  bool admit(std::int64_t chunk) {
    computed_ = hit_.tokens;
    const bool admitted = cache_.admit(blocks_, prompt(), hit_, chunk, false);
    if (admitted) computed_ += chunk;
    return admitted;
  }
  bool advance(std::int64_t chunk) {
    const bool fits = cache_.advance(blocks_, prompt(), computed_, chunk, junction(cache_.geometry(), hit_));
    if (fits) computed_ += chunk;
    return fits;
  }
  void sampled() { cache_.publish_sampled(blocks_, prompt(), computed_, junction(cache_.geometry(), hit_)); }
  void release() { cache_.release(blocks_); }
  CachedPrompt prompt() const { return {keys_, tokens_, prompt_}; }
  /// One more token is known, and with it a key.
  void generate(PrefixKey key) {
    ++tokens_;
    keys_.push_back(key);
  }
  Blocks states(std::size_t group = 0) const { return blocks_.states[group].with_nulls(); }
  const Blocks& attention(std::size_t group = 0) const { return blocks_.attention[group]; }

 private:
  CacheManager& cache_;
  RequestBlocks blocks_;
  std::vector<PrefixKey> keys_;
  std::int64_t prompt_ = 0, tokens_ = 0, computed_ = 0;
  PrefixHit hit_;
};

/// Runs a step of one chunk.
template <class Chunk>
auto in_step(CacheManager& cache, Chunk&& chunk) {
  cache.begin_step();
  const auto result = chunk();
  cache.end_step();
  return result;
}

CacheGeometry fine_geometry() {
  CacheGeometry geometry = geometry_033(4, 40, 1);
  geometry.match_unit_tokens = 2;
  return geometry;
}

}  // namespace

TEST_CASE("edge: speculative states left of the running column move to the end one by one") {
  CacheGeometry geometry = geometry_033(4, 40, 1);
  geometry.attention_groups = 0;
  geometry.speculative_tokens = 2;
  CacheManager cache(geometry);
  Stepped request(cache, {{1, 30}});
  in_step(cache, [&] { return request.look_up(), request.admit(4); });
  CHECK(request.states() == Blocks{1, 2, 3});
  // One column on: the first speculative block is the running one, a new one joins.
  in_step(cache, [&] { return request.advance(4); });
  CHECK(request.states() == Blocks{1, 2, 3, 4});
  // Two columns on: block 3 lies left of the running column and moves behind 4.
  in_step(cache, [&] { return request.advance(8); });
  CHECK(request.states() == Blocks{0, 2, 0, 4, 3, 1});
}

TEST_CASE("edge: an exported state takes the column before the running one, and its block has that key alone") {
  CacheGeometry geometry = geometry_033(4, 40, 2);
  geometry.rules.checkpoint_blocks = 1;
  geometry.speculative_tokens = 1;
  CacheManager cache(geometry);
  Stepped request(cache, {{1, 22}});
  in_step(cache, [&] { return request.look_up(), request.admit(22); });
  // 22 tokens and one of the drafter's: 6 blocks of attention; then column 4, the running one and a speculative one.
  CHECK(request.attention() == Blocks{1, 2, 3, 4, 5, 6});
  CHECK(request.states(0) == Blocks{0, 0, 0, 0, 7, 8, 9});
  CHECK(request.states(1) == Blocks{0, 0, 0, 0, 10, 11, 12});
  CHECK(cache.pool().num_findable(BlockKind::state) == 2);
  Stepped copy(cache, {{1, 22}});
  CHECK(copy.look_up() == PrefixHit{20, 0});
  CHECK(copy.states(0) == Blocks{0, 0, 0, 0, 7});
}

TEST_CASE("edge: a chunk that exports a state nobody keeps takes its block and enters nothing") {
  CacheGeometry geometry = geometry_033(4, 40, 1);
  geometry.rules.checkpoint_blocks = 1;
  geometry.retention_interval_tokens = 16;
  CacheManager cache(geometry);
  Stepped request(cache, {{1, 40}});
  in_step(cache, [&] { return request.look_up(), request.admit(12); });
  CHECK(request.states() == Blocks{0, 4, 5});
  CHECK(cache.pool().num_findable(BlockKind::state) == 0);
}

TEST_CASE("regression: a chunk that exports enters its first column under a boundary whose state it does not hold") {
  // Found at 6, in the middle of column 1; the whole rest is one chunk, and column 1 keeps the state of 6 tokens.
  CacheGeometry geometry = fine_geometry();
  geometry.rules.checkpoint_blocks = 1;
  geometry.retention_interval_tokens.reset();
  CacheManager cache(geometry);
  Stepped first(cache, {{1, 7}});
  in_step(cache, [&] { return first.look_up(), first.admit(4); });
  in_step(cache, [&] { return first.advance(2); });
  in_step(cache, [&] { return first.advance(1); });
  Stepped second(cache, {{1, 7}, {2, 12}});
  CHECK(in_step(cache, [&] { return second.look_up(); }) == PrefixHit{6, 0});
  in_step(cache, [&] { return second.admit(13); });
  Stepped third(cache, {{1, 7}, {2, 12}});
  CHECK(in_step(cache, [&] { return third.look_up(); }) == PrefixHit{18, 0});
  // Cut behind 8 tokens, the wrong state is the rightmost one.
  Stepped cut(cache, {{1, 7}, {2, 3}, {3, 5}});
  CHECK(in_step(cache, [&] { return cut.look_up(); }) == PrefixHit{8, 0});
}

TEST_CASE("edge: who goes on behind its own tail keeps the block, a fresh one takes over the key") {
  CacheManager cache(fine_geometry());
  Stepped request(cache, {{1, 7}});
  in_step(cache, [&] { return request.look_up(), request.admit(6); });
  CHECK(request.attention() == Blocks{1, 2});
  CHECK(request.states() == Blocks{0, 3});
  cache.begin_step();
  REQUIRE(request.advance(1));
  CHECK(request.states() == Blocks{0, 3});
  REQUIRE(cache.copies().size() == 1);
  CHECK(cache.copies()[0] == BlockCopy{.from = 3, .to = 4, .arena = 0, .let_go = 4, .group = 0});
  CHECK(cache.copied_attention() == 0);
  CHECK(cache.pool().key(3) == 0);
  // Moved in this step, so usable from the next.
  Stepped copy(cache, {{1, 7}});
  CHECK(copy.look_up() == PrefixHit{6, 0});
  CHECK(!copy.admit(1));
  cache.end_step();
  CHECK(cache.pool().is_free(4));
  CHECK(in_step(cache, [&] { return copy.look_up(), copy.admit(1); }));
}

TEST_CASE("edge: a hit inside a block is copied first in every group, and its source goes back with the step") {
  CacheGeometry geometry = fine_geometry();
  geometry.state_groups = 2;
  CacheManager cache(geometry);
  Stepped first(cache, {{1, 7}});
  in_step(cache, [&] { return first.look_up(), first.admit(6); });
  in_step(cache, [&] { return first.advance(1); });
  const Blocks attention = first.attention();
  first.release();
  Stepped second(cache, {{1, 7}, {2, 6}}), third(cache, {{1, 7}, {3, 6}});
  cache.begin_step();
  CHECK(second.look_up() == PrefixHit{6, 0});
  CHECK(third.look_up() == PrefixHit{6, 0});
  REQUIRE(second.admit(2));
  REQUIRE(third.admit(2));
  CHECK(second.attention()[0] == attention[0]);
  CHECK(second.attention()[1] != attention[1]);
  std::vector<std::pair<BlockId, std::int64_t>> order;
  for (const BlockCopy& copy : cache.copies()) order.emplace_back(copy.let_go, copy.group);
  REQUIRE(order.size() == 6);
  const BlockId shared = attention[1], state0 = order[1].first, state1 = order[2].first;
  CHECK((order[0].first == shared && order[3].first == shared));
  CHECK((order[1].second == 0 && order[2].second == 1));
  cache.end_step();
  // Group by group, attention first.
  Blocks queue = ArenaPeek::queue(const_cast<BlockArena&>(cache.pool())).in_order();
  queue.erase(queue.begin(), queue.end() - 3);
  CHECK(queue == Blocks{shared, state0, state1});
}

TEST_CASE("edge: attention's tail gets a second key when its block is full, and is copied by nobody") {
  CacheManager cache(fine_geometry());
  Stepped request(cache, {{1, 7}});
  in_step(cache, [&] { return request.look_up(), request.admit(6); });
  in_step(cache, [&] { return request.advance(1); });
  const BlockId tail = request.attention()[1];
  CHECK(cache.pool().tail_key(tail) != 0);
  CHECK(cache.pool().key(tail) == 0);
  request.generate(4711);
  in_step(cache, [&] { return request.advance(1); });
  CHECK(request.attention()[1] == tail);
  CHECK(cache.pool().tail_key(tail) != 0);
  CHECK(cache.pool().key(tail) != 0);
}

TEST_CASE("edge: a hit that ends at the prompt's own tail leaves the tail's key on the copy too") {
  CacheManager cache(fine_geometry());
  for (int copy = 0; copy < 2; ++copy) {
    Stepped request(cache, {{1, 7}});
    cache.begin_step();
    const PrefixHit hit = request.look_up();
    CHECK(hit.tokens == (copy == 0 ? 0 : 6));
    REQUIRE(request.admit(copy == 0 ? 6 : 1));
    CHECK(cache.pool().tail_key(request.attention()[1]) != 0);
    cache.end_step();
  }
}

TEST_CASE("edge: a state of this step is compared by its key, so an older block with it has to wait too") {
  CacheGeometry geometry = geometry_033(4, 40, 1);
  CacheManager cache(geometry);
  Stepped first(cache, {{1, 6}}), second(cache, {{1, 6}}), third(cache, {{1, 6}});
  // Both miss before either is found.
  cache.begin_step();
  first.look_up();
  second.look_up();
  REQUIRE(first.admit(4));
  cache.end_step();
  cache.begin_step();
  REQUIRE(second.admit(4));
  CHECK(third.look_up() == PrefixHit{4, 0});
  CHECK(third.states() == Blocks{first.states()[0]});
  CHECK(!third.admit(2));
  cache.end_step();
  CHECK(in_step(cache, [&] { return third.look_up(), third.admit(2); }));
}

TEST_CASE("edge: keys that look ahead are published once the next token is known") {
  CacheGeometry geometry = geometry_033(4, 40, 1);
  geometry.retention_interval_tokens.reset();
  geometry.speculative_tokens = geometry.rules.lookahead_tokens = 1;
  CacheManager cache(geometry);
  Stepped request(cache, {{1, 8}});
  in_step(cache, [&] { return request.look_up(), request.admit(4); });
  in_step(cache, [&] { return request.advance(4); });
  CHECK(cache.pool().num_findable(BlockKind::attention) == 1);
  CHECK(cache.pool().num_findable(BlockKind::state) == 1);
  request.generate(4711);
  request.sampled();
  CHECK(cache.pool().num_findable(BlockKind::attention) == 2);
  CHECK(cache.pool().num_findable(BlockKind::state) == 2);
}

TEST_CASE("edge: a drafter of several modules publishes as many tokens later as it has modules but one") {
  CacheGeometry geometry = geometry_033(4, 40, 0);
  geometry.speculative_tokens = geometry.rules.lookahead_tokens = 3;
  CacheManager cache(geometry);
  Stepped request(cache, {{1, 20}});
  in_step(cache, [&] { return request.look_up(), request.admit(9); });
  CHECK(cache.pool().num_findable(BlockKind::attention) == 1);
  in_step(cache, [&] { return request.advance(1); });
  CHECK(cache.pool().num_findable(BlockKind::attention) == 2);
  geometry.rules.attention_drafters = {false};
  CacheManager apart(geometry);
  Stepped other(apart, {{1, 20}});
  in_step(apart, [&] { return other.look_up(), other.admit(9); });
  CHECK(apart.pool().num_findable(BlockKind::attention) == 2);
}

TEST_CASE("edge: a prompt admitted whole may not hold more of a window than the tokens in flight see") {
  CacheGeometry geometry = geometry_033(4, 60, 0);
  geometry.attention_groups = 2;
  geometry.attention_masks = {{}, {MaskKind::sliding_window, 5}};
  geometry.max_num_batched_tokens = 8;
  // 160 tokens: 40 blocks of attention and (4 + 8) / 4 + 1 = 4 of the window.
  const auto admits = [&](std::int64_t blocks) {
    geometry.num_blocks = blocks;
    CacheManager cache(geometry);
    Stepped request(cache, {{1, 160}});
    return in_step(cache, [&] { return request.look_up(), request.admit(8); });
  };
  CHECK(admits(45));
  CHECK(!admits(44));
}

TEST_CASE("edge: a window is found at the last boundary that has all its blocks, not where they are missing") {
  CacheGeometry geometry = geometry_033(4, 60, 0);
  geometry.attention_groups = 2;
  geometry.attention_masks = {{}, {MaskKind::sliding_window, 5}};
  CacheManager cache(geometry);
  Stepped first(cache, {{1, 22}});
  in_step(cache, [&] { return first.look_up(), first.admit(22); });
  // R = 0 keeps block 4 of the window alone, in front of 20.
  Stepped whole(cache, {{1, 22}}), part(cache, {{1, 14}, {2, 8}});
  CHECK(whole.look_up() == PrefixHit{20, 0});
  CHECK((whole.attention(1)[3] == null_block_id && whole.attention(1)[4] == first.attention(1)[4]));
  CHECK(part.look_up() == PrefixHit{0, 12});
  // The junction is kept for the next one.
  in_step(cache, [&] { return part.admit(22); });
  Stepped third(cache, {{1, 14}, {3, 8}});
  CHECK(third.look_up() == PrefixHit{12, 0});
}
