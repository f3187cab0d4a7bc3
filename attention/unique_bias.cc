#include "attention/unique_bias.h"

#include <algorithm>

#include "attention/output.h"

namespace hybridkv {

std::int64_t unique_bias_rows(const std::vector<UniqueBlock>& unique, UniqueBiasMode mode) {
  if (mode == UniqueBiasMode::gathered) return static_cast<std::int64_t>(unique.size());
  return unique.empty() ? 0 : unique.back().id + 1;
}

std::int64_t unique_bias_row(const std::vector<UniqueBlock>& unique, UniqueBiasMode mode, std::int64_t i) {
  return mode == UniqueBiasMode::gathered ? i : unique[i].id;
}

template <class Real>
std::vector<Real> unique_bias(const std::vector<UniqueBlock>& unique, UniqueBiasMode mode, std::int64_t block_size,
                              MemoryReport& memory) {
  std::vector<Real> bias = memory.allocate_bias<Real>("unique_bias", {unique_bias_rows(unique, mode), block_size},
                                                      minus_infinity<Real>);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(unique.size()); ++i) {
    const auto row = bias.begin() + unique_bias_row(unique, mode, i) * block_size;
    std::fill(row + unique[i].start, row + unique[i].slots, Real{0});
  }
  return bias;
}

template std::vector<float> unique_bias(const std::vector<UniqueBlock>&, UniqueBiasMode, std::int64_t, MemoryReport&);
template std::vector<double> unique_bias(const std::vector<UniqueBlock>&, UniqueBiasMode, std::int64_t,
                                         MemoryReport&);

}  // namespace hybridkv
