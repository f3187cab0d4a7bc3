#pragma once

#include <string>

#include "ask/simulate_radix.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// What `simulate` says of dual pools with a radix tree: the trace, a row per cache with what was found, made and
/// evicted, where the tokens went, where that was asked for, and each request of a short trace.
Document radix_report(const RadixAnswer& answer);

/// One row per cache with every counter.
Table radix_table(const RadixAnswer& answer);

/// `simulate --format FORMAT` of such caches: radix_report as text or Markdown, radix_table as csv; json adds the
/// requests of a short trace.
std::string render_radix(const RadixAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
