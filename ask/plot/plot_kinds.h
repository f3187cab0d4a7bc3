#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace hybridkv {

/// What can be drawn of a scenario.
enum class PlotKind {
  block_size, request_bytes, concurrency, staircase, hit_rate, page_map, blocks_in_use, waterfall, memory_curve
};

struct PlotKindInfo {
  PlotKind kind;
  const char* name;         ///< "block-size"; also the start of its files' names
  const char* description;  ///< for --help
};

/// All kinds, in the order of the enumeration.
std::span<const PlotKindInfo> all_plot_kinds();
/// The kind of that name; nothing for any other text.
std::optional<PlotKind> parse_plot_kind(std::string_view name);

}  // namespace hybridkv
