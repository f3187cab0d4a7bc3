#include "planner/arrange.h"

#include "base/error.h"

namespace hybridkv {

Arrangement arrange(std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  Arrangement arrangement;
  arrangement.strategy = inputs.engine.strategy;
  arrangement.attention_pack_size = inputs.engine.attention_pack_size;
  arrangement.cache_mode = inputs.engine.cache_mode;
  arrangement.speculative_tokens = inputs.engine.speculative_tokens;
  arrangement.max_num_batched_tokens = inputs.engine.max_num_batched_tokens;
  switch (inputs.engine.strategy) {
    case Strategy::packed_attention: arrange_packed_attention(arrangement, std::move(specs), inputs); break;
    case Strategy::dual_pool: arrange_dual_pool(arrangement, std::move(specs), inputs); break;
    case Strategy::small_pages: arrange_small_pages(arrangement, std::move(specs), inputs); break;
  }
  return arrangement;
}

}  // namespace hybridkv
