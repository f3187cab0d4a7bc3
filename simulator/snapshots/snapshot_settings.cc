#include "simulator/snapshots/snapshot_settings.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hybridkv {

namespace {

void snapshot_field_at_least(std::int64_t least, std::int64_t value, const char* field) {
  if (value < least)
    throw SpecError(fmt::format("snapshots.{}", field), fmt::format("must be at least {}, is {}", least, value));
}

}  // namespace

void SnapshotSettings::check() const {
  snapshot_field_at_least(1, blocks, "blocks");
  snapshot_field_at_least(1, states, "states");
  snapshot_field_at_least(host_states > 0 ? 1 : 0, host_blocks, "host_blocks");
  snapshot_field_at_least(host_blocks > 0 ? 1 : 0, host_states, "host_states");
  snapshot_field_at_least(1, block_tokens, "block_tokens");
  snapshot_field_at_least(1, chunk_tokens, "chunk_tokens");
  snapshot_field_at_least(0, points.interval_tokens, "interval_tokens");
  for (const std::int64_t offset : points.from_start) snapshot_field_at_least(1, offset, "from_start");
  for (const std::int64_t offset : points.from_end) snapshot_field_at_least(0, offset, "from_end");
}

}  // namespace hybridkv
