#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "simulator/blocks/cache_geometry.h"
#include "simulator/schedule/simulation.h"
#include "simulator/trace/trace.h"

namespace hybridkv::testing {

/// A stretch of tokens of one content id.
struct Segment {
  std::uint64_t id = 0;
  std::int64_t tokens = 0;
};
using PromptSegments = std::vector<Segment>;

/// Appends a request to a batch. Content of a token is a function of (id, position).
inline void add_request(TraceBatch& batch, const PromptSegments& prompt, std::int64_t output = 0, double arrival = 0) {
  TraceRequest request{.index = std::ssize(batch.requests), .arrival_seconds = arrival, .output_length = output,
                       .first_run = std::ssize(batch.runs), .num_runs = std::ssize(prompt)};
  std::uint64_t chain = empty_chain;
  for (const Segment& segment : prompt) {
    chain = extend_chain(chain, segment.id, request.input_length);
    request.input_length += segment.tokens;
    batch.runs.push_back({request.input_length, chain});
  }
  batch.requests.push_back(request);
}

/// One batch of requests, each prompt given by its segments.
inline TraceBatch batch_of(const std::vector<PromptSegments>& prompts, std::int64_t output = 0) {
  TraceBatch batch;
  for (const PromptSegments& prompt : prompts) add_request(batch, prompt, output);
  return batch;
}

/// Stats and records of a whole run.
struct Run {
  SimulationStats stats;
  std::vector<RequestRecord> records;  ///< in the order in which requests ended
};

inline Run run(const CacheGeometry& geometry, const DriverSpec& driver, const TraceBatch& batch) {
  Run result;
  Simulation simulation(geometry, driver, [&](const RequestRecord& record) { result.records.push_back(record); });
  simulation.consume(batch);
  result.stats = simulation.finish();
  return result;
}

/// The same prompt several times.
inline TraceBatch copies_of(const PromptSegments& prompt, std::int64_t copies, std::int64_t output = 0) {
  return batch_of(std::vector<PromptSegments>(static_cast<std::size_t>(copies), prompt), output);
}

/// Random small numbers from a seed; the same on every platform.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in least .. most.
  std::int64_t roll(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool chance(std::int64_t percent) { return roll(1, 100) <= percent; }

 private:
  std::mt19937_64 engine_;
};

/// A tiny geometry with every rule switched on now and then.
inline CacheGeometry random_geometry(Dice& dice) {
  CacheGeometry g;
  g.block_size_tokens = dice.roll(1, 6);
  g.num_blocks = dice.roll(4, 60);
  g.attention_groups = dice.roll(1, 2);
  g.state_groups = dice.roll(0, 3);
  g.mode = std::vector{CacheMode::none, CacheMode::align, CacheMode::align, CacheMode::all}[dice.roll(0, 3)];
  g.speculative_tokens = dice.chance(30) ? dice.roll(1, 3) : 0;
  g.drafter_drops_block = dice.chance(25);
  g.extra_blocks_per_request = dice.chance(15) ? 1 : 0;
  g.max_num_batched_tokens = g.block_size_tokens + dice.roll(0, 20);
  g.scheduler.long_prefill_threshold = dice.chance(20) ? g.block_size_tokens + dice.roll(0, 6) : 0;
  g.scheduler.max_num_seqs = dice.roll(1, 6);
  g.scheduler.watermark = dice.chance(20) ? 0.1 : 0;
  g.scheduler.branch_point = dice.chance(70);
  if (dice.chance(30)) g.retention_interval_tokens = g.block_size_tokens * dice.roll(0, 3);
  if (g.block_size_tokens % 2 == 0 && dice.chance(40)) g.match_unit_tokens = g.block_size_tokens / 2;
  if (g.block_size_tokens > 2 && dice.chance(15)) g.match_unit_tokens = 1;
  return g;
}

/// The same with up to three arenas and groups with blocks of their own.
inline CacheGeometry random_arenas(Dice& dice) {
  CacheGeometry g = random_geometry(dice);
  for (std::int64_t arena = dice.roll(0, 2); arena > 0; --arena) g.more_arenas.push_back(dice.roll(4, 60));
  const auto roll_each = [&](std::vector<std::int64_t>& values, std::int64_t count, auto&& roll) {
    for (std::int64_t i = 0; i < count; ++i) values.push_back(roll());
  };
  const auto roll_arena = [&] { return dice.roll(0, std::ssize(g.more_arenas)); };
  if (dice.chance(80)) roll_each(g.attention_arenas, g.attention_groups, roll_arena);
  if (dice.chance(80)) roll_each(g.state_arenas, g.state_groups, roll_arena);
  const std::int64_t unit = dice.roll(1, 3);
  g.block_size_tokens = unit * dice.roll(1, 4);
  if (dice.chance(70))
    roll_each(g.attention_block_sizes, g.attention_groups, [&] { return unit * dice.roll(1, 4); });
  if (dice.chance(70)) g.state_block_size_tokens = unit * dice.roll(1, 6);
  g.match_unit_tokens.reset();
  if (dice.chance(30)) g.match_unit_tokens = dice.chance(50) ? g.common_block() : 1;
  g.max_num_batched_tokens = g.checkpoint_step() + dice.roll(0, 20);
  g.scheduler.long_prefill_threshold = dice.chance(20) ? g.checkpoint_step() + dice.roll(0, 6) : 0;
  if (g.retention_interval_tokens) g.retention_interval_tokens = g.checkpoint_step() * dice.roll(0, 3);
  return g;
}

/// The same with up to three arenas that share large pages.
inline CacheGeometry random_large_pages(Dice& dice) {
  CacheGeometry g = random_arenas(dice);
  g.extra_blocks_per_request = 0;
  for (std::int64_t arena = 0; arena < g.num_arenas(); ++arena) g.blocks_per_large_page.push_back(dice.roll(1, 5));
  g.set_large_pages(dice.roll(4, 24));
  return g;
}

inline DriverSpec random_driver(Dice& dice) {
  DriverSpec driver;
  driver.kind = std::vector{DriverKind::one_at_a_time, DriverKind::closed_loop, DriverKind::open_loop}[dice.roll(0, 2)];
  driver.in_flight = dice.roll(1, 8);
  driver.cost = {0.01, 0.02, 0.001};
  return driver;
}

/// Prompts that share prefixes with earlier ones, some exact copies, some cut in the middle of a segment.
inline std::vector<PromptSegments> random_prompts(Dice& dice, std::int64_t count, std::int64_t longest) {
  std::vector<PromptSegments> prompts;
  std::uint64_t next_id = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    PromptSegments prompt;
    std::int64_t tokens = 0;
    if (!prompts.empty() && dice.chance(75)) {
      const PromptSegments& earlier = prompts[dice.roll(0, std::ssize(prompts) - 1)];
      std::int64_t keep = dice.chance(40) ? longest : dice.roll(1, longest);
      for (const Segment& segment : earlier) {
        if (keep == 0) break;
        prompt.push_back({segment.id, std::min(segment.tokens, keep)});
        keep -= prompt.back().tokens;
        tokens += prompt.back().tokens;
      }
    }
    while (tokens == 0 || (tokens < longest && dice.chance(50))) {
      prompt.push_back({next_id++, dice.roll(1, 1 + longest / 4)});
      tokens += prompt.back().tokens;
    }
    prompts.push_back(prompt);
  }
  return prompts;
}

/// The same as one batch with output lengths and arrival times.
inline TraceBatch random_batch(Dice& dice, std::int64_t count, std::int64_t longest, std::int64_t longest_output) {
  TraceBatch batch;
  double arrival = 0;
  for (const PromptSegments& prompt : random_prompts(dice, count, longest)) {
    arrival += 0.01 * static_cast<double>(dice.roll(0, 40));
    add_request(batch, prompt, dice.roll(0, longest_output), arrival);
  }
  return batch;
}

}  // namespace hybridkv::testing
