#include "simulator/tree/tree_record.h"

#include <fmt/format.h>

namespace hybridkv {

std::string tree_csv_row(const TreeRecord& record, bool has_states) {
  const auto states = [&](std::int64_t count) { return has_states ? fmt::to_string(count) : std::string(); };
  std::string chunks;
  for (const std::int64_t chunk : record.chunks) chunks += fmt::format("{}{}", chunks.empty() ? "" : "+", chunk);
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", record.index, record.input_length,
                     record.status == RequestStatus::refused ? -1 : record.hit_tokens, record.kv_match_tokens,
                     record.branch_tokens > 0 ? fmt::to_string(record.branch_tokens) : std::string(),
                     record.chunks.size(), chunks, record.evicted_tokens,
                     record.evicted_states, record.free_tokens, states(record.free_states), record.tree_tokens,
                     states(record.tree_states), to_string(record.status));
}

}  // namespace hybridkv
