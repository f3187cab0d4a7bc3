#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/simulate_radix.h"

namespace hybridkv {

/// A dual pool with a radix tree of its own, without a plan, as flags describe it.
struct RadixOptions {
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

/// Does a flag describe such a pool?
bool is_given(const RadixOptions& options);

/// Adds --token-slots, --state-slots, --page-size, --radix-strategy, --scan-chunk, --track-interval, --states-per-path,
/// --no-overlap and --step-ahead.
void add_radix_options(CLI::App& command, RadixOptions& options);

/// Throws InputError where a flag describes such a pool beside a plan, or beside `instead`, a cache without one.
void refuse_radix_settings(const RadixOptions& options, std::string_view instead = "");

/// The caches that the flags describe, with chunks of so many tokens where that is given. Throws InputError where a
/// flag is missing.
std::vector<RadixCache> described_radix_caches(const RadixOptions& options, std::optional<std::int64_t> chunk_tokens,
                                               std::optional<std::int64_t> max_model_len);

/// The flag that stands for a field of the settings; null for those without one.
const char* radix_flag(std::string_view field);

}  // namespace hybridkv
