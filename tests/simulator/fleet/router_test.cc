// Routers: what each knows and does, by hand.
#include "simulator/fleet/router.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "simulator/fleet/fleet_replay.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// One group of attention and one of states, blocks of four tokens.
CacheGeometry four_token_blocks(std::int64_t blocks = 100) {
  return {.block_size_tokens = 4, .num_blocks = blocks, .state_groups = 1};
}

FleetResult routed(const CacheGeometry& geometry, std::int64_t replicas, const RouterSettings& router,
                   const TraceBatch& batch, const DriverSpec& driver = {}, const std::vector<double>& slowness = {}) {
  FleetReplay fleet({.replica = {.cache = geometry, .driver = driver},
                     .replicas = replicas,
                     .router = router,
                     .slowness = slowness});
  fleet.consume(batch);
  fleet.finish();
  return fleet.result();
}

std::vector<std::int64_t> requests_of(const FleetResult& result) {
  std::vector<std::int64_t> requests;
  for (const ReplayResult& replica : result.replicas) requests.push_back(counts_of(replica.index).requests);
  return requests;
}

/// Two prompts in turn, each asked again and again.
TraceBatch two_in_turn(int times) {
  std::vector<PromptSegments> prompts;
  for (int i = 0; i < times; ++i) prompts.insert(prompts.end(), {{{1, 21}}, {{2, 21}}});
  return batch_of(prompts);
}

}  // namespace

TEST_CASE("rule: a router remembers so many blocks of a replica, the last ones that it sent there") {
  SentPrompts sent(3);
  sent.add(std::vector<PrefixKey>{1, 2});
  sent.add(std::vector<PrefixKey>{3});
  CHECK(sent.match(std::vector<PrefixKey>{1, 2, 9}) == 2);
  sent.add(std::vector<PrefixKey>{1});
  sent.add(std::vector<PrefixKey>{4});
  CHECK(sent.size() == 3);
  CHECK(sent.match(std::vector<PrefixKey>{1, 2}) == 1);
  CHECK(sent.match(std::vector<PrefixKey>{2}) == 0);
}

TEST_CASE("rule: a conversation is what the trace names, with all that continues it, or how a prompt begins") {
  TraceBatch batch;
  for (int i = 0; i < 5; ++i) add_request(batch, {{i < 3 ? 1u : 2u, 10}, {static_cast<std::uint64_t>(10 + i), 10}});
  const auto named = [&](std::int64_t tokens) {
    SessionNames names(tokens);
    std::vector<std::uint64_t> all;
    for (const TraceRequest& request : batch.requests) all.push_back(names.of(request, batch.prompt(request)));
    return all;
  };
  CHECK(named(10)[0] == named(10)[2]);
  CHECK(named(10)[0] != named(10)[3]);
  CHECK(named(11)[0] != named(11)[2]);
  // Every request has a name of its own: the third continues the first, the fifth the third.
  for (TraceRequest& request : batch.requests) request.chat_id = 100 + request.index;
  batch.requests[2].parent_chat_id = 100;
  batch.requests[4].parent_chat_id = 102;
  CHECK(named(10)[2] == named(10)[0]);
  CHECK(named(10)[4] == named(10)[0]);
  CHECK(named(10)[1] != named(10)[0]);
  CHECK(named(10)[3] != named(10)[1]);
}

TEST_CASE("rule: one after the other, and the least busy") {
  const TraceBatch batch = two_in_turn(6);
  CHECK(requests_of(routed(four_token_blocks(), 3, {.kind = RouterKind::round_robin, .block_tokens = {}}, batch)) ==
        std::vector<std::int64_t>{4, 4, 4});
  CHECK(requests_of(routed(four_token_blocks(), 3, {.kind = RouterKind::least_requests, .block_tokens = {}}, batch)) ==
        std::vector<std::int64_t>{4, 4, 4});
}

TEST_CASE("rule: routers by matches send a prompt where it was before, those without do not") {
  const TraceBatch batch = two_in_turn(6);
  const auto found = [&](RouterKind kind) {
    return routed(four_token_blocks(), 3, {.kind = kind, .block_tokens = 4}, batch).counts.hit_tokens;
  };
  // All but the first of each; a prompt's last token is always computed.
  constexpr std::int64_t all = 2 * 5 * 20;
  CHECK(found(RouterKind::approximate) == all);
  CHECK(found(RouterKind::gateway) == all);
  CHECK(found(RouterKind::precise) == all);
  CHECK(found(RouterKind::states) == all);
  CHECK(found(RouterKind::session) == all);
  CHECK(found(RouterKind::sticky) == all);
  CHECK(found(RouterKind::round_robin) < all);
}

TEST_CASE("rule: events that come late are not known, and a router of other blocks drops them") {
  TraceBatch batch = two_in_turn(4);
  for (TraceRequest& request : batch.requests) request.arrival_seconds = static_cast<double>(request.index);
  const DriverSpec open{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 1e-3}};
  const auto believed = [&](double delay) {
    const RouterSettings late{.kind = RouterKind::states, .block_tokens = {}, .delay_seconds = delay};
    return routed(four_token_blocks(), 2, late, batch, open).routing.believed_tokens;
  };
  CHECK(believed(0) == 2 * 3 * 20);
  // What was computed within the last two seconds is not yet known: the first of each prompt.
  CHECK(believed(1.99) == 2 * 3 * 20);
  CHECK(believed(2.5) < 2 * 3 * 20);
  CHECK(believed(1000) == 0);
  const FleetResult other = routed(four_token_blocks(), 2, {.kind = RouterKind::precise, .block_tokens = 16}, batch);
  CHECK(other.routing.drops_events);
  CHECK(other.routing.believed_tokens == 0);
}

TEST_CASE("rule: a router that reads states as prefixes sees what is not there, and loses attention with the state") {
  const CacheManager cache(four_token_blocks());
  const std::vector<PrefixKey> keys{11, 12, 13, 14};  // of a prompt of 17 tokens
  BlocksBefore before;
  for (std::size_t i = 0; i < keys.size(); ++i) before[keys[i]] = i == 0 ? 0 : keys[i - 1];
  HeardKeys attention(cache, EventReading::attention, 0, [] { return 0.0; }, before);
  HeardKeys sparse(cache, EventReading::sparse, 0, [] { return 0.0; }, before);
  HeardKeys states(cache, EventReading::states, 0, [] { return 0.0; }, before);
  const auto tell = [&](PrefixKey key, bool is_stored) {
    for (HeardKeys* const heard : {&attention, &sparse, &states}) is_stored ? heard->stored(key) : heard->removed(key);
  };
  const auto check = [&](std::int64_t by_attention, std::int64_t by_sparse, std::int64_t by_states) {
    CHECK(attention.match(keys, 17, 0) == by_attention);
    CHECK(sparse.match(keys, 17, 0) == by_sparse);
    CHECK(states.match(keys, 17, 0) == by_states);
  };
  const PrefixKey state = cache.states().group_keys()(keys[3], 0);
  tell(state, true);
  check(0, 16, 0);
  for (const PrefixKey key : keys) tell(cache.attention().group_keys()(key, 0), true);
  check(16, 16, 16);
  CHECK(states.match(keys, 16, 0) == 0);
  tell(state, false);
  check(16, 0, 0);
  tell(cache.states().group_keys()(keys[1], 0), true);
  check(16, 8, 8);
}

TEST_CASE("rule: events are of the first attention group's blocks, in a cache without attention of its states'") {
  CacheGeometry geometry = four_token_blocks();
  geometry.state_block_size_tokens = 8;
  CHECK(event_block(geometry) == 4);
  geometry.attention_groups = 0;
  CHECK(event_block(geometry) == 8);
}

TEST_CASE("rule: a router of states asks for the blocks that a window needs at a place, by the window's own blocks") {
  // Keys stand every 4 tokens. The group that sees 9 tokens has blocks of 8, of which a place needs the one before it.
  CacheGeometry geometry = four_token_blocks();
  geometry.state_groups = 0;
  geometry.attention_groups = 2;
  geometry.attention_block_sizes = {4, 8};
  geometry.attention_masks = {{}, {MaskKind::sliding_window, 9}};
  const CacheManager cache(geometry);
  const BlocksBefore before;
  HeardKeys heard(cache, EventReading::states, 0, [] { return 0.0; }, before);
  const GroupKeys& groups = cache.attention().group_keys();
  const std::vector<PrefixKey> keys{11, 12, 13, 14, 15, 16, 17, 18};  // of a prompt of 33 tokens
  for (const PrefixKey key : keys) heard.stored(groups(key, 0));
  CHECK(heard.match(keys, 33, 0) == 0);
  heard.stored(groups(keys[3], 1));
  CHECK(heard.match(keys, 33, 0) == 16);
  heard.stored(groups(keys[7], 1));
  CHECK(heard.match(keys, 33, 0) == 32);
}

TEST_CASE("rule: a router by scores leaves a match for a free replica where it is too small a part of the prompt") {
  // The first request is in flight. A match counts 3 times its share of the prompt, the shortest queue 2: 32 of 40
  // tokens are worth 2.4, 20 are worth 1.5. The dozen of 4,000 blocks that are held counts for nearly nothing.
  const DriverSpec open{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 5e-3, .per_decode_step = 0.05}};
  const auto requests = [&](std::int64_t shared) {
    TraceBatch batch;
    add_request(batch, {{1, 40}}, 50);
    add_request(batch, {{1, shared}, {2, 40 - shared}}, 50, 0.01);
    return requests_of(
        routed(four_token_blocks(4000), 2, {.kind = RouterKind::approximate, .block_tokens = 4}, batch, open));
  };
  CHECK(requests(32) == std::vector<std::int64_t>{2, 0});
  CHECK(requests(20) == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("rule: whoever is slow gets fewer requests from a router that looks at the queue") {
  TraceBatch batch;
  for (int i = 0; i < 60; ++i) add_request(batch, {{static_cast<std::uint64_t>(i), 40}}, 4, 0.2 * i);
  const DriverSpec open{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 5e-3, .per_decode_step = 0.05}};
  const auto requests = requests_of(
      routed(four_token_blocks(400), 2, {.kind = RouterKind::least_requests, .block_tokens = {}}, batch, open, {1, 8}));
  CHECK(requests[0] > 2 * requests[1]);
}

TEST_CASE("rule: a session stays with its replica until that is too busy beside the others") {
  TraceBatch batch;
  for (int i = 0; i < 40; ++i) {
    add_request(batch, {{1, 40}}, 50, 0.01 * i);
    batch.requests.back().chat_id = 7;
  }
  const DriverSpec open{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 5e-3, .per_decode_step = 0.05}};
  const auto moved = [&](std::int64_t busy) {
    return requests_of(routed(four_token_blocks(4000), 2,
                              {.kind = RouterKind::sticky, .block_tokens = {}, .busy_requests = busy}, batch, open));
  };
  CHECK(moved(100) == std::vector<std::int64_t>{40, 0});
  CHECK(moved(5)[1] > 10);
}

TEST_CASE("rule: a session leaves a replica that has more requests beside the others than it may, not as many") {
  // All three are in flight at once: the third comes to a replica that has two more than the other.
  TraceBatch batch;
  for (int i = 0; i < 3; ++i) {
    add_request(batch, {{1, 40}}, 50, 0.01 * i);
    batch.requests.back().chat_id = 7;
  }
  const DriverSpec open{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 5e-3, .per_decode_step = 0.05}};
  const auto requests = [&](std::int64_t busy) {
    return requests_of(routed(four_token_blocks(4000), 2,
                              {.kind = RouterKind::sticky, .block_tokens = {}, .busy_requests = busy}, batch, open));
  };
  CHECK(requests(2) == std::vector<std::int64_t>{3, 0});
  CHECK(requests(1) == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("fault: routers and fleets that are none") {
  const auto make = [](const FleetSpec& spec) { FleetReplay fleet(spec); };
  const SimulationSpec replica{.cache = four_token_blocks()};
  CHECK_THROWS_WITH(make({.replica = replica, .replicas = 0}),
                    "fleet.replicas: is a number from 1 to 1024, not 0");
  CHECK_THROWS_WITH(make({.replica = replica, .slowness = {1, 2}}), "fleet.slow: names 2 replicas of 1");
  CHECK_THROWS_WITH(make({.replica = replica, .router = {.block_tokens = 0}}),
                    "router.block_tokens: must be at least 1, is 0");
  CHECK_THROWS_WITH(make({.replica = replica, .router = {.block_tokens = {}, .delay_seconds = -1}}),
                    "router.delay_seconds: is a number >= 0, not -1");
}
