#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/schedule/request_record.h"

namespace hybridkv {

/// What became of one request in a dual pool with a radix tree, and what the pools and the tree hold after it.
struct TreeRecord {
  std::int64_t index = 0;                ///< in the trace
  std::int64_t input_length = 0;         ///< tokens
  std::int64_t hit_tokens = 0;           ///< found with KV and state, when it was first admitted
  std::int64_t kv_match_tokens = 0;      ///< that KV alone matched
  std::int64_t branch_tokens = 0;        ///< branch point, 0 = none
  std::vector<std::int64_t> chunks;      ///< tokens of each prefill chunk, of its first prefill
  std::int64_t generated = 0;            ///< tokens
  std::int64_t evicted_tokens = 0;       ///< to make room for it
  std::int64_t evicted_states = 0;       ///< to make room for it; not those that the limit of a path dropped
  std::int64_t states_made = 0;          ///< that the tree kept
  std::int64_t states_used = 0;          ///< hit by it that nobody had hit before, 0 or 1
  std::int64_t states_trimmed = 0;       ///< that the limit of a path dropped
  std::int64_t evicted_unused_states = 0;///< of the states evicted, never hit before
  std::int64_t loaded_tokens = 0;        ///< from the host, to be hit
  std::int64_t loaded_states = 0;        ///< the same, 0 or 1
  std::int64_t retractions = 0;          ///< it gave all back for others that decoded, and waited again
  std::int64_t recomputed_tokens = 0;    ///< in prefills after those
  std::int64_t free_tokens = 0;          ///< afterwards
  std::int64_t free_states = 0;
  std::int64_t tree_tokens = 0;
  std::int64_t tree_states = 0;
  RequestStatus status = RequestStatus::ok;
  bool operator==(const TreeRecord&) const = default;
};

/// First line of a CSV file of such records, without line end: the fields of SGLang's own replays.
inline constexpr std::string_view tree_csv_header =
    "idx,input_length,hit_tokens,full_kv_match,branch_at,num_chunks,chunk_sizes,evicted_tokens,evicted_states,"
    "free_tokens_after,free_states_after,tree_tokens,tree_states,status";
/// The line of one request, without line end. A refused request hits -1; without states their fields are empty.
std::string tree_csv_row(const TreeRecord& record, bool has_states);

}  // namespace hybridkv
