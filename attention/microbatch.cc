#include "attention/microbatch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

DerivedMetadata slice_metadata(const CommonAttentionMetadata& metadata, std::int64_t first_token,
                               std::int64_t last_token, const KeyMask& mask) {
  check_metadata(metadata, mask);
  if (first_token < 0 || last_token < first_token || last_token > metadata.num_actual_tokens)
    throw InputError(fmt::format("microbatch: tokens [{}, {}) of a batch of {}", first_token, last_token,
                                 metadata.num_actual_tokens));
  DerivedMetadata slice;
  slice.metadata.block_size_tokens = metadata.block_size_tokens;
  slice.metadata.max_blocks_per_req = metadata.max_blocks_per_req;
  slice.metadata.causal = metadata.causal;
  slice.metadata.query_start_loc = {0};
  slice.metadata.slot_mapping.assign(metadata.slot_mapping.begin() + first_token,
                                     metadata.slot_mapping.begin() + last_token);
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    const std::int64_t begin = metadata.query_start_loc[request], end = metadata.query_start_loc[request + 1];
    const std::int64_t piece_begin = std::max(begin, first_token), piece_end = std::min(end, last_token);
    if (piece_begin >= piece_end) continue;
    if (!metadata.causal && (piece_begin != begin || piece_end != end))
      throw InputError(fmt::format("microbatch: tokens [{}, {}) cut request {} with tokens [{}, {}), which see later "
                                   "ones (not causal); cut between requests",
                                   first_token, last_token, request, begin, end));
    // Where there are more queries than keys, a piece may lie before the sequence.
    slice.append(request, piece_end - piece_begin,
                 std::max<std::int64_t>(0, metadata.seq_lens[request] - (end - piece_end)));
    const auto row = metadata.block_table.begin() + request * metadata.max_blocks_per_req;
    slice.metadata.block_table.insert(slice.metadata.block_table.end(), row, row + metadata.max_blocks_per_req);
  }
  return slice;
}

AttentionTensors slice_tensors(const AttentionTensors& tensors, std::int64_t first_token, std::int64_t last_token) {
  const auto rows = [&](std::span<const float> tensor, std::int64_t row_size) {
    return tensor.subspan(first_token * row_size, (last_token - first_token) * row_size);
  };
  AttentionTensors slice = tensors;
  slice.query = rows(tensors.query, tensors.num_query_heads * tensors.head_size_k());
  slice.key_new = rows(tensors.key_new, tensors.num_kv_heads() * tensors.head_size_k());
  slice.value_new = rows(tensors.value_new, tensors.num_kv_heads() * tensors.head_size_v());
  return slice;
}

AttentionInputs slice_inputs(const AttentionInputs& inputs, std::int64_t first_token, std::int64_t last_token) {
  check_inputs(inputs);
  DerivedMetadata slice = slice_metadata(*inputs.metadata, first_token, last_token, inputs.mask);
  std::vector<bool> is_decode = slice.decodes_of(inputs.is_decode);
  return {slice_tensors(inputs, first_token, last_token),
          std::make_shared<const CommonAttentionMetadata>(std::move(slice.metadata)), std::move(is_decode)};
}

}  // namespace hybridkv
