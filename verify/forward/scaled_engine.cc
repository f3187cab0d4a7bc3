#include "verify/forward/scaled_engine.h"

#include <algorithm>

#include "planner/encoder_tokens.h"
#include "planner/group_settings.h"
#include "planner/replay_settings.h"
#include "planner/row_settings.h"
#include "planner/tree_settings.h"
#include "planner/validate.h"
#include "verify/forward/forward_slot_case.h"
#include "verify/forward/forward_snapshot_case.h"
#include "verify/forward/forward_tree_case.h"

namespace hybridkv {

namespace {

bool names_scan_chunk(const ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const LayerSpec& layer) {
    return layer.recurrent && scan_chunk_tokens(*layer.recurrent);
  });
}

void scale_groups(EngineSpec& scaled, const OwnSettings& own) {
  scaled.kernel_alignment_tokens.reset();  // blocks are theirs, and no scan asks for any
  scaled.mamba_block_size_tokens.reset();
  scaled.max_running_requests.reset();
  scaled.state_memory_ratio.reset();  // of one mode, and others run too
  scaled.block_size_tokens = snapshot_case_block_tokens;
  scaled.own = {};
  scaled.own.set(group_key::periodic_snapshot_interval, snapshot_case_block_tokens);
  for (const auto* const kept : {&group_key::enable_partial_reuse, &group_key::prunes_stale_leaves})
    if (const auto value = own.find(*kept)) scaled.own.set(*kept, *value);
  if (const auto host = own.find(group_key::host_cache_size)) scaled.own.set(group_key::host_cache_size, *host);
}

}  // namespace

EngineSpec scaled_engine(const ModelSpec& model, const EngineSpec& engine, CacheMode mode,
                         std::int64_t speculative_tokens) {
  EngineSpec scaled = engine;
  scaled.tensor_parallel = 1;
  scaled.cache_mode = mode;
  scaled.speculative_tokens = speculative_tokens;
  scaled.draft.reset();
  if (engine.draft) scaled.layers_per_group.reset();  // may be more than the layers that are left
  scaled.hidden_state_size = 0;
  scaled.own.reset(replay_key::use_replayssm);  // what kernels compute it from is not followed
  scaled.block_size_tokens.reset();
  scaled.mamba_block_size_tokens.reset();
  // The cases count in blocks, at each of which a state is kept; small ones where no scan asks for its own.
  if (engine.strategy != Strategy::packed_attention || !names_scan_chunk(model)) scaled.mamba_block_size_tokens = 16;
  scaled.pipeline_parallel = 1;  // one network runs, whole
  scaled.pipeline_rank = 0;
  scaled.pipeline_layers.clear();
  scaled.pipeline_memory_bytes.clear();
  scaled.decode_context_parallel = 1;
  scaled.prefix_match_unit_tokens.reset();  // of the model's blocks; a case takes one of the scaled ones
  scaled.kernel_alignment_tokens = 16;
  scaled.kernel_block_sizes.clear();
  scaled.page_alignment_bytes = 1;
  if (engine.strategy == Strategy::pool_groups) scale_groups(scaled, engine.own);
  if (engine.strategy == Strategy::sequence_rows) {
    scaled.kernel_alignment_tokens.reset();
    scaled.mamba_block_size_tokens.reset();
    scaled.max_running_requests = most_forward_slots;
    scaled.own.set(row_key::kv_unified, true);
    scaled.own.reset(row_key::ctx_size);  // as many as the cases need
    scaled.own.reset(row_key::batch_size);
    scaled.own.reset(row_key::ubatch_size);
  }
  // A length that fills no block, so that what lies behind the last token is in one.
  constexpr std::int64_t most_encoder_tokens = 37;
  if (has_cross_attention(model))
    scaled.encoder_tokens = std::min(encoder_tokens_of(model, engine), most_encoder_tokens);
  set_memory(scaled, 1);
  scaled.num_blocks = 1 << 20;
  return scaled;
}

EngineSpec scaled_tree_engine(const EngineSpec& engine, const TreeVariant& variant) {
  const auto [strategy, page_tokens] = variant;
  EngineSpec scaled = engine;
  scaled.tensor_parallel = 1;
  scaled.cache_mode = CacheMode::align;
  scaled.speculative_tokens = 0;
  scaled.state_memory_ratio.reset();
  scaled.pipeline_parallel = 1;
  scaled.pipeline_rank = 0;
  scaled.pipeline_layers.clear();
  scaled.pipeline_memory_bytes.clear();
  scaled.own.set(tree_key::mamba_radix_cache_strategy, strategy);
  scaled.own.set(tree_key::page_size, page_tokens);
  scaled.own.reset(tree_key::mamba_track_interval);
  if (strategy != TreeStrategy::no_buffer) scaled.own.set(tree_key::mamba_track_interval, page_tokens);
  scaled.max_num_batched_tokens = most_forward_tree_tokens(page_tokens);
  scaled.own.set(tree_key::max_mamba_cache_size, most_forward_tree_states);
  scaled.own.set(tree_key::max_total_tokens, most_forward_tree_tokens(page_tokens));
  scaled.max_running_requests.reset();
  scaled.own.reset(tree_key::attention_data_parallel);
  scaled.own.reset(tree_key::unified_memory);
  scaled.own.reset(tree_key::linear_replayssm_spec);
  scaled.memory_bytes = std::int64_t{1} << 40;
  return scaled;
}

std::vector<TreeVariant> tree_variants(const EngineSpec& engine) {
  const TreeStrategy asked = engine.own[tree_key::mamba_radix_cache_strategy];
  std::vector<TreeStrategy> strategies{asked};
  if (asked == TreeStrategy::automatic) {
    strategies = {TreeStrategy::no_buffer, TreeStrategy::extra_buffer};
    if (engine.own[tree_key::overlap_schedule]) strategies.push_back(TreeStrategy::extra_buffer_lazy);
  }
  std::vector<std::int64_t> pages{1, 16};
  const std::optional<std::int64_t> set_page = engine.own.find(tree_key::page_size);
  if (set_page) pages = {*set_page};
  std::vector<TreeVariant> variants;
  for (const TreeStrategy strategy : strategies)
    for (const std::int64_t page : pages) {
      // Left out where it cannot be; where both are set, the planner refuses it.
      const bool both_set = set_page && asked == strategy;
      if (page == 1 || strategy != TreeStrategy::no_buffer || both_set) variants.push_back({strategy, page});
    }
  return variants;
}

}  // namespace hybridkv
