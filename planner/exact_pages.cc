#include "planner/exact_pages.h"

#include "base/checked.h"
#include "planner/page_sizes.h"

namespace hybridkv {

std::int64_t exact_unit(std::span<const SpecPlan> specs, const EngineSpec& engine) {
  std::int64_t unit = engine.page_alignment_bytes;
  for (const SpecPlan& spec : specs) {
    if (!spec.state) continue;
    for (const StateTensor& tensor : spec.state->tensors) unit = checked_lcm(unit, element_bytes(tensor.dtype));
  }
  return unit;
}

std::int64_t exact_page_bytes(const SpecPlan& spec, std::int64_t unit) {
  return round_up(spec.unpadded_page_bytes, unit);
}

void note_exact_page(SpecPlan& spec, std::int64_t unit, RuleOf rule, const DerivationLog& log) {
  const std::int64_t page = exact_page_bytes(spec, unit);
  spec.padding_percent = padding_percent(page, spec.unpadded_page_bytes);
  const Term unpadded{"unpadded", spec.unpadded_page_bytes, "bytes"};
  log.add([&] {
    return Decision{{"groups of " + spec_label(spec), 1, ""}, "1: all layers share a table", {}, log.cite(rule)};
  });
  log.add([&] {
    return Decision{{"page of " + spec_label(spec), page, "bytes"},
                    "page = unit * ceil(unpadded / unit): whole elements, and the user's alignment",
                    {{"unit", unit, "bytes"}, unpadded},
                    log.cite(rule)};
  });
  log.add([&] {
    return Decision{{"padding of " + spec_label(spec), spec.padding_percent, "%"},
                    "padding = 100 * (page - unpadded) / unpadded", {{"page", page, "bytes"}, unpadded},
                    log.cite(rule)};
  });
}

}  // namespace hybridkv
