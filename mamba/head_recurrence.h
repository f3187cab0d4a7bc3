#pragma once

#include <cstdint>

namespace hybridkv {

/// Rows of one head inside a wider table: row t begins at data + t * stride.
struct HeadRows {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

/// Consecutive tokens of one head of a decayed linear recurrence.
struct HeadChunk {
  std::int64_t tokens = 0;      ///< >= 1
  std::int64_t key_dim = 0;     ///< columns of the state
  std::int64_t value_dim = 0;   ///< rows of the state
  HeadRows query;               ///< (token, key), scaled
  HeadRows key;                 ///< (token, key)
  HeadRows value;               ///< (token, value)
  HeadRows log_decay;           ///< (token, 1) or, by_channel, (token, key); <= 0
  bool decays_by_channel = false;
  const float* beta = nullptr;  ///< (token); null: no delta rule, every value is added as it is
  HeadRows read, write;         ///< (token, key) of a generalised delta rule: S a b^T is added too; null: none
  float* output = nullptr;      ///< (token, value), rows `output_stride` apart
  std::int64_t output_stride = 0;
};

/// Runs a chunk with matrix products instead of token by token: `state` (value, key) becomes that after the last
/// token.
///
/// With L the running sum of log decays: the outputs are (Q e^L) S^T + (Q K^T decayed) U and the state becomes
/// S e^L + U^T (K e^(L_end - L)). Without a delta rule U = V; with one U solves the unit triangular system
/// (I + beta (K K^T decayed, strictly lower)) U = beta (V - (K e^L) S^T), the WY form of the product of
/// Householder-like factors. A generalised rule S = S (diag(e^g) + a b^T) + v k^T adds what a reads before each token
/// along b, a system of the same form. Decays never enter as e^(-L): every exponent is a difference that is not
/// positive, so nothing overflows; L and the differences are double, so that strong decays over a long chunk lose
/// nothing but their own rounding.
/// Source: Yang et al., Parallelizing Linear Transformers with the Delta Rule, 2024; Dao and Gu, Mamba-2, 2024;
/// Peng et al., RWKV-7, 2025.
void run_head_chunk(const HeadChunk& chunk, float* state);

}  // namespace hybridkv
