#include "simulator/record_csv.h"

#include <fmt/format.h>

namespace hybridkv {

namespace {

constexpr std::string_view slot_csv_header =
    "idx,input_length,slot,common_tokens,hit_tokens,checkpoints_made,checkpoints_used,checkpoints_dropped,status";

std::string slot_csv_row(const SlotRecord& record) {
  return fmt::format("{},{},{},{},{},{},{},{},{}", record.index, record.input_length,
                     record.slot < 0 ? std::string() : fmt::to_string(record.slot), record.common_tokens,
                     record.hit_tokens, record.checkpoints_made, record.checkpoints_used, record.checkpoints_dropped,
                     to_string(record.status));
}

}  // namespace

std::string_view record_csv_header(const AnyCache& cache) {
  if (std::holds_alternative<CacheGeometry>(cache)) return request_csv_header;
  if (std::holds_alternative<SnapshotCache>(cache)) return snapshot_csv_header;
  return std::holds_alternative<TreeCache>(cache) ? tree_csv_header : slot_csv_header;
}

std::string record_csv_row(const AnyCache& cache, const RecordView& record) {
  if (const auto* const block = std::get_if<const RequestRecord*>(&record)) return request_csv_row(**block);
  if (const auto* const tree = std::get_if<const TreeRecord*>(&record))
    return tree_csv_row(**tree, std::get<TreeCache>(cache).settings.has_states());
  if (const auto* const snapshots = std::get_if<const SnapshotRecord*>(&record)) return snapshot_csv_row(**snapshots);
  return slot_csv_row(*std::get<const SlotRecord*>(record));
}

}  // namespace hybridkv
