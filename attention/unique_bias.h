#pragma once

#include <cstdint>
#include <vector>

#include "attention/block_usage.h"
#include "attention/memory_report.h"

namespace hybridkv {

/// Which rows the bias of unique blocks has.
enum class UniqueBiasMode {
  contiguous,  ///< block ids 0 to the highest unique one, as published; only unique blocks are read all the same
  gathered,    ///< the unique blocks, in their order
};

/// Rows of the bias. Source: vllm-gaudi PR 784.
std::int64_t unique_bias_rows(const std::vector<UniqueBlock>& unique, UniqueBiasMode mode);

/// Row of the bias of the i-th unique block.
std::int64_t unique_bias_row(const std::vector<UniqueBlock>& unique, UniqueBiasMode mode, std::int64_t i);

/// Bias (row, slot) of the unique blocks: 0 for the slots their token sees, -inf elsewhere.
/// Enters it into `memory` as "unique_bias".
template <class Real>
std::vector<Real> unique_bias(const std::vector<UniqueBlock>& unique, UniqueBiasMode mode, std::int64_t block_size,
                              MemoryReport& memory);

extern template std::vector<float> unique_bias(const std::vector<UniqueBlock>&, UniqueBiasMode, std::int64_t,
                                               MemoryReport&);
extern template std::vector<double> unique_bias(const std::vector<UniqueBlock>&, UniqueBiasMode, std::int64_t,
                                                MemoryReport&);

}  // namespace hybridkv
