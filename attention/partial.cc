#include "attention/partial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/output.h"
#include "base/error.h"

namespace hybridkv {

namespace {

/// Larger of two scores; NaN if one is, so that a NaN score is not lost in a merge.
template <class Real>
Real larger(Real a, Real b) {
  return std::isnan(b) ? b : std::max(a, b);
}

/// exp(m - common), 0 for a part without keys: -inf minus -inf would be NaN.
template <class Real>
Real scale_to(Real common, Real m) {
  return m == minus_infinity<Real> ? Real{0} : std::exp(m - common);
}

template <class Real>
void check_same_shape(const Partial<Real>& a, const Partial<Real>& b) {
  expects(a.num_tokens == b.num_tokens && a.num_heads == b.num_heads && a.head_size == b.head_size,
          "partial results of the same tokens, heads and channels are merged");
}

}  // namespace

template <class Real>
Partial<Real>::Partial(std::int64_t tokens, std::int64_t heads, std::int64_t channels)
    : num_tokens(tokens),
      num_heads(heads),
      head_size(channels),
      weighted(tokens * heads * channels),
      max(tokens * heads, minus_infinity<Real>),
      sum(tokens * heads) {}

template <class Real>
void Partial<Real>::merge_row(std::int64_t row, std::span<const Real> other_weighted, Real other_max, Real other_sum) {
  const Real common = larger(max[row], other_max);
  const Real own_scale = scale_to(common, max[row]), other_scale = scale_to(common, other_max);
  Real* own_weighted = weighted.data() + row * head_size;
  for (std::int64_t c = 0; c < head_size; ++c)
    own_weighted[c] = own_weighted[c] * own_scale + other_weighted[c] * other_scale;
  sum[row] = sum[row] * own_scale + other_sum * other_scale;
  max[row] = common;
}

template <class Real>
void merge(Partial<Real>& into, const Partial<Real>& other) {
  check_same_shape(into, other);
  for (std::int64_t row = 0; row < into.num_tokens * into.num_heads; ++row)
    into.merge_row(row, other.weighted_row(row), other.max[row], other.sum[row]);
}

template <class Real>
Partial<Real> merge_all(std::span<const Partial<Real>> parts) {
  expects(!parts.empty(), "there is a part to merge");
  Partial<Real> result(parts[0].num_tokens, parts[0].num_heads, parts[0].head_size);
  for (const Partial<Real>& part : parts) {
    check_same_shape(result, part);
    std::transform(result.max.begin(), result.max.end(), part.max.begin(), result.max.begin(), larger<Real>);
  }
  for (const Partial<Real>& part : parts) {
    for (std::int64_t row = 0; row < result.num_tokens * result.num_heads; ++row) {
      const Real scale = scale_to(result.max[row], part.max[row]);
      for (std::int64_t c = row * result.head_size; c < (row + 1) * result.head_size; ++c)
        result.weighted[c] += part.weighted[c] * scale;
      result.sum[row] += part.sum[row] * scale;
    }
  }
  return result;
}

template <class Real>
void merge_sinks(Partial<Real>& into, std::span<const float> sinks) {
  if (sinks.empty()) return;
  expects(static_cast<std::int64_t>(sinks.size()) == into.num_heads, "there is one sink per query head");
  const std::vector<Real> no_value(into.head_size);
  for (std::int64_t row = 0; row < into.num_tokens * into.num_heads; ++row) {
    const Real sink = sinks[row % into.num_heads];
    into.merge_row(row, no_value, sink, Real{1});
  }
}

template <class Real>
AttentionOutput<Real> finish(const Partial<Real>& partial) {
  AttentionOutput<Real> output{partial.weighted, partial.max};
  for (std::int64_t row = 0; row < partial.num_tokens * partial.num_heads; ++row) {
    const Real sum = std::max(std::numeric_limits<Real>::min(), partial.sum[row]);
    for (std::int64_t c = row * partial.head_size; c < (row + 1) * partial.head_size; ++c) output.out[c] /= sum;
    output.lse[row] += std::log(partial.sum[row]);
  }
  return output;
}

template struct Partial<float>;
template struct Partial<double>;
template void merge(Partial<float>&, const Partial<float>&);
template void merge(Partial<double>&, const Partial<double>&);
template void merge_sinks(Partial<float>&, std::span<const float>);
template void merge_sinks(Partial<double>&, std::span<const float>);
template Partial<float> merge_all(std::span<const Partial<float>>);
template Partial<double> merge_all(std::span<const Partial<double>>);
template AttentionOutput<float> finish(const Partial<float>&);
template AttentionOutput<double> finish(const Partial<double>&);

}  // namespace hybridkv
