#include "attention/bias_bytes.h"

#include <string>

#include "layout/checked.h"

namespace hybridkv {

namespace {

Allocation dense(std::string what, std::vector<std::int64_t> shape, std::int64_t element_bytes) {
  Checked bytes = element_bytes;
  for (const std::int64_t extent : shape) bytes *= extent;
  return {std::move(what), std::move(shape), bytes};
}

}  // namespace

std::vector<Allocation> bias_allocations(const BiasWorkload& work) {
  constexpr std::int64_t int32_bytes = 4;
  std::vector<Allocation> result;
  if (work.causal && work.query_tokens > 0)
    result.push_back(dense("causal_bias", {work.query_tokens, work.query_tokens}, work.element_bytes));
  if (is_chunked(work.mode, work.shared_blocks, work.chunk_blocks)) {
    const std::int64_t columns = round_up(work.shared_blocks, work.chunk_blocks);
    result.push_back(dense("block_usages", {work.query_tokens, columns}, int32_bytes));
    if (work.windowed) result.push_back(dense("block_starts", {work.query_tokens, columns}, int32_bytes));
    result.push_back(dense("chunk_bias_buffer", {work.query_tokens, work.chunk_blocks, work.block_size_tokens},
                           work.element_bytes));
  } else if (work.shared_blocks > 0) {
    if (work.mode == SharedBiasMode::sparse)
      result.push_back(dense("usage_coordinates", {3, work.coordinates}, int32_bytes));
    result.push_back(dense("shared_bias", {work.query_tokens, work.shared_blocks, work.block_size_tokens},
                           work.element_bytes));
  }
  if (work.unique_rows > 0)
    result.push_back(dense("unique_bias", {work.unique_rows, work.block_size_tokens}, work.element_bytes));
  return result;
}

}  // namespace hybridkv
