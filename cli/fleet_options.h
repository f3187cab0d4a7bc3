#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/fleet/fleet.h"

namespace hybridkv {

/// Flags of a replay of several replicas, as they are typed.
struct FleetOptions {
  std::int64_t replicas = 0;
  std::vector<std::string> routers;
  std::optional<std::int64_t> block_tokens;
  std::string delay, weights;
  std::vector<std::string> slow, down;
  std::int64_t decode_replicas = 0;
  std::string link;
};

/// Adds --replicas, --router and what a router is told to a command.
void add_fleet_options(CLI::App& command, FleetOptions& options);

/// What they ask; nothing without --replicas. `seed`: of the trace, for random choices. `has_blocks`: has the cache
/// pools of blocks, of which routers hear events? Throws InputError for values that are none, and for the others
/// without --replicas.
std::optional<FleetQuestion> fleet_question(const FleetOptions& options, std::uint64_t seed, bool has_blocks);

/// The flag behind the path of a SpecError of fleets and routers; nullptr where it is of something else.
const char* fleet_flag(std::string_view path);

}  // namespace hybridkv
