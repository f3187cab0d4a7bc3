#include "planner/strategies.h"
#include "planner/uniform_pages.h"

namespace hybridkv {

void arrange_packed_attention(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const std::int64_t block = uniform_block_size(specs, inputs.model, inputs.engine, inputs.log);
  share_pools(
      arrangement,
      size_pages(std::move(specs), {block, block}, StatePages::padded, inputs.engine, inputs.limits, inputs.log),
      inputs.model, inputs.engine, inputs.log);
}

}  // namespace hybridkv
