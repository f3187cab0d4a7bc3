#pragma once

#include <string>
#include <vector>

#include "ask/replay/bound.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// Identifies the JSON of `bound`.
inline constexpr const char* bound_schema_id = "hybridkv-bound/1";

/// A row per layout: what it finds, what is possible in its memory, what nothing can pass. Layouts without a bound have
/// empty cells.
Table bound_table(const std::vector<BoundAnswer>& answers);

/// `bound --format FORMAT`: the table, a sentence per layout and how the figures are made; as json {schema, trace,
/// layouts: rows of the table, with `refused`}, as csv the table alone. `trace`: what was replayed, in words. Pre: at
/// least one answer that is not refused.
std::string render_bound(const std::vector<BoundAnswer>& answers, const std::string& trace, Format format,
                         const Style& style = {});

}  // namespace hybridkv
