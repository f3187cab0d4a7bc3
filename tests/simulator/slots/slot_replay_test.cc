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
#include "planner/row_settings.h"
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
  /// The same, and what it generates but for its last token.
  SlotRecord run(const std::vector<SlotRun>& runs, std::uint64_t content, std::int64_t generated) {
    std::vector<SlotRun> all = runs;
    all.push_back({content, generated});
    const std::vector<TokenRun> prompt = prompt_of(runs), held = prompt_of(all);
    return replay.run({.index = next++, .input_length = prompt.back().end_token}, prompt, {.held = held});
  }
  std::vector<std::int64_t> checkpoints(std::size_t slot) const {
    std::vector<std::int64_t> tokens;
    for (const SlotCheckpoint& checkpoint : replay.slots()[slot].checkpoints) tokens.push_back(checkpoint.tokens);
    return tokens;
  }
};

using Places = std::vector<std::int64_t>;

/// Nothing is saved but checkpoints.
constexpr SlotSettings one_slot{.slots = 1, .cells = 100'000, .saved_bytes = 0};

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
  // The same again: its last token is computed anew, so the checkpoint at n - 4 is restored, and made once more.
  CHECK(server.run({{1, 2000}}) ==
        SlotRecord{.index = 1, .input_length = 2000, .slot = 0, .hit_tokens = 1996, .common_tokens = 1999,
                   .checkpoints_made = 1, .checkpoints_used = 1, .checkpoints_dropped = 1});
  CHECK(server.checkpoints(0) == Places{1484, 1996});
  // A turn more of the chat goes on where the slot's content ends. Nothing goes while the list is not full.
  CHECK(server.run({{1, 2000}, {2, 1000}}) == SlotRecord{.index = 2, .input_length = 3000, .slot = 0,
                                                         .hit_tokens = 2000, .common_tokens = 2000,
                                                         .checkpoints_made = 2});
  CHECK(server.checkpoints(0) == Places{1484, 1996, 2484, 2996});
  // Another question to the first 1,700 tokens: from 1,484, and what lies behind is erased. It goes on behind n - 516
  // nowhere, so that the checkpoint at its place is not made again.
  CHECK(server.run({{1, 1700}, {3, 900}}) ==
        SlotRecord{.index = 3, .input_length = 2600, .slot = 0, .hit_tokens = 1484, .common_tokens = 1700,
                   .checkpoints_made = 2, .checkpoints_used = 1, .checkpoints_dropped = 3});
  CHECK(server.checkpoints(0) == Places{1484, 2084, 2596});
  // One that shares less than the first checkpoint is computed from the start.
  CHECK(server.run({{1, 1000}, {4, 10}}).hit_tokens == 0);
  CHECK(server.checkpoints(0) == Places{494, 1006});
}

TEST_CASE("golden: 300 tokens in batches of 128 and passes of 32, and a prompt that goes on at 301") {
  Server server({.slots = 1, .cells = 4096, .batch_tokens = 128, .step_tokens = 32, .saved_bytes = 0});
  std::vector<std::int64_t> steps;
  server.replay.on_event = [&](const SlotEvent& event) {
    if (event.kind == SlotEventKind::chunk) steps.push_back(event.tokens);
  };
  server.run({{1, 300}}, 9, 1);
  CHECK(steps == Places{0, 128, 256, 264, 296});
  CHECK(server.checkpoints(0) == Places{264, 296});
  steps.clear();
  CHECK(server.run({{1, 300}, {9, 1}, {2, 21}}).hit_tokens == 301);
  CHECK(steps == Places{301, 318});
  CHECK(server.checkpoints(0) == Places{264, 296, 301, 318});
}

TEST_CASE("golden: the slot that shares most takes a prompt, where that is more than a tenth of it") {
  Server server({.slots = 3, .cells = 100'000, .saved_bytes = 0});
  CHECK(server.run({{1, 1000}}).slot == 2);  // of those never used the last
  CHECK(server.run({{2, 1000}}).slot == 1);
  CHECK(server.run({{1, 101}, {5, 909}}).slot == 0);  // 101 of 1,010: no more than a tenth
  CHECK(server.run({{1, 102}, {6, 908}}).slot == 2);  // 102 of 1,010; slot 0 shares 101
  CHECK(server.run({{1, 1000}, {7, 10}}).slot == 2);
  CHECK(server.run({{8, 500}}).slot == 1);  // used longest ago
}

TEST_CASE("golden: by default one slot holds anything, and a saved prompt comes back whole") {
  Server server({.slots = 2, .cells = 100'000});
  server.run({{1, 2000}});
  CHECK(server.run({{2, 1000}}).prompts_saved == 1);
  CHECK(server.replay.slots()[1].content.empty());
  CHECK(server.replay.saved().tokens() == 2000);
  // It is loaded, the slot it comes into was the one used longest ago, and the other one is saved and cleared.
  const SlotRecord back = server.run({{1, 2000}, {3, 10}});
  CHECK(back.slot == 1);
  CHECK(back.loaded_tokens == 2000);
  CHECK(back.hit_tokens == 2000);
  CHECK(server.replay.slots()[0].content.empty());
  CHECK(server.replay.saved().tokens() == 1000);
}

TEST_CASE("golden: checkpoints thin out only where the list would be full with one more") {
  std::vector<SlotRun> chat;
  Server full({.slots = 1, .cells = 1'000'000, .checkpoints = 3, .checkpoint_step = 0, .saved_bytes = 0});
  Server apart({.slots = 1, .cells = 1'000'000, .checkpoints = 5, .checkpoint_step = 2000, .saved_bytes = 0});
  for (std::uint64_t turn = 1; turn <= 4; ++turn) {
    chat.push_back({turn, 1000});
    full.run(chat);
    apart.run(chat);
  }
  CHECK(full.checkpoints(0) == Places{2996, 3484, 3996});
  // 484 and 996, then 1,484 and 1,996; from then on every new one drops the second, which lies near the first.
  CHECK(apart.checkpoints(0) == Places{484, 2996, 3484, 3996});
}

TEST_CASE("golden: where cells do not suffice, the first other slot gives way, while generating too") {
  Server server({.slots = 3, .cells = 2500, .saved_bytes = 0});
  server.run({{1, 1000}});  // slot 2
  server.run({{2, 1000}});  // slot 1
  const SlotRecord third = server.run({{3, 1000}});
  CHECK(third.slot == 0);
  CHECK(third.checkpoints_dropped == 2);
  CHECK(server.replay.slots()[1].content.empty());
  CHECK(server.replay.slots()[2].tokens() == 1000);
  const SlotRecord generating = server.run({{3, 1000}}, 9, 501);
  CHECK(generating.checkpoints_dropped == 2 + 1);  // of slot 2, and the one at n - 4, which is made again
  CHECK(server.replay.slots()[2].content.empty());
  CHECK(server.replay.slots()[0].tokens() == 1501);
}

TEST_CASE("golden: a prompt as long as a slot's context is refused once idle slots were saved, and is the last used") {
  Server server({.slots = 2, .cells = 4000, .unified = false});
  CHECK(server.replay.settings().context_of_slot() == 2000);
  server.run({{1, 100}});  // slot 1
  const SlotRecord refused = server.run({{2, 2000}});
  CHECK(refused.status == RequestStatus::refused);
  CHECK(refused.slot == 0);
  CHECK(refused.prompts_saved == 1);
  CHECK(server.run({{3, 1999}}).slot == 1);
  // What a slot generates ends with its context, whose last token is never computed.
  CHECK(server.run({{4, 1000}}, 9, 5000).slot == 0);
  CHECK(server.replay.slots()[0].tokens() == 1999);
}

TEST_CASE("golden: messages of the user leave checkpoints, the last one always, others where none lies near") {
  SlotSettings settings = one_slot;
  settings.checkpoint_step = 1000;
  SlotReplay replay(settings);
  const std::vector<TokenRun> prompt = prompt_of({{1, 4000}});
  const std::vector<std::int64_t> starts{500, 900, 1600, 2000};
  replay.run({.index = 0, .input_length = 4000}, prompt, {.message_starts = starts});
  Places made;
  for (const SlotCheckpoint& checkpoint : replay.slots()[0].checkpoints) made.push_back(checkpoint.tokens);
  CHECK(made == Places{500, 1600, 2000, 3484, 3996});
}

TEST_CASE("golden: with a window nothing is found again, as no state lies a window behind what is shared") {
  SlotSettings settings = one_slot;
  settings.window_tokens = 1024;
  Server server(settings);
  server.run({{1, 2000}});
  CHECK(server.run({{1, 2000}, {2, 10}}).hit_tokens == 0);
  CHECK(server.run({{1, 2000}, {2, 1500}}).hit_tokens == 0);
  settings.window_tokens = 500;
  Server narrow(settings);
  narrow.run({{1, 2000}});
  CHECK(narrow.run({{1, 2000}, {2, 10}}).hit_tokens == 1484);
}

TEST_CASE("golden: a checkpoint one token past the place is restored for another token, which is told") {
  SlotSettings settings = one_slot;
  settings.batch_tokens = 128;
  settings.step_tokens = 32;
  Server server(settings);
  server.run({{9, 154}});                      // checkpoints at 118 and 150
  server.run({{9, 151}, {50, 4}});             // at 150, 151
  CHECK(server.checkpoints(0) == Places{118, 150, 151});
  CHECK(server.run({{9, 150}, {51, 240}}).hit_tokens == 150);
  const SlotRecord wrong = server.run({{9, 150}, {51, 1}, {52, 30}});
  CHECK(wrong.hit_tokens == 151);
  CHECK(wrong.restored_stale);
  settings.keeps_one_past = false;
  Server right(settings);
  right.run({{9, 154}});
  right.run({{9, 151}, {50, 4}});
  right.run({{9, 150}, {51, 240}});
  CHECK(right.checkpoints(0) == Places{118, 150, 354, 386});
  const SlotRecord before = right.run({{9, 150}, {51, 1}, {52, 30}});
  CHECK(before.hit_tokens == 150);
  CHECK_FALSE(before.restored_stale);
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
  if (agrees(found->second) != record.restored_stale) return "";
  return "a hit takes the state of another prefix, or is said to";
}

/// Random chats and questions through a few slots, checked after every one of them.
bool check_replays(Mistake mistake) {
  return rc::check([&] {
    SlotSettings settings;
    settings.slots = *rc::gen::inRange<std::int64_t>(1, 4);
    settings.cells = *rc::gen::inRange<std::int64_t>(60, 400);
    settings.unified = *rc::gen::arbitrary<bool>();
    settings.saved_bytes = 0;
    settings.batch_tokens = *rc::gen::inRange<std::int64_t>(1, 64);
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
        // One that is a token longer than what is shared stays.
        RC_ASSERT(common_tokens(kept[checkpoint.tokens], prompt) >= checkpoint.tokens - 1);
      }
      RC_ASSERT(std::ssize(slot.checkpoints) <= settings.checkpoints);
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
