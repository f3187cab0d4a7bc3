#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "ask/transfer/transfer.h"

namespace hybridkv {

/// Identifies the JSON Lines of `transfer --export`; described by report/transfer.schema.json, line by line.
inline constexpr const char* transfer_schema_id = "hybridkv-transfer/1";

/// The JSON Schema of a line, made from its fields. report/transfer.schema.json is its text.
nlohmann::ordered_json transfer_schema();

/// The list of copies as JSON Lines, handed on in pieces of whole lines until `write` says false: first a header with
/// both sides, their pools, the ids of the request in the form that --from-ids reads, the contents and what follows it
/// in numbers; then a line per descriptor, pair of ranks by pair of ranks.
void write_transfer_lines(const TransferAnswer& answer, const std::function<bool(std::string_view)>& write);

/// Does a file that begins so hold such lines? False for an empty one.
bool begins_transfer_lines(std::string_view text);

}  // namespace hybridkv
