#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "planner/engine_spec.h"

namespace hybridkv {

/// A setting that a search varies, as those who ask for values of it spell it.
struct SearchAxis {
  std::string_view flag;     ///< of the program: "--page-sizes"
  std::string_view keyword;  ///< of the Python package: "page_sizes"
};

namespace search_axis {

inline constexpr SearchAxis packs{"--packs", "packs"};
inline constexpr SearchAxis block_sizes{"--block-sizes", "block_sizes"};
inline constexpr SearchAxis modes{"--modes", "modes"};
inline constexpr SearchAxis match_units{"--match-units", "match_units"};
inline constexpr SearchAxis retentions{"--retention", "retentions"};
inline constexpr SearchAxis strategies{"--strategies", "strategies"};
inline constexpr SearchAxis ratios{"--ratios", "ratios"};
inline constexpr SearchAxis page_sizes{"--page-sizes", "page_sizes"};
inline constexpr SearchAxis track_intervals{"--track-intervals", "track_intervals"};
inline constexpr SearchAxis slots{"--slots", "slots"};
inline constexpr SearchAxis slot_checkpoints{"--slot-checkpoints", "slot_checkpoints"};
inline constexpr SearchAxis snapshots{"--snapshots", "snapshots"};
inline constexpr SearchAxis snapshot_intervals{"--snapshot-intervals", "snapshot_intervals"};
inline constexpr SearchAxis checkpoint_steps{"--checkpoint-steps", "checkpoint_steps"};
inline constexpr SearchAxis cache_rams{"--cache-rams", "cache_rams"};

}  // namespace search_axis

/// An axis along which the settings of an engine are searched.
struct EngineAxis {
  const SearchAxis* axis = nullptr;
  /// Tried beside the engine's own value, in this order; words by their position. Empty: they follow from the model,
  /// the plan or the workload.
  std::span<const std::int64_t> values = {};
};

/// Such values, of an enumeration or whole numbers.
template <auto... values>
inline constexpr std::array<std::int64_t, sizeof...(values)> tried{static_cast<std::int64_t>(values)...};

inline constexpr EngineAxis all_modes{&search_axis::modes,
                                      tried<CacheMode::align, CacheMode::all, CacheMode::none>};
inline constexpr EngineAxis modes_without_all{&search_axis::modes, tried<CacheMode::align, CacheMode::none>};

/// Of engines with blocks that nothing more is known to be set of.
inline constexpr EngineAxis axes_of_read_blocks[] = {{&search_axis::block_sizes}, all_modes};

}  // namespace hybridkv
