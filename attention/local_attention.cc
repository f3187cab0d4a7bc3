#include "attention/local_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

DerivedMetadata local_attention_batches(const CommonAttentionMetadata& metadata, std::int64_t chunk_tokens) {
  const std::int64_t block_size = metadata.block_size_tokens;
  if (chunk_tokens < 1 || block_size < 1 || chunk_tokens % block_size != 0)
    throw InputError(fmt::format("local attention: chunks of {} tokens do not consist of whole blocks of {}; take a "
                                 "block size that divides the chunk, or a backend that knows the chunked_local mask",
                                 chunk_tokens, block_size));
  if (!metadata.causal) throw InputError("local attention: chunks are defined for causal attention");
  check_metadata(metadata, {MaskKind::chunked_local, chunk_tokens});

  DerivedMetadata local;
  local.metadata.block_size_tokens = block_size;
  local.metadata.max_blocks_per_req = chunk_tokens / block_size;
  local.metadata.slot_mapping = metadata.slot_mapping;
  local.metadata.query_start_loc = {0};
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    const std::int64_t end = metadata.seq_lens[request];
    // The query tokens stand at positions [position, end).
    for (std::int64_t position = metadata.num_computed_tokens[request]; position < end || position < 0;) {
      const std::int64_t chunk_start = std::max<std::int64_t>(0, position) / chunk_tokens * chunk_tokens;
      const std::int64_t piece_end = std::min(end, chunk_start + chunk_tokens);
      local.append(request, piece_end - position, piece_end - chunk_start);
      for (std::int64_t i = 0; i < local.metadata.max_blocks_per_req; ++i) {
        const std::int64_t column = std::min(chunk_start / block_size + i, metadata.max_blocks_per_req - 1);
        local.metadata.block_table.push_back(column < 0 ? 0 : metadata.block(request, column));
      }
      position = piece_end;
    }
  }
  return local;
}

AttentionInputs local_attention_inputs(const AttentionInputs& inputs) {
  expects(inputs.mask.kind == MaskKind::chunked_local, "the mask is chunked_local");
  DerivedMetadata local = local_attention_batches(*inputs.metadata, inputs.mask.window_tokens);
  AttentionInputs result = inputs;
  result.is_decode = local.decodes_of(inputs.is_decode);
  result.metadata = std::make_shared<const CommonAttentionMetadata>(std::move(local.metadata));
  result.mask = {};
  return result;
}

}  // namespace hybridkv
