#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_values.h"

namespace hybridkv {

/// What the blocks of a recorded group hold.
enum class RecordedKind {
  attention,  ///< K and V of tokens, all of which later tokens see
  sliding,    ///< of which a token sees the last `window_tokens`, its own included
  chunked,    ///< of which a token sees those of its own chunk of `window_tokens` positions
  state,      ///< a recurrent state
};
inline constexpr auto recorded_kind_names = std::to_array<Named<RecordedKind>>(
    {{RecordedKind::attention, "attention"},
     {RecordedKind::sliding, "sliding"},
     {RecordedKind::chunked, "chunked"},
     {RecordedKind::state, "state"}});
constexpr std::string_view to_string(RecordedKind kind) { return name_in(recorded_kind_names, kind); }

/// Which columns of its table a request reads its state from and writes it to, where the recording does not say.
enum class RecordedStates {
  align,    ///< one at a time: behind t tokens in column ceil(t / block_tokens) - 1, those of drafts in the columns
            ///< behind it
  all,      ///< the same, and one at every multiple of block_tokens on the way
  running,  ///< always in column 0, those of drafts behind it
};
inline constexpr auto recorded_states_names = std::to_array<Named<RecordedStates>>(
    {{RecordedStates::align, "align"}, {RecordedStates::all, "all"}, {RecordedStates::running, "running"}});
constexpr std::string_view to_string(RecordedStates states) { return name_in(recorded_states_names, states); }

/// One group of layers, whose blocks a request has in one table.
struct RecordedGroup {
  RecordedKind kind = RecordedKind::attention;
  RecordedStates states = RecordedStates::align;  ///< of a group of states
  std::vector<std::int64_t> layers;               ///< of the model; empty: unknown
  std::int64_t block_tokens = 0;                  ///< >= 1; of states the distance of two columns
  std::int64_t block_bytes = 0;                   ///< of a block in all layers of the group, on one rank; 0: unknown
  std::string dtype;                              ///< of its elements; empty: unknown
  std::int64_t arena = 0;                         ///< in which its blocks lie
  std::int64_t window_tokens = 0;                 ///< of kinds sliding and chunked, >= 1

  bool is_state() const { return kind == RecordedKind::state; }
  /// The first position that the token at `position` reads. Pre: no state.
  std::int64_t first_visible(std::int64_t position) const {
    if (kind == RecordedKind::sliding) return std::max<std::int64_t>(0, position - window_tokens + 1);
    if (kind == RecordedKind::chunked) return position / window_tokens * window_tokens;
    return 0;
  }
  bool operator==(const RecordedGroup&) const = default;
};

/// Blocks with ids of their own, 0 .. blocks - 1.
struct RecordedArena {
  std::int64_t blocks = 0;      ///< >= 1
  std::int64_t null_block = 0;  ///< stands where a table has no block; -1: none does
  bool operator==(const RecordedArena&) const = default;
};

/// The first line of a recording: what cache it is of, and how much of what happened is in it.
struct Recording {
  static constexpr std::int64_t newest_version = 1;

  std::int64_t version = newest_version;
  std::string engine;              ///< name and version
  bool sampled = false;            ///< only some requests are in it, each of them whole
  bool cold = true;                ///< the cache was empty when it began
  std::int64_t ranks = 1;          ///< that keep caches of their own under the same tables, >= 1
  std::int64_t unit_tokens = 0;    ///< of which every multiple has a key, >= 1; divides the block of every group
  std::vector<RecordedArena> arenas;
  std::vector<RecordedGroup> groups;

  /// Was all recorded that could have written a byte?
  bool is_whole() const { return cold && !sampled; }
  bool operator==(const Recording&) const = default;
};

/// Throws InputError for a recording that no cache can be of: no group, a block that no whole number of units makes, an
/// arena that is not there.
void validate(const Recording& recording);

}  // namespace hybridkv
