#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/block_usage.h"
#include "attention/memory_report.h"

namespace hybridkv {

/// Bias (query token, shared block, slot): slot < usage ? 0 : -inf, and -inf before the start that a window or chunk
/// sets; blocks in the order of `shared`.
/// Enters it into `memory` as "shared_bias". Source: vllm-gaudi PR 784.
template <class Real>
std::vector<Real> full_shared_bias(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                                   const std::vector<SharedBlock>& shared, MemoryReport& memory,
                                   const KeyMask& mask = {});

/// The same bias for a few blocks only, (query token, num_blocks, slot), from the columns of the block usages that
/// start at `first_column`. Overwrites all of `bias`. Pre: the columns exist; the bias has that size.
template <class Real>
void fill_chunk_bias(const BlockUsages& usages, std::int64_t first_column, std::int64_t num_blocks,
                     std::int64_t block_size, std::span<Real> bias);

/// The same bias as `full_shared_bias`, scattered from coordinates; padding entries mask nothing.
template <class Real>
std::vector<Real> sparse_shared_bias(const UsageCoordinates& coordinates, std::int64_t num_tokens,
                                     std::int64_t num_blocks, std::int64_t block_size, MemoryReport& memory);

extern template std::vector<float> full_shared_bias(const CommonAttentionMetadata&, const std::vector<bool>&,
                                                    const std::vector<SharedBlock>&, MemoryReport&,
                                                     const KeyMask&);
extern template std::vector<double> full_shared_bias(const CommonAttentionMetadata&, const std::vector<bool>&,
                                                     const std::vector<SharedBlock>&, MemoryReport&,
                                                     const KeyMask&);
extern template void fill_chunk_bias(const BlockUsages&, std::int64_t, std::int64_t, std::int64_t, std::span<float>);
extern template void fill_chunk_bias(const BlockUsages&, std::int64_t, std::int64_t, std::int64_t, std::span<double>);
extern template std::vector<float> sparse_shared_bias(const UsageCoordinates&, std::int64_t, std::int64_t,
                                                      std::int64_t, MemoryReport&);
extern template std::vector<double> sparse_shared_bias(const UsageCoordinates&, std::int64_t, std::int64_t,
                                                       std::int64_t, MemoryReport&);

}  // namespace hybridkv
