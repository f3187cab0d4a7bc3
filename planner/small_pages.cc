#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/strategies.h"
#include "planner/uniform_pages.h"

namespace hybridkv {

namespace {

/// Elements must not straddle two pages.
void require_whole_elements(const SizedPages& sized) {
  for (const SpecPlan& spec : sized.specs) {
    if (!spec.state) continue;
    for (const StateTensor& tensor : spec.state->tensors)
      if (const std::int64_t element = element_bytes(tensor.dtype); sized.page_bytes % element != 0)
        throw SpecError("engine.strategy",
                        fmt::format("small_pages: a page of {} bytes ends inside a {}-byte element of {}; take a block "
                                    "size that is a multiple of {}",
                                    sized.page_bytes, element, spec_label(spec), element));
  }
}

}  // namespace

void arrange_small_pages(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const bool has_attention =
      std::any_of(specs.begin(), specs.end(), [](const SpecPlan& spec) { return spec.is_packed(); });
  const BlockSizes blocks = free_block_sizes(inputs.model, inputs.engine, inputs.log);
  // Without attention there is no page to be small: a state is one.
  SizedPages sized = size_pages(std::move(specs), blocks, has_attention ? StatePages::split : StatePages::padded,
                                inputs.engine, inputs.limits, inputs.log);
  require_whole_elements(sized);
  share_pools(arrangement, std::move(sized), inputs.model, inputs.engine, inputs.log);
}

}  // namespace hybridkv
