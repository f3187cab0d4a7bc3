#pragma once

#include <string>
#include <vector>

#include "ask/replay/offload.h"
#include "ask/transfer/transfer_alternatives.h"
#include "report/document.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// Identifies the JSON of `transfer --alternatives`.
inline constexpr const char* transfer_layouts_schema_id = "hybridkv-transfer-layouts/1";

/// A row per layout that both sides could have; the one asked about is marked, of those refused the cells are empty.
Table transfer_layout_table(const std::vector<TransferAlternative>& rows);

/// A row per kind of block and checkpoint of a side.
Table offload_table(const std::vector<OffloadEntry>& entries);

/// What another layout would save, in a sentence: "Fewest: order nhd, N = 15, equal blocks: 6,000 descriptors, 27 % of
/// 22,320". Empty where nothing has fewer.
std::string fewest_text(const TransferAnswer& answer, const std::vector<TransferAlternative>& rows);

/// The section of a report on blocks that go to a host tier, of both sides.
void add_offload(Document& document, const TransferAnswer& answer);

/// `transfer --alternatives --format FORMAT`: both sides, the table, what saves most; as csv the table alone, as json
/// {schema, model, tokens, present_tokens, from, to, layouts: rows with `refused`}.
std::string render_transfer_layouts(const TransferAnswer& answer, const std::vector<TransferAlternative>& rows,
                                    Format format, const Style& style = {});

}  // namespace hybridkv
