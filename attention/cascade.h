#pragma once

#include <cstdint>
#include <optional>

#include "attention/inputs.h"
#include "attention/memory_report.h"
#include "attention/output.h"

namespace hybridkv {

/// How the cascade runs.
struct CascadeOptions {
  /// Tokens of the common prefix, a multiple of the block size; nothing = all that `common_prefix_tokens` finds.
  /// 0 is no cascade: every request for itself.
  std::optional<std::int64_t> common_prefix_tokens = {};
  std::int64_t tile_tokens = 1024;  ///< keys converted and scored at a time, >= 1, rounded up to whole blocks
  std::int64_t threads = 1;         ///< >= 0; 0 = one per core. KV heads are shared out; the result is the same
};

/// What the cascade makes of a batch, whatever layer runs. The biases of its tiles are scratch of one tile each and so
/// made as it goes.
struct CascadePlan {
  std::int64_t common_prefix_tokens = 0;  ///< computed once, a multiple of the block size
  std::int64_t tile_tokens = 0;           ///< whole blocks
  std::int64_t threads = 1;               ///< as in CascadeOptions
};
/// Throws InputError for a prefix that is no multiple of the block size or longer than the common one, and for a tile
/// below 1 token or less than no threads. Pre: check_metadata.
CascadePlan plan_cascade(const CommonAttentionMetadata& metadata, const CascadeOptions& options = {});

/// Result of the cascade, computed in Real.
template <class Real>
struct CascadeResult {
  AttentionOutput<Real> output;
  std::int64_t common_prefix_tokens = 0;  ///< what was computed once
  MemoryReport memory;
};

/// Attention in two levels: the prefix that all requests have in common against all query tokens of the batch, in one
/// dense pass without a mask, and each request against the keys of its own behind it; the two partial results of every
/// token are merged, then the sinks, once. The keys of the prefix are read once instead of once per request. All
/// keys come from the cache, which holds the new tokens already; decodes and prompts are treated alike.
/// GQA, MLA and soft caps; slots that no token may see are not read.
/// Throws InputError as `check_inputs` and `plan_cascade`, and for a window or chunk (the prefix would need a mask).
/// Source: FlashInfer's cascade inference (MultiLevelCascadeAttentionWrapper) and cascade_attention of vLLM's
/// FlashAttention backend.
template <class Real>
CascadeResult<Real> cascade_attention(const AttentionInputs& inputs, const CascadeOptions& options = {});

/// The same with a plan made before, which serves all layers of a group. Pre: the plan is `plan_cascade` of these
/// metadata, which `check_metadata` accepts.
template <class Real>
CascadeResult<Real> cascade_attention(const AttentionInputs& inputs, const CascadePlan& plan);

extern template CascadeResult<float> cascade_attention(const AttentionInputs&, const CascadeOptions&);
extern template CascadeResult<double> cascade_attention(const AttentionInputs&, const CascadeOptions&);
extern template CascadeResult<float> cascade_attention(const AttentionInputs&, const CascadePlan&);
extern template CascadeResult<double> cascade_attention(const AttentionInputs&, const CascadePlan&);

}  // namespace hybridkv
