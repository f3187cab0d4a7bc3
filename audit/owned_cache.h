#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "audit/event.h"
#include "audit/finding.h"
#include "audit/recording.h"

namespace hybridkv {

/// What is known of the K and V of one unit of tokens in a block. Whose prefix it is says the key, or where that is not
/// known yet the request that wrote it.
struct OwnedUnit {
  std::uint64_t key = 0;       ///< 0: not known
  std::int64_t writer = -1;    ///< request
  std::int64_t step = -1;
  std::int64_t position = -1;  ///< of its first token in the sequence; -1: nothing is written
  std::int32_t from = 0;       ///< tokens [from, to) of the unit are written
  std::int32_t to = 0;
  bool is_rejected = false;    ///< behind them were a drafter's that were rejected
  bool operator==(const OwnedUnit&) const = default;
};

/// What is known of a recurrent state in a block.
struct OwnedState {
  std::int64_t tokens = -1;    ///< behind which it stands; -1: nothing is written
  std::uint64_t key = 0;       ///< of those tokens; 0: not known, or none is made there
  std::int64_t writer = -1;
  std::int64_t step = -1;
  bool is_rejected = false;    ///< of a drafter's token that was rejected
  bool operator==(const OwnedState&) const = default;
};

/// What is known of a block on one rank.
struct OwnedContent {
  bool is_known = false;       ///< false: it may hold anything
  std::int64_t group = -1;     ///< whose layers wrote it; -1: nobody since it was taken
  std::vector<OwnedUnit> units;
  OwnedState state;
  std::int64_t old_writer = -1;///< who wrote what was there before
  std::int64_t old_step = -1;
  std::string object;          ///< from which it was loaded, else empty
};

/// A block of one arena.
struct OwnedBlock {
  std::vector<std::int64_t> holders;   ///< requests
  std::vector<std::string> storing;    ///< objects that it is being copied to
  std::vector<OwnedContent> ranks;     ///< (rank)
};

/// A request between its coming in and its end.
struct OwningRequest {
  std::int64_t number = 0;
  std::vector<std::uint64_t> keys;                ///< (units)
  std::vector<std::vector<std::int64_t>> tables;  ///< (group, columns)
  bool has_run = false;                           ///< since it was admitted
  std::int64_t computed = 0;                      ///< tokens that its runs computed and that count
  RecordedRun last;                               ///< its last run
  std::vector<std::vector<RecordedStateWrite>> columns;  ///< (group) states that it left: `block` is the column
  std::vector<std::pair<std::int64_t, std::int64_t>> doubtful;  ///< (group, block) that changed since it was checked
  std::vector<std::pair<std::int64_t, std::int64_t>> replaced;  ///< (group, column) of the table, the same
};

/// An object outside the pool.
struct OwnedObject {
  std::int64_t rank = 0;
  std::int64_t group = 0;
  std::int64_t block = 0;      ///< from which it was stored
  std::int64_t bytes = 0;
  OwnedContent content;
};

/// What an audit counts.
struct OwnershipCounts {
  std::int64_t requests = 0;
  std::int64_t steps = 0;
  std::int64_t runs = 0;
  std::int64_t hits = 0;           ///< requests that resumed behind a prefix
  std::int64_t hit_tokens = 0;
  std::int64_t checked_units = 0;  ///< of K and V that were read and whose owner was asked for
  std::int64_t checked_states = 0;
  std::int64_t stores = 0;
  std::int64_t loads = 0;
  std::int64_t unknown = 0;        ///< reads of what a recording that is not whole does not know
  bool operator==(const OwnershipCounts&) const = default;
};

/// All that an audit knows at one moment: of every block what is in it, whose it is and who holds it. Memory is bounded
/// by the pool, the requests in flight and the objects that are there, not by the recording.
struct OwnedCache {
  Recording recording;
  std::function<void(const OwnershipFinding&)> on_finding;
  std::vector<std::unordered_map<std::int64_t, OwnedBlock>> blocks;  ///< (arena) those that were ever named
  std::unordered_map<std::int64_t, OwningRequest> requests;
  std::unordered_map<std::string, OwnedObject> objects;
  std::int64_t step = -1;
  std::int64_t line = 0;
  OwnershipCounts counts;
  std::set<std::tuple<std::int64_t, std::int64_t, OwnershipFault>> raised;  ///< request in flight, group: said already

  std::int64_t unit() const { return recording.unit_tokens; }
  /// Throw InputError where there is no such one.
  const RecordedGroup& group(std::int64_t number) const;
  OwningRequest& request(std::int64_t number);
  OwnedBlock& block(std::int64_t group, std::int64_t number);
  void require_rank(std::int64_t rank) const;

  bool is_null(std::int64_t group, std::int64_t block) const {
    return block == recording.arenas[static_cast<std::size_t>(this->group(group).arena)].null_block;
  }
  /// The key of the first `tokens` tokens of a request; 0 where none is known or made.
  std::uint64_t key_at(const OwningRequest& request, std::int64_t tokens) const;
  /// Says what is wrong, once for a request, group and fault. Fills in line and step.
  void raise(OwnershipFinding finding);
};

/// Nothing that counts is in the block any more; who wrote it last stays known.
void clear(OwnedContent& content);
/// Somebody wrote into a block, or it went to somebody else: those that hold it besides `except` will look again, and
/// what is being stored of it is spoilt. The fault belongs to `request`.
void note_change(OwnedCache& cache, OwnedBlock& block, std::int64_t group, std::int64_t number, std::int64_t request);

}  // namespace hybridkv
