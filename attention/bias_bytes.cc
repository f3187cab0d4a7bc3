#include "attention/bias_bytes.h"

#include <string>

#include "base/checked.h"

namespace hybridkv {

std::vector<Allocation> bias_allocations(const BiasWorkload& work) {
  constexpr std::int64_t int32_bytes = 4;
  std::vector<Allocation> result;
  if (work.causal && work.query_tokens > 0)
    result.push_back(dense_allocation("causal_bias", {work.query_tokens, work.query_tokens}, work.element_bytes));
  if (is_chunked(work.mode, work.shared_blocks, work.chunk_blocks)) {
    const std::int64_t columns = round_up(work.shared_blocks, work.chunk_blocks);
    result.push_back(dense_allocation("block_usages", {work.query_tokens, columns}, int32_bytes));
    if (work.windowed) result.push_back(dense_allocation("block_starts", {work.query_tokens, columns}, int32_bytes));
    result.push_back(dense_allocation(
        "chunk_bias_buffer", {work.query_tokens, work.chunk_blocks, work.block_size_tokens}, work.element_bytes));
  } else if (work.shared_blocks > 0) {
    if (work.mode == SharedBiasMode::sparse)
      result.push_back(dense_allocation("usage_coordinates", {3, work.coordinates}, int32_bytes));
    result.push_back(dense_allocation("shared_bias", {work.query_tokens, work.shared_blocks, work.block_size_tokens},
                           work.element_bytes));
  }
  if (work.unique_rows > 0)
    result.push_back(dense_allocation("unique_bias", {work.unique_rows, work.block_size_tokens}, work.element_bytes));
  return result;
}

}  // namespace hybridkv
