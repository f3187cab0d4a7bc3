#pragma once

#include <span>
#include <string>

#include "ask/forward.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// Identifies the JSON of `verify --forward`.
inline constexpr const char* forward_schema_id = "hybridkv-forward/1";

/// What `verify --forward` says of one model and pack size: a row per mode and case with what took place, how many
/// outputs were compared and the largest error; then in one sentence what that shows. Of several: a row each, and the
/// failures in full. Pre: at least one report.
Document forward_report(std::span<const ForwardReport> reports);

/// One row per model, pack size, mode (through a radix tree strategy, which is a column more, and page) and case. Pre:
/// all of them go through a tree, or none.
Table forward_table(std::span<const ForwardReport> reports);

/// `verify --forward --format FORMAT`: forward_report as text or Markdown, forward_table as csv and, under "results",
/// as json.
std::string render_forward(std::span<const ForwardReport> reports, Format format, const Style& style = {});

}  // namespace hybridkv
