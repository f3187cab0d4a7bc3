#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/named_values.h"
#include "planner/engine_spec.h"
#include "planner/group_settings.h"

namespace hybridkv {

/// Where a search has snapshots of prompts taken, beside intervals.
enum class SnapshotPlaces {
  none,
  end,             ///< at the end of a prompt
  branch,          ///< where prompts part, and at the end where none is set
  end_and_branch,
};
inline constexpr auto snapshot_places_names = std::to_array<Named<SnapshotPlaces>>(
    {{SnapshotPlaces::none, "none"},
     {SnapshotPlaces::end, "end"},
     {SnapshotPlaces::branch, "branch"},
     {SnapshotPlaces::end_and_branch, "end+branch"}});

constexpr std::string_view to_string(SnapshotPlaces value) { return name_in(snapshot_places_names, value); }
constexpr std::optional<SnapshotPlaces> parse_snapshot_places(std::string_view name) {
  return value_in(snapshot_places_names, name);
}

constexpr bool has_end(SnapshotPlaces places) {
  return places == SnapshotPlaces::end || places == SnapshotPlaces::end_and_branch;
}
constexpr bool has_branch(SnapshotPlaces places) {
  return places == SnapshotPlaces::branch || places == SnapshotPlaces::end_and_branch;
}

/// Those of an engine, where any offset from the end counts as the end.
inline SnapshotPlaces snapshot_places(const EngineSpec& engine) {
  const bool at_end = !engine.own[group_key::offsets_from_end].empty();
  if (engine.own[group_key::enable_branch_snapshot])
    return at_end ? SnapshotPlaces::end_and_branch : SnapshotPlaces::branch;
  return at_end ? SnapshotPlaces::end : SnapshotPlaces::none;
}

}  // namespace hybridkv
