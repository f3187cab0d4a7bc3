#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hybridkv {

/// How a request ended.
enum class RequestStatus {
  ok,       ///< computed to its end
  refused,  ///< its prompt and the blocks it hits do not fit even alone: an engine would let it wait for ever
  too_long, ///< its prompt does not leave a token below max_model_len: the engine does not take it in
  stalled,  ///< admitted, but needs more blocks than the pool has before it ends: an engine would preempt it for ever
};
std::string_view to_string(RequestStatus status);

/// What became of one request.
struct RequestRecord {
  std::int64_t index = 0;           ///< in the trace
  std::int64_t turn = 0;            ///< of its conversation, from 1; 0 where the trace does not say
  std::int64_t input_length = 0;    ///< tokens
  std::int64_t output_length = 0;   ///< tokens asked for
  std::int64_t hit_tokens = 0;      ///< found when it was first admitted
  std::int64_t uncached_common = 0; ///< tokens that attention alone matched behind the hit
  std::int64_t num_chunks = 0;      ///< prefill chunks of its first prefill
  std::int64_t evictions = 0;       ///< blocks dropped to make room for it
  std::int64_t generated = 0;       ///< tokens
  std::int64_t preemptions = 0;
  std::int64_t reprefilled_tokens = 0;  ///< computed again after preemptions
  double arrival_seconds = 0;
  double queue_seconds = 0;         ///< arrival to the step that first admitted it
  double first_token_seconds = 0;   ///< arrival to the end of the step that finished its prompt
  double finish_seconds = 0;        ///< arrival to its end
  RequestStatus status = RequestStatus::ok;
  bool operator==(const RequestRecord&) const = default;
};

/// First line of a per-request CSV file, without line end.
inline constexpr std::string_view request_csv_header = "idx,input_length,hit_tokens,num_chunks,evictions,status";
/// The line of one request, without line end.
std::string request_csv_row(const RequestRecord& record);

/// Columns of a replay by a clock, behind those, and their values: seconds.
inline constexpr std::string_view times_csv_names =
    ",arrival_seconds,queue_seconds,first_token_seconds,finish_seconds,generated,preemptions";
std::string times_csv_fields(const RequestRecord& record);

}  // namespace hybridkv
