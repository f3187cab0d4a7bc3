#include "audit/recording.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hybridkv {

namespace {

// Beyond these a header is damaged; what is known of a block takes memory for every unit of it.
constexpr std::int64_t most_blocks = std::int64_t{1} << 31;
constexpr std::int64_t most_block_bytes = std::int64_t{1} << 31;
constexpr std::int64_t most_unit_tokens = std::int64_t{1} << 30;
constexpr std::int64_t most_units = std::int64_t{1} << 20;
constexpr std::int64_t most_ranks = 1024;

void validate_group(const Recording& recording, std::size_t number) {
  const RecordedGroup& group = recording.groups[number];
  const auto fail = [&](const std::string& what) { throw InputError(fmt::format("groups[{}]: {}", number, what)); };
  if (group.block_tokens < 1) fail(fmt::format("block_tokens is {}, below 1", group.block_tokens));
  if (group.arena < 0 || group.arena >= std::ssize(recording.arenas))
    fail(fmt::format("arena {} is none of the {} there are", group.arena, recording.arenas.size()));
  if (group.block_bytes < 0 || group.block_bytes > most_block_bytes)
    fail(fmt::format("block_bytes is {}, but goes from 0 to {}", group.block_bytes, most_block_bytes));
  const bool has_window = group.kind == RecordedKind::sliding || group.kind == RecordedKind::chunked;
  if (has_window && group.window_tokens < 1)
    fail(fmt::format("kind {} needs window_tokens, at least 1", to_string(group.kind)));
  if (group.is_state()) return;
  if (group.block_tokens % recording.unit_tokens != 0)
    fail(fmt::format("a block of {} tokens is no whole number of units of {}; give a unit_tokens that divides the "
                     "block of every group", group.block_tokens, recording.unit_tokens));
  if (group.block_tokens / recording.unit_tokens > most_units / recording.ranks)
    fail(fmt::format("a block of {} tokens has more than {} units on {} ranks", group.block_tokens, most_units,
                     recording.ranks));
}

}  // namespace

void validate(const Recording& recording) {
  if (recording.unit_tokens < 1 || recording.unit_tokens > most_unit_tokens)
    throw InputError(fmt::format("unit_tokens is {}, but goes from 1 to {}", recording.unit_tokens, most_unit_tokens));
  if (recording.ranks < 1 || recording.ranks > most_ranks)
    throw InputError(fmt::format("ranks is {}, but goes from 1 to {}", recording.ranks, most_ranks));
  if (recording.groups.empty()) throw InputError("groups is empty: a cache has one at least");
  for (const RecordedArena& arena : recording.arenas)
    if (arena.blocks < 1 || arena.blocks > most_blocks || arena.null_block < -1 || arena.null_block >= arena.blocks)
      throw InputError(fmt::format("an arena has {} blocks and null block {}; blocks go from 1 to {}, the null block "
                                   "is one of them or -1", arena.blocks, arena.null_block, most_blocks));
  for (std::size_t number = 0; number < recording.groups.size(); ++number) validate_group(recording, number);
}

}  // namespace hybridkv
