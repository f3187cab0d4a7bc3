#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/output.h"

namespace hybridkv {

/// Attention over some of the keys, before the division by the sum: the triple (weighted V, m, d) of every query
/// token and head, with m the largest score, d the sum of exp(score - m), weighted V the sum of exp(score - m) * V.
///
/// `merge` joins the results of two disjoint sets of keys. It is commutative and associative with identity
/// (0, -inf, 0), up to rounding, so keys may be split anywhere and merged in any order; no NaN arises from a
/// token without keys. Source: vllm-gaudi PR 784; FlashInfer's attention states.
template <class Real>
struct Partial {
  /// The identity: no key seen yet.
  Partial(std::int64_t tokens, std::int64_t heads, std::int64_t channels);

  std::int64_t num_tokens, num_heads, head_size;
  std::vector<Real> weighted;  ///< (token, head, channel)
  std::vector<Real> max;       ///< (token, head), m
  std::vector<Real> sum;       ///< (token, head), d

  /// Merges the triple of one row (token * num_heads + head) into this one.
  void merge_row(std::int64_t row, std::span<const Real> other_weighted, Real other_max, Real other_sum);
  std::span<const Real> weighted_row(std::int64_t row) const {
    return std::span(weighted).subspan(row * head_size, head_size);
  }
};

/// Online merge: `into` takes up another set of keys. Pre: the same tokens, heads and channels.
template <class Real>
void merge(Partial<Real>& into, const Partial<Real>& other);

/// Offline merge: the common maximum of all parts first, then each part scaled to it once.
/// Pre: at least one part; the same tokens, heads and channels.
template <class Real>
Partial<Real> merge_all(std::span<const Partial<Real>> parts);

/// Merges the sink of every query head, a key without value: the triple (0, sink, 1). Once per result; none where
/// `sinks` is empty. Pre: one per head. Source: gpt-oss, vLLM PR 22330.
template <class Real>
void merge_sinks(Partial<Real>& into, std::span<const float> sinks);

/// out = weighted / max(d, tiny), lse = m + ln(d): 0 and -inf for a token without keys.
template <class Real>
AttentionOutput<Real> finish(const Partial<Real>& partial);

extern template struct Partial<float>;
extern template struct Partial<double>;
extern template void merge(Partial<float>&, const Partial<float>&);
extern template void merge(Partial<double>&, const Partial<double>&);
extern template void merge_sinks(Partial<float>&, std::span<const float>);
extern template void merge_sinks(Partial<double>&, std::span<const float>);
extern template Partial<float> merge_all(std::span<const Partial<float>>);
extern template Partial<double> merge_all(std::span<const Partial<double>>);
extern template AttentionOutput<float> finish(const Partial<float>&);
extern template AttentionOutput<double> finish(const Partial<double>&);

}  // namespace hybridkv
