#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/fleet_question.h"

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

/// Was any of them given?
bool is_given(const FleetOptions& options);

/// Puts what they ask in the place of what a scenario asked. Throws InputError for values that are none, and for the
/// others where nobody says how many replicas there are.
void lay_over(FleetQuestion& question, const FleetOptions& options);

/// The flag behind the path of a SpecError of fleets and routers; nullptr where it is of something else, or was not
/// given.
const char* given_fleet_flag(std::string_view path, const FleetOptions& options);

}  // namespace hybridkv
