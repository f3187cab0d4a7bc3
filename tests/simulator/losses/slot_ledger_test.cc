// What the slots of a server compute again, by cause: a slow twin on random workloads, and causes worked out by hand.
#include "simulator/losses/slot_ledger.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "simulator/losses/token_exact_bound.h"
#include "tests/simulator/tree/tree_workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// A state that some slot has or had: a sequence, and where in it.
struct Made {
  std::vector<TokenRun> content;
  std::int64_t tokens = 0;
};

/// The longest of these from which a prompt could go on.
std::int64_t longest_of(const std::vector<Made>& states, std::span<const TokenRun> prompt, std::int64_t allowed) {
  std::int64_t longest = 0;
  for (const Made& state : states)
    if (state.tokens <= std::min(allowed, common_tokens(state.content, prompt)))
      longest = std::max(longest, state.tokens);
  return longest;
}

std::vector<Made> held_by(const SlotReplay& replay) {
  std::vector<Made> states;
  for (const ServerSlot& slot : replay.slots()) {
    if (!slot.content.empty()) states.push_back({slot.content, slot.tokens()});
    for (const SlotCheckpoint& checkpoint : slot.checkpoints) states.push_back({slot.content, checkpoint.tokens});
  }
  return states;
}

/// Every request's loss, each checked against what a search through all states that there ever were says.
std::vector<ReuseLoss> losses_of(const SlotSettings& settings, const TraceBatch& batch) {
  SlotReplay replay(settings), alone(settings);
  SlotLedger ledger(replay);
  TokenExactBound exact;
  std::vector<Made> ever;
  std::vector<ReuseLoss> losses;
  ReuseLoss sum;
  for (const TraceRequest& request : batch.requests) {
    const std::span<const TokenRun> prompt = batch.prompt(request);
    const std::vector<Made> held = held_by(replay);
    ledger.expect(request, prompt);
    const SlotRecord record = replay.run(request, prompt);
    REQUIRE(record == alone.run(request, prompt));
    const ReuseLoss loss = ledger.end(record);
    const std::int64_t allowed = exact.match(prompt);
    REQUIRE(loss.token_exact_tokens == allowed);
    REQUIRE(loss.found_tokens == (record.status == RequestStatus::ok ? record.hit_tokens : 0));
    REQUIRE(loss.token_exact_tokens == loss.found_tokens + loss.total());
    for (const std::int64_t lost : loss.lost) REQUIRE(lost >= 0);
    if (record.status == RequestStatus::ok && settings.checkpoints > 1) {
      const std::int64_t hit = record.hit_tokens;
      const std::int64_t best_ever = std::max(hit, longest_of(ever, prompt, allowed));
      const std::int64_t best_held = std::max(hit, longest_of(held, prompt, allowed));
      REQUIRE(loss.of(LossCause::no_state) == allowed - best_ever);
      REQUIRE(loss.of(LossCause::other_group) == best_held - hit);
      REQUIRE(loss.of(LossCause::dropped) + loss.of(LossCause::state_evicted) == best_ever - best_held);
      for (const Made& state : held_by(replay)) ever.push_back(state);
    }
    losses.push_back(loss);
    sum += loss;
  }
  REQUIRE(sum == ledger.stats().total);
  return losses;
}

ReuseLoss last_loss(const SlotSettings& settings, const std::vector<PromptSegments>& prompts) {
  return losses_of(settings, batch_of(prompts)).back();
}

ReuseLoss expected_of(std::int64_t found, std::vector<std::pair<LossCause, std::int64_t>> lost) {
  ReuseLoss loss{.token_exact_tokens = found, .found_tokens = found};
  for (const auto& [cause, tokens] : lost) {
    loss.of(cause) = tokens;
    loss.token_exact_tokens += tokens;
  }
  return loss;
}

/// Checkpoints of a prompt of n tokens lie at n - 20 and n - 4.
constexpr SlotSettings two_slots{.slots = 2, .cells = 100'000, .step_tokens = 16};

}  // namespace

TEST_CASE("law: losses of slots are those that a search through all states finds, on 300 random workloads") {
  std::array<std::int64_t, num_loss_causes> met{};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const SlotSettings settings{.slots = dice.roll(1, 4),
                                .cells = dice.roll(20, 400),
                                .checkpoints = dice.roll(2, 6),
                                .checkpoint_step = dice.roll(0, 100),
                                .step_tokens = dice.roll(1, 40),
                                .rollback_tokens = dice.roll(0, 3),
                                .least_similarity = static_cast<double>(dice.roll(1, 9)) / 10};
    const TreeWorkload workload(dice, 40);
    for (const ReuseLoss& loss : losses_of(settings, workload.batch))
      for (std::size_t cause = 0; cause < num_loss_causes; ++cause) met[cause] += loss.lost[cause] > 0;
  }
  for (const LossCause cause : {LossCause::no_state, LossCause::dropped, LossCause::state_evicted,
                                LossCause::other_group, LossCause::no_memory}) {
    CAPTURE(to_string(cause));
    CHECK(met[static_cast<std::size_t>(cause)] > 0);
  }
  for (const LossCause cause : {LossCause::block_tail, LossCause::last_token, LossCause::kv_evicted,
                                LossCause::too_late})
    CHECK(met[static_cast<std::size_t>(cause)] == 0);
}

TEST_CASE("edge: a copy goes on from the last checkpoint, and where prompts part there is none") {
  CHECK(last_loss(two_slots, {{{1, 100}}, {{1, 100}}}) == expected_of(96, {{LossCause::no_state, 3}}));
  CHECK(last_loss(two_slots, {{{1, 60}, {2, 40}}, {{1, 60}, {3, 40}}}) ==
        expected_of(0, {{LossCause::no_state, 60}}));
}

TEST_CASE("edge: a sequence that gave way is evicted, one in another slot is there and not taken") {
  SlotSettings one = two_slots;
  one.slots = 1;
  const std::vector<PromptSegments> prompts{{{1, 100}}, {{2, 100}}, {{1, 100}, {3, 5}}};
  CHECK(last_loss(one, prompts) == expected_of(0, {{LossCause::state_evicted, 100}}));
  CHECK(last_loss(two_slots, prompts) == expected_of(100, {}));
  // A tenth of the prompt or less is no reason to take a slot.
  CHECK(last_loss(two_slots, {{{1, 100}}, {{1, 100}, {3, 2000}}}) ==
        expected_of(0, {{LossCause::other_group, 100}}));
}

TEST_CASE("edge: a checkpoint near to the one before is dropped, unless checkpoints may lie so near") {
  SlotSettings settings = two_slots;
  const std::vector<PromptSegments> prompts{{{1, 100}}, {{1, 100}, {2, 20}}, {{1, 97}, {4, 30}}};
  CHECK(last_loss(settings, prompts) ==
        expected_of(80, {{LossCause::no_state, 1}, {LossCause::dropped, 16}}));
  settings.checkpoint_step = 10;
  CHECK(last_loss(settings, prompts) == expected_of(96, {{LossCause::no_state, 1}}));
}

TEST_CASE("edge: what all cells do not hold is lost to memory") {
  const std::vector<PromptSegments> prompts{{{1, 100}}, {{1, 100}, {2, 400}}};
  SlotSettings settings = two_slots;
  settings.cells = 300;
  CHECK(last_loss(settings, prompts) == expected_of(0, {{LossCause::no_memory, 100}}));
}
