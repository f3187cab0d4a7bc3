#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attention/batch_spec.h"

namespace hybridkv {

/// A batch that engines test their attention backends with.
struct NamedBatch {
  std::string_view name;
  std::string_view spec;  ///< as parse_batch_spec reads it
  bool is_large = false;  ///< too large for a float64 reference in every run of the tests
};

/// All of them, small ones first. Source: the batches of vLLM's attention backend tests.
std::span<const NamedBatch> named_batches();

/// Whether large batches come in full or with an eighth of their sequence lengths.
enum class BatchScale { full, large_reduced };

/// The batch of that name. Throws InputError, with all names, for another one.
/// Example: small_decode: sequences of 32 and 40 tokens, one query token each; large_decode with `large_reduced`:
/// 32 sequences of 256 instead of 2048 tokens.
BatchSpec named_batch(std::string_view name, BatchScale scale = BatchScale::full);

}  // namespace hybridkv
