#pragma once

#include "simulator/tree/tree_settings.h"
#include "tests/simulator/blocks/workload.h"

namespace hybridkv::testing {

/// Tiny pools with every rule switched on now and then.
inline TreeSettings random_tree_settings(Dice& dice) {
  TreeSettings s;
  const bool has_states = dice.chance(80);
  s.strategy = std::vector{TreeStrategy::no_buffer, TreeStrategy::extra_buffer, TreeStrategy::extra_buffer,
                           TreeStrategy::extra_buffer_lazy}[dice.roll(0, 3)];
  s.page = s.strategy == TreeStrategy::no_buffer || dice.chance(40) ? 1 : dice.roll(2, 4);
  s.token_slots = dice.roll(20, 140);
  s.state_slots = has_states ? dice.roll(2, 9) : 0;
  s.chunk_tokens = s.page * dice.roll(1, 12);
  s.model_chunk = dice.roll(1, 4);
  s.track_interval = s.page * dice.roll(1, 4);
  s.overlap = s.strategy == TreeStrategy::extra_buffer_lazy || dice.chance(60);
  s.max_states_per_path = dice.chance(30) ? dice.roll(1, 3) : -1;
  s.skip_decode_lock = dice.chance(30);
  s.decodes = dice.chance(60);
  s.step_ahead = dice.chance(50);
  return s;
}

/// Random prompts that share prefixes, and the tokens of each one by one, those it generates behind them.
struct TreeWorkload {
  TreeWorkload(Dice& dice, std::int64_t count) {
    prompts = random_prompts(dice, count, 40);
    for (const PromptSegments& prompt : prompts) add_request(batch, prompt, dice.roll(0, 20));
  }
  std::vector<std::uint64_t> tokens(std::int64_t index) const {
    std::vector<std::uint64_t> tokens;
    const auto append = [&](std::uint64_t id, std::int64_t count) {
      for (; count > 0; --count) tokens.push_back(mix64(id, tokens.size()));
    };
    for (const Segment& segment : prompts[index]) append(segment.id, segment.tokens);
    append(1'000'000 + static_cast<std::uint64_t>(index), batch.requests[index].output_length + 1);
    return tokens;
  }

  std::vector<PromptSegments> prompts;
  TraceBatch batch;
};

}  // namespace hybridkv::testing
