#pragma once

#include <cstdint>
#include <vector>

#include "attention/memory_report.h"

namespace hybridkv {

/// How the bias of shared blocks comes about.
enum class SharedBiasMode {
  full,     ///< dense over all shared blocks at once
  chunked,  ///< dense over `chunk_blocks` shared blocks at a time, generated from the block usages; full where there
            ///< are not more shared blocks than the chunk
  sparse,   ///< the same bias as full, scattered from a list of coordinates
};

/// Whether chunks are used at all. Source: vllm-gaudi PR 784.
constexpr bool is_chunked(SharedBiasMode mode, std::int64_t shared_blocks, std::int64_t chunk_blocks) {
  return mode == SharedBiasMode::chunked && shared_blocks > chunk_blocks;
}

/// What the biases of one batch in the unified algorithm depend on.
struct BiasWorkload {
  std::int64_t query_tokens = 0;         ///< T
  bool causal = true;                    ///< a request of the batch is no decode
  std::int64_t shared_blocks = 0;
  std::int64_t unique_rows = 0;          ///< highest unique block id + 1, or the unique blocks where they are gathered
  std::int64_t block_size_tokens = 0;    ///< B
  SharedBiasMode mode = SharedBiasMode::chunked;
  std::int64_t chunk_blocks = 64;        ///< >= 1
  bool windowed = false;                 ///< a window or chunk: usages have starts
  std::int64_t coordinates = 0;          ///< sparse only: padded length of the list
  std::int64_t element_bytes = 2;        ///< of a bias
};

/// Every bias the algorithm materialises for such a batch, in the order it does, by formula:
/// causal_bias (T, T); shared_bias (T, shared, B), or block_usages (T, shared rounded up to the chunk) in int32 and
/// chunk_bias_buffer (T, chunk, B), or usage_coordinates (3, coordinates) in int32 before the shared_bias;
/// under a window block_starts like the block_usages and after them, which is ours and not published;
/// unique_bias (unique rows, B). What would be empty is left out.
/// Source: vllm-gaudi PR 784.
/// Example: 8192 tokens, 10,000 shared blocks of 128, 2 bytes: shared_bias 19.53 GiB full, chunk_bias_buffer 128 MiB
/// at chunk 64. Throws InputError where a size overflows 64 bits.
std::vector<Allocation> bias_allocations(const BiasWorkload& workload);

}  // namespace hybridkv
