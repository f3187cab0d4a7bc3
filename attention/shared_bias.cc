#include "attention/shared_bias.h"

#include <algorithm>

#include "attention/output.h"
#include "base/error.h"

namespace hybridkv {

template <class Real>
std::vector<Real> full_shared_bias(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                                   const std::vector<SharedBlock>& shared, MemoryReport& memory,
                                   const KeyMask& mask) {
  const auto num_blocks = static_cast<std::int64_t>(shared.size());
  const std::int64_t block_size = metadata.block_size_tokens;
  std::vector<Real> bias = memory.allocate_bias<Real>(
      "shared_bias", {metadata.num_actual_tokens, num_blocks, block_size}, minus_infinity<Real>);
  for_each_shared_usage(metadata, is_decode, shared, [&](const SharedUsage& seen) {
    const auto pair = bias.begin() + (seen.token * num_blocks + seen.column) * block_size;
    std::fill(pair + seen.start, pair + seen.usage, Real{0});
  }, mask);
  return bias;
}

template <class Real>
void fill_chunk_bias(const BlockUsages& usages, std::int64_t first_column, std::int64_t num_blocks,
                     std::int64_t block_size, std::span<Real> bias) {
  expects(first_column >= 0 && first_column + num_blocks <= usages.num_columns, "the chunk lies in the usages");
  expects(static_cast<std::int64_t>(bias.size()) == usages.num_tokens * num_blocks * block_size,
          "the bias has the size of the chunk");
  Real* next = bias.data();
  for (std::int64_t token = 0; token < usages.num_tokens; ++token) {
    const std::int64_t first = token * usages.num_columns + first_column;
    for (std::int64_t pair = first; pair < first + num_blocks; ++pair) {
      const std::int32_t start = usages.starts.empty() ? 0 : usages.starts[pair];
      next = std::fill_n(next, start, minus_infinity<Real>);
      next = std::fill_n(next, usages.values[pair] - start, Real{0});
      next = std::fill_n(next, block_size - usages.values[pair], minus_infinity<Real>);
    }
  }
}

template <class Real>
std::vector<Real> sparse_shared_bias(const UsageCoordinates& coordinates, std::int64_t num_tokens,
                                     std::int64_t num_blocks, std::int64_t block_size, MemoryReport& memory) {
  std::vector<Real> bias =
      memory.allocate_bias<Real>("shared_bias", {num_tokens, num_blocks, block_size}, minus_infinity<Real>);
  for (std::int64_t i = 0; i < coordinates.length; ++i) {
    const std::int64_t token = coordinates.tokens()[i];
    if (token == UsageCoordinates::padding) continue;
    const auto pair = bias.begin() + (token * num_blocks + coordinates.columns()[i]) * block_size;
    std::fill_n(pair, coordinates.usages()[i], Real{0});
  }
  return bias;
}

template std::vector<float> full_shared_bias(const CommonAttentionMetadata&, const std::vector<bool>&,
                                             const std::vector<SharedBlock>&, MemoryReport&,
                                                     const KeyMask&);
template std::vector<double> full_shared_bias(const CommonAttentionMetadata&, const std::vector<bool>&,
                                              const std::vector<SharedBlock>&, MemoryReport&,
                                                     const KeyMask&);
template void fill_chunk_bias(const BlockUsages&, std::int64_t, std::int64_t, std::int64_t, std::span<float>);
template void fill_chunk_bias(const BlockUsages&, std::int64_t, std::int64_t, std::int64_t, std::span<double>);
template std::vector<float> sparse_shared_bias(const UsageCoordinates&, std::int64_t, std::int64_t, std::int64_t,
                                               MemoryReport&);
template std::vector<double> sparse_shared_bias(const UsageCoordinates&, std::int64_t, std::int64_t, std::int64_t,
                                                MemoryReport&);

}  // namespace hybridkv
