#pragma once

#include <string>

#include "ask/transfer/transfer.h"
#include "report/document.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// Identifies the JSON of `transfer`.
inline constexpr const char* transfer_report_schema_id = "hybridkv-transfer-report/1";

/// A row per tensor: layers, what must move, runs.
Table transfer_tensor_table(const TransferAnswer& answer);
/// A row per pair of ranks that copy something.
Table transfer_pair_table(const TransferAnswer& answer);
/// The same of one tensor each: what programs get.
Table transfer_row_table(const TransferAnswer& answer);
/// A row per power of two: runs of so many bytes to twice as many.
Table transfer_size_table(const TransferAnswer& answer);
/// A row per length of the request.
Table transfer_growth_table(const TransferAnswer& answer);

/// What every report of a transfer begins with: a title, both sides in a line each, and the request.
void add_transfer_sides(Document& document, const TransferAnswer& answer);

/// The same for programs: {schema, model, tokens, present_tokens, from, to}.
nlohmann::ordered_json transfer_head_json(const TransferAnswer& answer, const char* schema);

/// Both sides, what must move and what does, by tensor, by pair of ranks and by size, how it grows, and how the number
/// of runs of a layer comes about.
Document transfer_report(const TransferAnswer& answer);

/// `transfer --format FORMAT`: transfer_report as text or Markdown, transfer_row_table as csv, and as json {schema,
/// model, tokens, present_tokens, from, to, totals, tensors, pairs, rows, sizes, growth, growth_ends, rate,
/// runs, offload: {from, to}}.
std::string render_transfer(const TransferAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
