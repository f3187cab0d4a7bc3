#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace hybridkv {

/// The events of a recording, in the order in which they happened; each is a line (docs/audit.md). Requests have
/// numbers that never come again; groups and arenas are those of the header, by position.

/// A step of the engine begins; what follows belongs to it.
struct StepEvent {
  std::int64_t step = 0;
  bool operator==(const StepEvent&) const = default;
};

/// A request comes in.
struct RequestEvent {
  std::int64_t request = 0;
  std::int64_t prompt_tokens = 0;
  std::vector<std::uint64_t> keys;  ///< (units) of its first 1, 2, … units; two prompts that differ differ in them
  bool operator==(const RequestEvent&) const = default;
};

/// More of its content is known: keys of the units behind those known before.
struct KeysEvent {
  std::int64_t request = 0;
  std::vector<std::uint64_t> keys;
  bool operator==(const KeysEvent&) const = default;
};

/// It resumes behind a prefix that was found.
struct HitEvent {
  std::int64_t request = 0;
  std::int64_t tokens = 0;
  std::vector<std::int64_t> groups;  ///< (group) tokens of which each found what it needs; empty: not recorded
  bool operator==(const HitEvent&) const = default;
};

/// How blocks come into a table.
enum class TableChange {
  taken,  ///< from the free ones, for new content
  found,  ///< with the content that they have
  moved,  ///< the request has them already, or they are null
};

/// Entries of a request's table, from column `first` on.
struct TableEvent {
  TableChange change = TableChange::taken;
  std::int64_t request = 0;
  std::int64_t group = 0;
  std::int64_t first = 0;
  std::vector<std::int64_t> blocks;
  bool operator==(const TableEvent&) const = default;
};

/// A request gives back blocks. What they hold can be found again until they are taken for new content.
struct FreeEvent {
  std::int64_t request = 0;
  std::int64_t group = 0;
  std::vector<std::int64_t> blocks;
  bool operator==(const FreeEvent&) const = default;
};

/// A request ends and gives back everything.
struct EndEvent {
  std::int64_t request = 0;
  bool operator==(const EndEvent&) const = default;
};

/// It gives back everything, and waits to be computed again.
struct PreemptEvent {
  std::int64_t request = 0;
  bool operator==(const PreemptEvent&) const = default;
};

/// The engine copies the content of a block.
struct CopyEvent {
  std::int64_t request = -1;  ///< for which; -1: none
  std::int64_t group = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool operator==(const CopyEvent&) const = default;
};

/// The engine fills blocks with zeros.
struct ZeroEvent {
  std::int64_t group = 0;
  std::vector<std::int64_t> blocks;
  bool operator==(const ZeroEvent&) const = default;
};

/// A state is written to a block: the one behind so many tokens.
struct RecordedStateWrite {
  std::int64_t block = 0;
  std::int64_t tokens = 0;
  bool operator==(const RecordedStateWrite&) const = default;
};

/// From where a run reads the state of a group and to where it writes it, where that was recorded.
struct RecordedStateUse {
  std::int64_t group = 0;
  std::int64_t from = -1;  ///< -1: it reads none
  std::vector<RecordedStateWrite> to;
  bool operator==(const RecordedStateUse&) const = default;
};

/// What a step computes of one request: it reads what came before `start`, and writes tokens [start, start + tokens).
struct RecordedRun {
  std::int64_t request = 0;
  std::int64_t start = 0;
  std::int64_t tokens = 0;
  std::int64_t drafts = 0;    ///< how many of the last ones are a drafter's; they count once accepted
  std::int64_t exported = 0;  ///< tokens of a state in the middle that goes to the column before the last; 0: none
  std::vector<RecordedStateUse> states;
  bool operator==(const RecordedRun&) const = default;
};

/// The forward pass of a step.
struct ComputeEvent {
  std::vector<RecordedRun> runs;
  bool operator==(const ComputeEvent&) const = default;
};

/// So many of the drafts that its last run computed were right.
struct AcceptEvent {
  std::int64_t request = 0;
  std::int64_t drafts = 0;
  bool operator==(const AcceptEvent&) const = default;
};

/// A block of one rank is copied into an object outside the pool.
struct StoreEvent {
  std::int64_t request = -1;  ///< for which; -1: none
  std::string object;
  std::int64_t rank = 0;
  std::int64_t group = 0;
  std::int64_t block = 0;
  std::int64_t bytes = 0;
  std::string dtype;       ///< of its elements; empty: that of the group
  bool is_begun = false;   ///< it goes on until the object is `stored`
  bool operator==(const StoreEvent&) const = default;
};

/// A store that was begun is through.
struct StoredEvent {
  std::string object;
  bool operator==(const StoredEvent&) const = default;
};

/// An object is copied into a block of one rank.
struct LoadEvent {
  std::int64_t request = -1;
  std::string object;
  std::int64_t rank = 0;
  std::int64_t group = 0;
  std::int64_t block = 0;
  std::int64_t bytes = 0;
  std::int64_t tokens = -1;  ///< whose K and V come with it, from the start of the block; -1: all
  bool operator==(const LoadEvent&) const = default;
};

/// An object is gone.
struct DropEvent {
  std::string object;
  bool operator==(const DropEvent&) const = default;
};

/// Memory that a connector registered: all blocks of a group on one rank.
struct RegionEvent {
  std::int64_t rank = 0;
  std::int64_t group = 0;
  std::int64_t bytes = 0;
  bool operator==(const RegionEvent&) const = default;
};

using RecordedEvent =
    std::variant<StepEvent, RequestEvent, KeysEvent, HitEvent, TableEvent, FreeEvent, EndEvent, PreemptEvent, CopyEvent,
                 ZeroEvent, ComputeEvent, AcceptEvent, StoreEvent, StoredEvent, LoadEvent, DropEvent, RegionEvent>;

}  // namespace hybridkv
