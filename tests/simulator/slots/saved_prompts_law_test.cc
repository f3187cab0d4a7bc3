// Laws of slots that save prompts on the host, whatever the settings and the trace.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "simulator/slots/slot_replay.h"

using namespace hybridkv;

namespace {

SlotSettings random_server() {
  SlotSettings settings;
  settings.slots = *rc::gen::inRange<std::int64_t>(1, 5);
  settings.cells = settings.slots * *rc::gen::inRange<std::int64_t>(20, 120);
  settings.unified = *rc::gen::arbitrary<bool>();
  settings.batch_tokens = *rc::gen::inRange<std::int64_t>(1, 64);
  settings.step_tokens = *rc::gen::inRange<std::int64_t>(1, 64);
  settings.window_tokens = *rc::gen::element<std::int64_t>(0, 0, 3, 20);
  settings.checkpoints = *rc::gen::inRange<std::int64_t>(0, 6);
  settings.checkpoint_step = *rc::gen::inRange<std::int64_t>(0, 40);
  settings.saved_bytes = *rc::gen::element<std::int64_t>(-1, 0, 300, 3'000, 1 << 20);
  settings.saves_idle = *rc::gen::arbitrary<bool>();
  settings.least_similarity = *rc::gen::element(0.0f, 0.1f, 0.5f);
  settings.keeps_one_past = *rc::gen::arbitrary<bool>();
  settings.bytes = {.state_layers = 1, .row_bytes = 10, .tokens = {2, 4}};
  return settings;
}

/// A few streams, so that prompts often part from each other and go on.
std::vector<TokenRun> random_prompt() {
  std::vector<TokenRun> prompt;
  std::uint64_t chain = empty_chain;
  std::int64_t end = 0;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    chain = extend_chain(chain, *rc::gen::inRange<std::uint64_t>(0, 3), end);
    end += *rc::gen::element<std::int64_t>(1, 1, 2, 7, 30);
    prompt.push_back({end, chain});
  }
  return prompt;
}

std::int64_t bytes_of_entry(const SavedSequence& entry, const SequenceBytes& bytes) {
  std::int64_t sum = bytes.prompt(entry.tokens());
  for (const SlotCheckpoint& checkpoint : entry.checkpoints) sum += bytes.checkpoint(checkpoint.tokens);
  return sum;
}

void check_saved(const SlotReplay& replay) {
  const SlotSettings& settings = replay.settings();
  std::int64_t bytes = 0, tokens = 0;
  for (const SavedSequence& entry : replay.saved().entries()) {
    bytes += bytes_of_entry(entry, settings.bytes);
    tokens += entry.tokens();
    RC_ASSERT(entry.tokens() > 0);
    RC_ASSERT(std::ssize(entry.checkpoints) <= settings.checkpoints);
  }
  RC_ASSERT(bytes == replay.saved().bytes());
  RC_ASSERT(tokens == replay.saved().tokens());
  if (settings.saved_bytes == 0) RC_ASSERT(replay.saved().entries().empty());
  if (settings.saved_bytes > 0) RC_ASSERT(bytes <= settings.saved_bytes);
}

void check_slots(const SlotReplay& replay, const SlotRecord& record) {
  const SlotSettings& settings = replay.settings();
  std::int64_t cells = 0, holding = 0;
  for (const ServerSlot& slot : replay.slots()) {
    cells += slot.tokens();
    holding += slot.content.empty() ? 0 : 1;
    RC_ASSERT(slot.tokens() <= settings.context_of_slot());
    RC_ASSERT(std::ssize(slot.checkpoints) <= settings.checkpoints);
    if (slot.content.empty()) RC_ASSERT(slot.checkpoints.empty());
  }
  RC_ASSERT(cells <= settings.cells);
  if (settings.unified && settings.saves_idle && settings.saves_prompts()) RC_ASSERT(holding <= 1);
  RC_ASSERT(record.hit_tokens < record.input_length);
  RC_ASSERT((record.hit_tokens <= record.common_tokens || record.restored_stale));
  if (record.loaded_tokens > 0) RC_ASSERT(record.loaded_request >= 0);
}

}  // namespace

TEST_CASE("law: slots and saved prompts keep within limits; states of others come of the server's fault alone") {
  CHECK(rc::check([] {
    const SlotSettings settings = random_server();
    SlotReplay replay(settings);
    for (std::int64_t index = 0; index < 40; ++index) {
      const std::vector<TokenRun> prompt = random_prompt();
      std::vector<TokenRun> held = prompt;
      const std::int64_t generated = *rc::gen::element<std::int64_t>(0, 1, 5, 200);
      if (generated > 0)
        held.push_back({prompt.back().end_token + generated,
                        extend_chain(prompt.back().chain, static_cast<std::uint64_t>(100 + index),
                                     prompt.back().end_token)});
      SlotOptions options{.held = held, .reuses = *rc::gen::inRange(0, 8) > 0};
      if (*rc::gen::inRange(0, 8) == 0) options.slot = *rc::gen::inRange<std::int64_t>(0, settings.slots);
      const std::vector<std::int64_t> starts{prompt.front().end_token};
      if (prompt.size() > 1) options.message_starts = starts;
      const SlotRecord record =
          replay.run({.index = index, .input_length = prompt.back().end_token}, prompt, options);
      if (!settings.keeps_one_past) RC_ASSERT_FALSE(record.restored_stale);
      check_saved(replay);
      check_slots(replay, record);
    }
  }));
}
