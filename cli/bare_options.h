#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

/// Caches of their own, without a plan, as flags describe them: pools of blocks, or dual pools with a radix tree.
struct BareOptions {
  std::vector<std::int64_t> block_sizes;
  std::vector<std::int64_t> num_blocks;
  std::optional<std::int64_t> attention_groups;
  std::optional<std::int64_t> state_groups;
  std::vector<std::int64_t> token_slots;  ///< each makes a cache with each of state_slots
  std::vector<std::int64_t> state_slots;  ///< empty: attention alone
  std::optional<std::int64_t> page_size;
  std::string strategy;
  std::optional<std::int64_t> scan_chunk;
  std::optional<std::int64_t> track_interval;
  std::optional<std::int64_t> states_per_path;
  bool no_overlap = false;
  bool step_ahead = false;
};

void add_block_options(CLI::App& command, BareOptions& options);
void add_tree_options(CLI::App& command, BareOptions& options);

/// Do flags describe pools of blocks?
bool has_blocks(const BareOptions& options);
/// The flag that describes a cache without a plan; null where a scenario is planned.
const char* bare_flag_given(const BareOptions& options);

/// Throws InputError where a flag describes a cache without a plan; for a scenario that is planned.
void refuse_bare_settings(const BareOptions& options);

/// What else decides such caches.
struct BareScheduling {
  std::string modes;  ///< of blocks, as typed: names between commas; empty: align
  std::optional<std::int64_t> max_batched_tokens;
};

/// The caches that the flags describe: the product of the lists. Throws InputError where a flag is missing or belongs
/// to another cache. Pre: bare_flag_given.
std::vector<AnyCache> described_caches(const BareOptions& options, const BareScheduling& scheduling,
                                       const SimulateRequest& request);

/// The flag that stands for a value at fault, "geometry.num_blocks" or "radix.page"; null for those without one.
const char* bare_flag(std::string_view path);

}  // namespace hybridkv
