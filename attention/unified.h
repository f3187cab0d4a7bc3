#pragma once

#include <cstdint>

#include "attention/bias_bytes.h"
#include "attention/block_usage.h"
#include "attention/inputs.h"
#include "attention/memory_report.h"
#include "attention/output.h"
#include "attention/unique_bias.h"

namespace hybridkv {

/// When the partial results of the parts meet.
enum class MergeMode {
  online,   ///< each part merges into a running result as it is computed
  offline,  ///< every part keeps a result of its own; all are scaled to their common maximum at the end
};

/// How the unified algorithm runs. The defaults are those of vllm-gaudi.
struct UnifiedOptions {
  bool causal = true;              ///< new tokens of prompts against new tokens
  bool shared = true;              ///< cached blocks that several query tokens see
  bool unique = true;              ///< cached blocks that one query token sees
  std::int64_t slice_tokens = 512; ///< query tokens of a causal slice, w, >= 1
  SharedBiasMode shared_bias = SharedBiasMode::chunked;
  std::int64_t chunk_blocks = 64;  ///< >= 1; applies where there are more shared blocks
  UniqueBiasMode unique_bias = UniqueBiasMode::contiguous;
  MergeMode merge = MergeMode::online;
  std::int64_t threads = 1;        ///< >= 0; 0 = one per core. KV heads are shared out; the result is the same
};

/// What the algorithm makes of a batch in one group of layers before it sees a tensor, biases of type Real.
/// (T tokens, B tokens of a block.)
template <class Real>
struct UnifiedPlan {
  BlockPartition blocks;          ///< of the whole batch, whatever parts are computed
  std::vector<Real> causal_bias;  ///< (T, T); empty where no new token sees new ones
  std::vector<Real> shared_bias;  ///< (T, shared, B); empty in chunks, whose biases are made of the usages as it goes
  BlockUsages usages;             ///< in chunks
  std::vector<Real> unique_bias;  ///< (rows, B)
  MemoryReport memory;            ///< all biases of a run, the buffer of a chunk too
};
/// Throws InputError for a slice or chunk below 1 and for a window or chunk with SharedBiasMode::sparse,
/// ResourceError where a bias does not fit. Pre: check_metadata, one entry of `is_decode` per request.
template <class Real>
UnifiedPlan<Real> plan_unified(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                               const KeyMask& mask, const UnifiedOptions& options = {});

/// Result of the unified algorithm, computed in Real.
template <class Real>
struct UnifiedResult {
  AttentionOutput<Real> output;
  BlockPartition blocks;  ///< of the whole batch, whatever parts were computed
  MemoryReport memory;    ///< what was allocated; its biases equal `bias_allocations` of the batch
};

/// Attention of a mixed batch (prompts, extensions and decodes together) over any view of a paged cache.
///
/// Three partial results per token and head, merged: the new tokens of prompts among themselves in slices; every
/// block that more than one query token sees against the whole query under a dense bias, at once or in chunks;
/// every block that one token sees for itself. Keys of a part that is switched off are not seen.
/// Slots that no token may see are not read; what a token may not see does not reach its result, NaN included.
/// Throws InputError as `check_inputs` and for a slice or chunk below 1, ResourceError where a bias does not fit.
/// The published algorithm knows the full mask alone; windows and chunked local attention are ours: usages get a
/// start, in chunked mode a second table beside the first. Soft cap and sinks enter the scores and the last merge.
/// Throws InputError for a window or chunk with SharedBiasMode::sparse, whose list has no room for a start.
/// Source: vllm-gaudi PR 784.
template <class Real>
UnifiedResult<Real> unified_attention(const AttentionInputs& inputs, const UnifiedOptions& options = {});

/// The same with a plan made before, which serves all layers of a group. Throws as `check_tensors`.
/// Pre: the plan is `plan_unified` of these metadata, which `check_metadata` accepts, decodes, mask and options.
template <class Real>
UnifiedResult<Real> unified_attention(const AttentionInputs& inputs, const UnifiedPlan<Real>& plan,
                                      const UnifiedOptions& options);

/// What `bias_allocations` needs to know of a batch that runs with these options.
BiasWorkload bias_workload(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                           const BlockPartition& blocks, const UnifiedOptions& options, std::int64_t element_bytes,
                           const KeyMask& mask = {});

extern template UnifiedResult<float> unified_attention(const AttentionInputs&, const UnifiedOptions&);
extern template UnifiedResult<double> unified_attention(const AttentionInputs&, const UnifiedOptions&);
extern template UnifiedPlan<float> plan_unified(const CommonAttentionMetadata&, const std::vector<bool>&,
                                                const KeyMask&, const UnifiedOptions&);
extern template UnifiedPlan<double> plan_unified(const CommonAttentionMetadata&, const std::vector<bool>&,
                                                 const KeyMask&, const UnifiedOptions&);
extern template UnifiedResult<float> unified_attention(const AttentionInputs&, const UnifiedPlan<float>&,
                                                       const UnifiedOptions&);
extern template UnifiedResult<double> unified_attention(const AttentionInputs&, const UnifiedPlan<double>&,
                                                        const UnifiedOptions&);

}  // namespace hybridkv
