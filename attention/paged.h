#pragma once

#include <cstdint>
#include <optional>

#include "attention/inputs.h"
#include "attention/memory_report.h"
#include "attention/output.h"
#include "attention/paged_plan.h"
#include "attention/simd_path.h"

namespace hybridkv {

/// How the paged backend runs; nothing here changes more than rounding.
struct PagedOptions {
  std::int64_t threads = 1;          ///< >= 0; 0 = one per core. The result is the same bit for bit
  std::optional<SimdPath> simd = {}; ///< unset: the fastest of this processor. Paths differ in rounding
  /// Weights are rounded to bf16 before they meet V of bf16, where the path has products of that type (avx512bf16,
  /// amx), as the kernels of engines do: two or three times the products of weights in a cycle, for errors of up to
  /// 2^-9 of the largest |V| seen. Their sum, so also the lse, is that of the weights before.
  bool round_weights = false;
};

/// Whether weights that meet V of that type are rounded. Pre: the processor has the path.
bool rounds_weights(const PagedOptions& options, DType value_dtype);

struct PagedResult {
  AttentionOutput<float> output;
  MemoryReport memory;  ///< scratch of all threads; there is never a bias
};

/// Fused attention of a mixed batch over any view of a paged cache: walks the block table tile by tile, converts K and
/// V as they come, keeps a running maximum and sum per row (online softmax) and materialises neither a bias nor the
/// scores. All tokens are read from the cache, the new ones too, so `is_decode`, `key_new` and `value_new` do not
/// matter. Every mask, GQA, MLA, soft cap, sinks, every element type.
///
/// A token's order of summation is a function of its position and its request's keys alone: it gets the same bits in
/// every batch, on any number of threads. What a token may not see does not reach its result, NaN included.
/// Throws InputError as `check_inputs`, and for a path that this processor does not have.
/// Source: FlashAttention (online softmax), Flash-Decoding (splits), vLLM's paged attention.
PagedResult paged_attention(const AttentionInputs& inputs, const PagedOptions& options = {});

/// The same with a plan made before; one plan serves all layers of a group that have the same shape.
/// Pre: the plan is `plan_paged` of these metadata, which `check_metadata` accepts, and this shape. Throws as
/// `check_tensors`, and for a path as above.
PagedResult paged_attention(const AttentionInputs& inputs, const PagedPlan& plan, const PagedOptions& options);

/// The plan of a batch in a group of layers. Pre: check_metadata. Throws InputError for options as above.
PagedPlan plan_paged(const CommonAttentionMetadata& metadata, const AttentionShape& shape, const PagedOptions& options);

}  // namespace hybridkv
