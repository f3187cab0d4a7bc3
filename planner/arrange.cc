#include "planner/arrange.h"

#include "base/error.h"
#include "planner/prefix.h"

namespace hybridkv {

Arrangement arrange(std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  Arrangement arrangement;
  const EngineRules& rules = *inputs.engine.rules;
  arrangement.rules = inputs.engine.rules;
  arrangement.backend_profile = inputs.engine.backend_profile;
  arrangement.strategy = inputs.engine.strategy;
  arrangement.attention_pack_size = inputs.engine.attention_pack_size;
  arrangement.cache_mode = inputs.engine.cache_mode;
  arrangement.speculative_tokens = inputs.engine.speculative_tokens;
  arrangement.max_num_batched_tokens = inputs.engine.max_num_batched_tokens;
  arrangement.concurrent_batches = inputs.engine.concurrent_batches.value_or(rules.concurrent_batches);
  arrangement.lookahead_tokens = tokens_looked_ahead(inputs.engine);
  arrangement.decode_context_parallel = inputs.engine.decode_context_parallel;
  arrangement.what_if = inputs.engine.what_if;
  switch (inputs.engine.strategy) {
    case Strategy::packed_attention:
      // No release has packs of several layers. They get pools of their own, with the blocks that the release would
      // make.
      if (has_one_allocation(inputs.engine))
        arrange_one_allocation(arrangement, std::move(specs), inputs);
      else
        arrange_packed_attention(arrangement, std::move(specs), inputs);
      break;
    case Strategy::dual_pool: arrange_dual_pool(arrangement, std::move(specs), inputs); break;
    case Strategy::small_pages: arrange_small_pages(arrangement, std::move(specs), inputs); break;
    case Strategy::compact_slots: arrange_compact_slots(arrangement, std::move(specs), inputs); break;
    case Strategy::two_level: arrange_two_level(arrangement, std::move(specs), inputs); break;
    case Strategy::pool_groups: arrange_pool_groups(arrangement, std::move(specs), inputs); break;
    case Strategy::sequence_rows: arrange_sequence_rows(arrangement, std::move(specs), inputs); break;
  }
  return arrangement;
}

}  // namespace hybridkv
