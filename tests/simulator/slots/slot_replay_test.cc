// Prompts through the slots of a server: traces worked by hand, bounds, and faults planted.
#include "simulator/slots/slot_replay.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "engines/llama_cpp/rules.h"
#include "planner/plan.h"
#include "planner/tensor_pool_settings.h"
#include "simulator/losses/token_exact_bound.h"
#include "tests/planner/models.h"

using namespace hybridkv;

namespace {

struct SlotRun {
  std::uint64_t content;
  std::int64_t tokens;
};

std::vector<TokenRun> prompt_of(const std::vector<SlotRun>& runs) {
  std::vector<TokenRun> prompt;
  std::uint64_t chain = empty_chain;
  std::int64_t end = 0;
  for (const SlotRun& run : runs) {
    chain = extend_chain(chain, run.content, end);
    end += run.tokens;
    prompt.push_back({end, chain});
  }
  return prompt;
}

/// Runs prompts one after the other, numbered from 0.
struct Server {
  SlotReplay replay;
  std::int64_t next = 0;

  explicit Server(const SlotSettings& settings) : replay(settings) {}
  SlotRecord run(const std::vector<SlotRun>& runs) {
    const std::vector<TokenRun> prompt = prompt_of(runs);
    return replay.run({.index = next++, .input_length = prompt.back().end_token}, prompt);
  }
  std::vector<std::int64_t> checkpoints(std::size_t slot) const {
    std::vector<std::int64_t> tokens;
    for (const SlotCheckpoint& checkpoint : replay.slots()[slot].checkpoints) tokens.push_back(checkpoint.tokens);
    return tokens;
  }
};

using Places = std::vector<std::int64_t>;

constexpr SlotSettings one_slot{.slots = 1, .cells = 100'000};

}  // namespace

TEST_CASE("golden: two prompts share what their runs do, to the token") {
  const auto a = prompt_of({{1, 10}, {2, 20}, {3, 5}});
  CHECK(common_tokens(a, prompt_of({{1, 10}, {2, 20}, {3, 5}})) == 35);
  CHECK(common_tokens(a, prompt_of({{1, 10}, {2, 8}})) == 18);
  CHECK(common_tokens(a, prompt_of({{1, 10}, {2, 8}, {4, 100}})) == 18);
  CHECK(common_tokens(a, prompt_of({{1, 9}, {2, 20}})) == 9);
  CHECK(common_tokens(a, prompt_of({{2, 10}})) == 0);
  CHECK(common_tokens(a, {}) == 0);
}

TEST_CASE("golden: one slot, worked by hand") {
  Server server(one_slot);
  // 2,000 tokens: checkpoints 4 + 512 and 4 tokens before the end.
  CHECK(server.run({{1, 2000}}) == SlotRecord{.index = 0, .input_length = 2000, .slot = 0, .checkpoints_made = 2});
  CHECK(server.checkpoints(0) == Places{1484, 1996});
  // The same again: its last token is computed anew, the state went past it, so the checkpoint at n - 4 is restored.
  CHECK(server.run({{1, 2000}}) == SlotRecord{.index = 1, .input_length = 2000, .slot = 0, .hit_tokens = 1996,
                                              .common_tokens = 1999, .checkpoints_used = 1});
  CHECK(server.checkpoints(0) == Places{1484, 1996});
  // A turn more of the chat: it goes on where the slot's content ends. Older checkpoints near the first one go.
  CHECK(server.run({{1, 2000}, {2, 1000}}) ==
        SlotRecord{.index = 2, .input_length = 3000, .slot = 0, .hit_tokens = 2000, .common_tokens = 2000,
                   .checkpoints_made = 2, .checkpoints_dropped = 1});
  CHECK(server.checkpoints(0) == Places{1484, 2484, 2996});
  // Another question to the first 1,700 tokens: from 1,484, and what lies behind is dropped.
  CHECK(server.run({{1, 1700}, {3, 900}}) ==
        SlotRecord{.index = 3, .input_length = 2600, .slot = 0, .hit_tokens = 1484, .common_tokens = 1700,
                   .checkpoints_made = 2, .checkpoints_used = 1, .checkpoints_dropped = 2});
  CHECK(server.checkpoints(0) == Places{1484, 2084, 2596});
  // One that shares less than the first checkpoint is computed from the start.
  CHECK(server.run({{1, 1000}, {4, 10}}).hit_tokens == 0);
  CHECK(server.checkpoints(0) == Places{494, 1006});
}

TEST_CASE("golden: the slot that shares most takes a prompt, where that is more than a tenth of it") {
  Server server({.slots = 3, .cells = 100'000});
  CHECK(server.run({{1, 1000}}).slot == 2);  // of those never used the last
  CHECK(server.run({{2, 1000}}).slot == 1);
  CHECK(server.run({{1, 101}, {5, 909}}).slot == 0);  // 101 of 1,010: no more than a tenth
  CHECK(server.run({{1, 102}, {6, 908}}).slot == 2);  // 102 of 1,010; slot 0 shares 101
  CHECK(server.run({{1, 1000}, {7, 10}}).slot == 2);
  CHECK(server.run({{8, 500}}).slot == 1);  // used longest ago
}

TEST_CASE("golden: drafts can be taken back without a checkpoint") {
  SlotSettings settings = one_slot;
  settings.rollback_tokens = 3;
  Server server(settings);
  server.run({{1, 2000}});
  CHECK(server.run({{1, 1997}, {2, 5}}).hit_tokens == 1997);
  CHECK(server.run({{1, 1997}, {2, 1}, {3, 5}}).hit_tokens == 1998);  // four are too many: a checkpoint
}

TEST_CASE("golden: as many checkpoints as a slot may have, and older ones a step apart") {
  Server server({.slots = 1, .cells = 1'000'000, .checkpoints = 3, .checkpoint_step = 0});
  std::vector<SlotRun> chat;
  for (std::uint64_t turn = 1; turn <= 4; ++turn) {
    chat.push_back({turn, 1000});
    server.run(chat);
  }
  CHECK(server.checkpoints(0) == Places{2996, 3484, 3996});
  Server apart({.slots = 1, .cells = 1'000'000, .checkpoint_step = 2000});
  chat.clear();
  for (std::uint64_t turn = 1; turn <= 4; ++turn) {
    chat.push_back({turn, 1000});
    apart.run(chat);
  }
  // 484 and 996, then 1,484 and 1,996, ...: those of other requests within 2,000 tokens of the one before are gone.
  CHECK(apart.checkpoints(0) == Places{484, 2996, 3484, 3996});
}

TEST_CASE("golden: where cells do not suffice, other slots are cleared in their order") {
  Server server({.slots = 3, .cells = 2500});
  server.run({{1, 1000}});  // slot 2
  server.run({{2, 1000}});  // slot 1
  const SlotRecord third = server.run({{3, 1000}});
  CHECK(third.slot == 0);
  CHECK(third.checkpoints_dropped == 2);
  CHECK(server.replay.slots()[1].content.empty());
  CHECK(server.replay.slots()[2].tokens() == 1000);
  const SlotRecord too_long = server.run({{1, 2501}});
  CHECK(too_long.status == RequestStatus::refused);
  CHECK(too_long.slot == -1);
  CHECK(server.replay.slots()[2].tokens() == 1000);
}

TEST_CASE("golden: what a prompt generates is held by its slot, and clears others where cells do not suffice") {
  Server server({.slots = 2, .cells = 2500});
  server.run({{1, 1000}});  // slot 1
  SlotRecord record = server.run({{2, 1000}});
  CHECK(record.slot == 0);
  CHECK(server.replay.generate(record, prompt_of({{2, 1000}, {9, 500}})));
  CHECK(record.checkpoints_dropped == 0);
  CHECK(server.replay.slots()[0].tokens() == 1500);
  // The next turn goes on behind what was generated.
  record = server.run({{2, 1000}, {9, 500}, {3, 1}});
  CHECK(record.hit_tokens == 1500);
  CHECK(server.replay.slots()[1].content.empty());
  record = server.run({{1, 900}});
  CHECK(record.slot == 1);
  CHECK(server.replay.generate(record, prompt_of({{1, 900}, {9, 99}})));
  CHECK(server.replay.slots()[0].tokens() == 1501);
  CHECK(server.replay.generate(record, prompt_of({{1, 900}, {9, 100}})));
  CHECK(server.replay.slots()[0].content.empty());
  CHECK(record.checkpoints_dropped == 2);  // at 484 and 996
  CHECK(!server.replay.generate(record, prompt_of({{1, 900}, {9, 1601}})));
  CHECK(server.replay.slots()[1].tokens() == 1000);
}

TEST_CASE("edge: without checkpoints only what a slot ends with is continued; settings out of range are refused") {
  SlotSettings settings = one_slot;
  settings.checkpoints = 0;
  Server server(settings);
  server.run({{1, 2000}});
  CHECK(server.run({{1, 2000}}).hit_tokens == 0);
  CHECK(server.run({{1, 2000}, {2, 5}}).hit_tokens == 2000);
  settings.slots = 0;
  CHECK_THROWS_WITH_AS(SlotReplay{settings}, doctest::Contains("slots.slots: must be at least 1, is 0"), SpecError);
}

TEST_CASE("rule: a plan says how many slots, cells and checkpoints there are") {
  EngineSpec engine{.rules = &rules_of_llama_cpp, .tensor_parallel = 2, .strategy = Strategy::sequence_rows,
                    .cache_mode = CacheMode::align, .memory_bytes = 40 * testing::gib};
  engine.speculative_tokens = 2;
  engine.max_running_requests = 6;
  engine.own.set(row_key::ctx_checkpoints, 7);
  engine.own.set(row_key::checkpoint_min_step, 100);
  const CachePlan plan = make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {32'768}});
  CHECK(slot_settings_of(plan) == SlotSettings{.slots = 6, .cells = plan.arenas[0].num_ids, .checkpoints = 7,
                                               .checkpoint_step = 100, .rollback_tokens = 2});
}

namespace {

/// What a server does wrong.
enum class Mistake { none, rolls_back, loses_states, counts_last_token };

/// The states that a slot really has: where it ends, and its checkpoints, each with the content that it was made of.
struct Truth {
  std::vector<TokenRun> content;
  std::map<std::int64_t, std::vector<TokenRun>> checkpoints;
};

/// Checks one request against the states that there were; "" where it is right.
std::string broken(const Truth& before, const SlotRecord& record, const std::vector<TokenRun>& prompt,
                   std::int64_t bound, Mistake mistake) {
  std::int64_t hit = record.hit_tokens;
  if (mistake == Mistake::rolls_back) hit = record.common_tokens;
  if (mistake == Mistake::counts_last_token && record.common_tokens + 1 == record.input_length)
    hit = record.input_length;
  if (hit > bound) return "a hit is longer than the token-exact bound";
  if (hit == 0) return "";
  const auto agrees = [&](const std::vector<TokenRun>& content) { return common_tokens(content, prompt) >= hit; };
  const std::int64_t end = before.content.empty() ? 0 : before.content.back().end_token;
  if (hit == end && agrees(before.content)) return "";
  const auto found = before.checkpoints.find(hit);
  if (found == before.checkpoints.end()) return "a hit lies where no state is";
  return agrees(found->second) ? "" : "a hit takes the state of another prefix";
}

/// Random chats and questions through a few slots, checked after every one of them.
bool check_replays(Mistake mistake) {
  return rc::check([&] {
    SlotSettings settings;
    settings.slots = *rc::gen::inRange<std::int64_t>(1, 4);
    settings.cells = *rc::gen::inRange<std::int64_t>(60, 400);
    settings.checkpoints = *rc::gen::inRange<std::int64_t>(0, 5);
    settings.checkpoint_step = *rc::gen::inRange<std::int64_t>(0, 40);
    settings.step_tokens = *rc::gen::inRange<std::int64_t>(1, 20);
    SlotReplay replay(settings);
    TokenExactBound exact;
    std::vector<Truth> truths(static_cast<std::size_t>(settings.slots));
    for (std::int64_t index = 0; index < 40; ++index) {
      std::vector<SlotRun> runs;
      for (int i = *rc::gen::inRange(1, 5); i > 0; --i)
        runs.push_back({*rc::gen::inRange<std::uint64_t>(0, 3), *rc::gen::inRange<std::int64_t>(1, 30)});
      const std::vector<TokenRun> prompt = prompt_of(runs);
      const SlotRecord record = replay.run({.index = index, .input_length = prompt.back().end_token}, prompt);
      const std::int64_t bound = exact.match(prompt);
      if (record.status != RequestStatus::ok) continue;
      Truth& truth = truths[static_cast<std::size_t>(record.slot)];
      RC_ASSERT(broken(truth, record, prompt, bound, mistake) == "");
      const ServerSlot& slot = replay.slots()[static_cast<std::size_t>(record.slot)];
      truth.content = prompt;
      if (mistake == Mistake::loses_states) continue;
      std::map<std::int64_t, std::vector<TokenRun>> kept;
      for (const SlotCheckpoint& checkpoint : slot.checkpoints) {
        const auto old = truth.checkpoints.find(checkpoint.tokens);
        const bool is_new = checkpoint.request == index;
        RC_ASSERT(is_new || old != truth.checkpoints.end());
        kept[checkpoint.tokens] = is_new ? prompt : old->second;
        RC_ASSERT(common_tokens(kept[checkpoint.tokens], prompt) >= checkpoint.tokens);
      }
      RC_ASSERT(std::ssize(slot.checkpoints) <= settings.checkpoints);
      RC_ASSERT(std::is_sorted(slot.checkpoints.begin(), slot.checkpoints.end(),
                               [](const auto& a, const auto& b) { return a.tokens < b.tokens; }));
      truth.checkpoints = std::move(kept);
      std::int64_t cells = 0;
      for (std::size_t i = 0; i < truths.size(); ++i) {
        cells += replay.slots()[i].tokens();
        if (replay.slots()[i].content.empty()) truths[i] = {};
      }
      RC_ASSERT(cells <= settings.cells);
    }
  });
}

}  // namespace

TEST_CASE("law: a hit never exceeds the token-exact bound, and lies where a state of that very prefix is") {
  CHECK(check_replays(Mistake::none));
}

TEST_CASE("fault: states that are rolled back, found though they are lost, or at the last token are caught") {
  CHECK_FALSE(check_replays(Mistake::rolls_back));
  CHECK_FALSE(check_replays(Mistake::loses_states));
  CHECK_FALSE(check_replays(Mistake::counts_last_token));
}
