#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "audit/event.h"
#include "planner/engine_rules.h"
#include "clock/step_shape.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/losses/reuse_loss.h"
#include "simulator/replay.h"
#include "simulator/schedule/simulation.h"
#include "simulator/slots/slot_replay.h"
#include "simulator/snapshots/snapshot_replay.h"
#include "simulator/snapshots/snapshot_stats.h"
#include "simulator/tree/tree_stats.h"

namespace hybridkv {

// GCC 12 warns of members of an alternative that a moved variant does not hold.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/// What is loaded from the host behind a cache, of one rank.
struct LoadedBytes {
  std::int64_t of_unit = 0;   ///< K and V of all layers, of a token or of a block
  std::int64_t of_state = 0;  ///< states of all layers
  bool operator==(const LoadedBytes&) const = default;
};

/// A dual pool with a radix tree.
struct TreeCache {
  const EngineRules* rules = nullptr;  ///< the engine that the cache belongs to
  std::string name;
  TreeSettings settings;
  std::optional<std::int64_t> max_model_len;  ///< longer prompts are refused; unset: no limit
  LoadedBytes loaded = {};                    ///< the unit is a token
  bool operator==(const TreeCache&) const = default;
};

/// A server whose slots keep sequences.
struct SlotCache {
  const EngineRules* rules = nullptr;
  std::string name;
  SlotSettings settings;
  std::optional<std::int64_t> max_model_len;
  bool operator==(const SlotCache&) const = default;
};

/// Two pools under a tree with snapshots.
struct SnapshotCache {
  const EngineRules* rules = nullptr;
  std::string name;
  SnapshotSettings settings;
  std::optional<std::int64_t> max_model_len;
  LoadedBytes loaded = {};  ///< the unit is a block
  bool operator==(const SnapshotCache&) const = default;
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// A cache that a trace can be replayed through, by how it finds prefixes again: pools of blocks, a tree, slots, or a
/// tree with snapshots.
using AnyCache = std::variant<CacheGeometry, TreeCache, SlotCache, SnapshotCache>;
/// Findings of a replay, and records of a request, that only one kind of cache has; in the order of AnyCache.
using IndexStats = std::variant<SimulationStats, TreeStats, SlotStats, SnapshotStats>;
using AnyRecord = std::variant<RequestRecord, TreeRecord, SlotRecord, SnapshotRecord>;
using RecordView =
    std::variant<const RequestRecord*, const TreeRecord*, const SlotRecord*, const SnapshotRecord*>;

const EngineRules& rules_of(const AnyCache& cache);
const std::string& name_of(const AnyCache& cache);
std::optional<std::int64_t> max_model_len_of(const AnyCache& cache);
void set_max_model_len(AnyCache& cache, std::int64_t tokens);

/// The counts that every kind of cache has.
const ReplayCounts& counts_of(const IndexStats& stats);

/// One cache to replay: how requests reach it, and what is called with the result of each.
struct SimulationSpec {
  AnyCache cache;
  DriverSpec driver = {};
  bool losses = false;         ///< also books what is computed again to its causes; memory then grows with the trace
  bool counts_copies = false;  ///< Simulation::count_copies
  bool uncached = true;        ///< by a clock: also what would be without any cache of prefixes, ReplayResult::uncached
  /// Where set, gets every request in the order in which they end, from one thread at a time, and what it lost where
  /// losses are asked for, else null.
  std::function<void(const RecordView&, const ReuseLoss*)> on_record = {};
  /// Where set, gets what happens in a cache of blocks as a recorder in the engine would record it (BlockRecorder).
  std::function<void(const RecordedEvent&)> on_event = {};
  /// Where set, gets what every step of a cache of blocks computes, request by request.
  std::function<void(std::vector<ShapePart>)> on_shape = {};
};

/// What one replay found out.
struct ReplayResult {
  IndexStats index;
  std::optional<LossStats> losses;  ///< where they were asked for
  std::optional<ServedTimes> times;      ///< with a clock
  std::optional<ServedTimes> uncached;   ///< with a clock, where asked for: the same without a cache of prefixes
};

/// A cache under a trace.
class CacheReplay : public Replay {
 public:
  /// To be called once, after finish.
  virtual ReplayResult result() = 0;
};

/// Do requests through a radix tree generate their output under this driver? Throws SpecError for a driver that such
/// trees are not replayed by.
bool tree_decodes(const DriverSpec& driver);
/// Throws SpecError for unusable settings, with the path "geometry.FIELD", "radix.FIELD", "slots.FIELD" or
/// "snapshots.FIELD", and with "simulate.driver" for a driver that the kind of cache does not have.
void check_replay(const SimulationSpec& spec);
/// A replay of such a cache. Throws as check_replay, ResourceError where it does not fit memory.
std::unique_ptr<CacheReplay> make_replay(const SimulationSpec& spec);

}  // namespace hybridkv
