#include "simulator/schedule/request_record.h"

#include <fmt/format.h>

namespace hybridkv {

std::string_view to_string(RequestStatus status) {
  switch (status) {
    case RequestStatus::ok: return "ok";
    case RequestStatus::refused: return "refused";
    case RequestStatus::too_long: return "too_long";
    case RequestStatus::stalled: return "stalled";
  }
  return "?";
}

std::string request_csv_row(const RequestRecord& record) {
  return fmt::format("{},{},{},{},{},{}", record.index, record.input_length, record.hit_tokens, record.num_chunks,
                     record.evictions, to_string(record.status));
}

std::string times_csv_fields(const RequestRecord& record) {
  return fmt::format(",{:.6f},{:.6f},{:.6f},{:.6f},{},{}", record.arrival_seconds, record.queue_seconds,
                     record.first_token_seconds, record.finish_seconds, record.generated, record.preemptions);
}

}  // namespace hybridkv
