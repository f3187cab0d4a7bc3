// What a radix tree computes again, by cause: sums on replays and random workloads, and causes worked out by hand, each
// of which changes with its one circumstance.
#include "simulator/losses/tree_ledger.h"

#include <doctest/doctest.h>

#include <optional>

#include "simulator/losses/token_exact_bound.h"
#include "tests/simulator/schedule/replay_trace.h"
#include "tests/simulator/tree/tree_workload.h"
#include "tests/simulator/tree_cases.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

struct Losses {
  std::vector<TreeRecord> records;
  std::vector<ReuseLoss> each;
  LossStats stats;
};

Losses losses_of(const TreeSettings& settings, const TraceBatch& batch) {
  Losses result;
  TreeReplay replay(settings), alone(settings);
  TreeLedger ledger(replay);
  TokenExactBound exact;
  for (const TraceRequest& request : batch.requests) {
    const std::span<const TokenRun> prompt = batch.prompt(request);
    ledger.expect(request, prompt);
    const TreeRecord record = replay.run(request, prompt);
    REQUIRE(record == alone.run(request, prompt));
    const ReuseLoss loss = ledger.end(record);
    REQUIRE(loss.token_exact_tokens == exact.match(prompt));
    REQUIRE(loss.found_tokens == (record.status == RequestStatus::ok ? record.hit_tokens : 0));
    REQUIRE(loss.token_exact_tokens == loss.found_tokens + loss.total());
    for (const std::int64_t lost : loss.lost) REQUIRE(lost >= 0);
    result.records.push_back(record);
    result.each.push_back(loss);
  }
  result.stats = ledger.stats();
  ReuseLoss sum;
  for (const ReuseLoss& loss : result.each) sum += loss;
  REQUIRE(sum == result.stats.total);
  return result;
}

void check_causes(const TreeSettings& settings, const Losses& result) {
  const ReuseLoss& total = result.stats.total;
  CHECK(total.of(LossCause::too_late) == 0);
  CHECK(total.of(LossCause::other_group) == 0);
  if (settings.page == 1) CHECK(total.of(LossCause::block_tail) == 0);
  if (settings.page == 1) CHECK(total.of(LossCause::last_token) == 0);
  std::int64_t unfit = 0, trimmed = 0, evicted_states = 0, evicted_tokens = 0;
  for (const TreeRecord& record : result.records) {
    unfit += record.status != RequestStatus::ok;
    trimmed += record.states_trimmed;
    evicted_states += record.evicted_states;
    evicted_tokens += record.evicted_tokens;
  }
  if (unfit == 0) CHECK(total.of(LossCause::no_memory) == 0);
  if (unfit == 0 && trimmed == 0 && !settings.step_ahead) CHECK(total.of(LossCause::dropped) == 0);
  if (evicted_states == 0) CHECK(total.of(LossCause::state_evicted) == 0);
  if (settings.has_states()) CHECK(total.of(LossCause::kv_evicted) == 0);
  if (unfit == 0 && evicted_tokens == 0) CHECK(total.of(LossCause::kv_evicted) == 0);
}

ReuseLoss last_loss(const TreeSettings& settings, const std::vector<PromptSegments>& prompts) {
  return losses_of(settings, batch_of(prompts)).each.back();
}

ReuseLoss expected_ledger(std::int64_t found, std::vector<std::pair<LossCause, std::int64_t>> lost) {
  ReuseLoss loss{.token_exact_tokens = found, .found_tokens = found};
  for (const auto& [cause, tokens] : lost) {
    loss.of(cause) = tokens;
    loss.token_exact_tokens += tokens;
  }
  return loss;
}

constexpr TreeSettings states{.token_slots = 5000, .state_slots = 20};

}  // namespace

TEST_CASE("law: losses of a radix tree add up on 1000 random workloads") {
  std::array<std::int64_t, num_loss_causes> met{};
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const TreeSettings settings = random_tree_settings(dice);
    const TreeWorkload workload(dice, 40);
    const Losses result = losses_of(settings, workload.batch);
    check_causes(settings, result);
    for (std::size_t cause = 0; cause < num_loss_causes; ++cause) met[cause] += result.stats.total.lost[cause] > 0;
  }
  for (const LossCause cause : {LossCause::block_tail, LossCause::last_token, LossCause::no_state, LossCause::dropped,
                                LossCause::state_evicted, LossCause::kv_evicted, LossCause::no_memory})
    CHECK(met[static_cast<std::size_t>(cause)] > 0);
}

TEST_CASE("edge: where prompts part a tree has no state, until a second one has parted there") {
  std::vector<PromptSegments> prompts{{{1, 200}, {2, 100}}, {{1, 200}, {3, 90}}};
  CHECK(last_loss(states, prompts) == expected_ledger(0, {{LossCause::no_state, 200}}));
  prompts.push_back({{1, 200}, {4, 90}});
  CHECK(last_loss(states, prompts) == expected_ledger(192, {{LossCause::no_state, 8}}));
}

TEST_CASE("edge: a page shared in part is lost, and the last token costs one of a copy") {
  const TreeSettings plain{.token_slots = 5000, .page = 16};
  CHECK(last_loss(plain, {{{1, 40}}, {{1, 40}, {2, 5}}}) == expected_ledger(32, {{LossCause::block_tail, 8}}));
  CHECK(last_loss(plain, {{{1, 32}}, {{1, 32}, {2, 5}}}) == expected_ledger(32, {}));
  CHECK(last_loss(plain, {{{1, 32}}, {{1, 32}}}) == expected_ledger(16, {{LossCause::last_token, 15}}));
}

TEST_CASE("edge: KV is evicted where tokens have too little room") {
  TreeSettings plain{.token_slots = 140};
  const std::vector<PromptSegments> prompts{{{1, 100}}, {{2, 100}}, {{1, 100}, {3, 5}}};
  const ReuseLoss lost = last_loss(plain, prompts);
  CHECK(lost.of(LossCause::kv_evicted) == lost.total());
  CHECK(lost.total() > 0);
  plain.token_slots = 500;
  CHECK(last_loss(plain, prompts) == expected_ledger(100, {}));
}

TEST_CASE("edge: a state is evicted where states have too little room") {
  TreeSettings few = states;
  few.state_slots = 3;  // that a request holds while it runs, one of which it leaves to the tree
  const std::vector<PromptSegments> prompts{{{1, 130}}, {{2, 130}}, {{1, 130}, {3, 5}}};
  CHECK(last_loss(few, prompts) == expected_ledger(0, {{LossCause::no_state, 2}, {LossCause::state_evicted, 128}}));
  CHECK(last_loss(states, prompts) == expected_ledger(128, {{LossCause::no_state, 2}}));
}

TEST_CASE("edge: a state is evicted where the host has too little room for states") {
  // The second prompt sends the first to the host. A host of one state gives it up for that of the second.
  TreeSettings behind{.token_slots = 60, .state_slots = 5, .model_chunk = 4, .strategy = TreeStrategy::no_buffer,
                      .host = {.tokens = 200, .states = 1, .copies = HostCopies::write_through}};
  const std::vector<PromptSegments> prompts{{{1, 30}}, {{2, 40}}, {{1, 30}, {3, 5}}};
  CHECK(last_loss(behind, prompts) == expected_ledger(0, {{LossCause::state_evicted, 30}}));
  behind.host.states = 20;
  CHECK(last_loss(behind, prompts) == expected_ledger(30, {}));
}

TEST_CASE("edge: the limit of a path drops a state") {
  // Chunks of 64 leave a state every 64 tokens.
  TreeSettings limited = states;
  limited.chunk_tokens = 64;
  const std::vector<PromptSegments> prompts{{{1, 300}}, {{1, 100}, {2, 5}}};
  CHECK(last_loss(limited, prompts) == expected_ledger(64, {{LossCause::no_state, 36}}));
  limited.max_states_per_path = 1;
  CHECK(last_loss(limited, prompts) == expected_ledger(0, {{LossCause::no_state, 36}, {LossCause::dropped, 64}}));
}

TEST_CASE("edge: a state that a decode leaves behind its prompt stands in no other prompt") {
  // The first request goes on to 39 tokens, where the second prompt has tokens of its own and no state.
  TreeSettings decoding = states;
  decoding.strategy = TreeStrategy::no_buffer;
  decoding.decodes = true;
  const TraceBatch batch = batch_of({{{1, 10}}, {{2, 50}}, {{2, 45}, {3, 5}}}, 30);
  CHECK(losses_of(decoding, batch).each.back() == expected_ledger(0, {{LossCause::no_state, 45}}));
}

TEST_CASE("edge: what does not fit is lost to memory") {
  const std::vector<PromptSegments> prompts{{{1, 100}}, {{1, 100}, {2, 400}}};
  CHECK(last_loss({.token_slots = 300}, prompts) == expected_ledger(0, {{LossCause::no_memory, 100}}));
  CHECK(last_loss({.token_slots = 900}, prompts) == expected_ledger(100, {}));
}

namespace {

void check_replay(const TreeSettings& settings, const std::string& file) {
  const std::vector<std::string> rows = tree_case(file, std::string(tree_csv_header));
  const auto trace = conversation_trace(std::ssize(rows));
  if (!trace) return;
  std::int64_t at = 0;
  TreeReplay replay(settings);
  TreeLedger ledger(replay);
  TokenExactBound exact;
  for (TraceBatch batch; trace->next(batch);)
    for (const TraceRequest& request : batch.requests) {
      ledger.expect(request, batch.prompt(request));
      const TreeRecord record = replay.run(request, batch.prompt(request));
      REQUIRE(tree_csv_row(record, settings.has_states()) == rows[static_cast<std::size_t>(at++)]);
      const ReuseLoss loss = ledger.end(record);
      REQUIRE(loss.token_exact_tokens == exact.match(batch.prompt(request)));
      REQUIRE(loss.token_exact_tokens == record.hit_tokens + loss.total());
    }
  CHECK(ledger.stats().total.of(LossCause::other_group) == 0);
}

}  // namespace

TEST_CASE("golden: losses add up on replays of SGLang") {
  const TreeSettings large{.token_slots = 1'477'030, .state_slots = 210};
  check_replay(large, "radix_replay_eb_p1_c8192_397B.csv");
  TreeSettings plain = large;
  plain.state_slots = 0;
  plain.page = 16;
  check_replay(plain, "radix_replay_plain_p16_c8192_397B.csv");
  check_replay({.token_slots = 250'000, .state_slots = 60, .page = 64, .chunk_tokens = 2048},
               "radix_replay_eb_p64_c2048_T250k_S60.csv");
  TreeSettings limited = large;
  limited.chunk_tokens = 2048;
  limited.max_states_per_path = 2;
  check_replay(limited, "radix_replay_eb_p1_c2048_cap2_397B.csv");
}
