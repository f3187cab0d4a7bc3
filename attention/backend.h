#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attention/backend_features.h"
#include "attention/cascade.h"
#include "attention/inputs.h"
#include "attention/memory_report.h"
#include "attention/output.h"
#include "attention/paged.h"
#include "attention/unified.h"

namespace hybridkv {

/// What backends may be told besides the batch and the layer.
struct BackendOptions {
  /// unified: requests with at most so many query tokens are decodes, which read their own tokens from the cache.
  std::int64_t decode_threshold_tokens = 1;
  UnifiedOptions unified;
  std::int64_t cascade_tile_tokens = CascadeOptions{}.tile_tokens;
  PagedOptions paged;
};

struct BackendResult {
  AttentionOutput<float> output;
  MemoryReport memory;  ///< empty for the reference, which is not measured
};

/// A backend's own metadata: what it made of the common metadata of one batch. Built once per group and batch, run for
/// every layer of the group. Source: FlashInfer, whose plan() is separated from run(); vLLM PR 20466.
class BackendMetadata {
 public:
  BackendMetadata(AttentionBackend backend, CommonAttentionMetadata common)
      : backend_(backend), common_(std::move(common)) {}
  virtual ~BackendMetadata() = default;

  AttentionBackend backend() const { return backend_; }
  const CommonAttentionMetadata& common() const { return common_; }

  /// Attention of one layer. Throws InputError with the text of `unsupported` for what the backend does not do, and as
  /// `check_inputs`.
  BackendResult run(const AttentionTensors& tensors) const;

 private:
  virtual BackendResult compute(const AttentionTensors& tensors) const = 0;

  AttentionBackend backend_;
  CommonAttentionMetadata common_;
};

/// Turns common metadata into the metadata of one backend and knows nothing else: neither model nor tensors. So
/// whatever rewrites the common part alone (local_attention.h, microbatch.h) works with every backend.
/// Source: vLLM PR 20466, AttentionMetadataBuilder.
class AttentionMetadataBuilder {
 public:
  virtual ~AttentionMetadataBuilder() = default;

  /// `common_prefix_len`: tokens of a prefix that all requests have in common, at most those that
  /// `common_prefix_tokens` finds; 0 = none. Only the cascade makes use of it. Throws InputError where the metadata
  /// contradicts itself.
  virtual std::unique_ptr<const BackendMetadata> build(std::int64_t common_prefix_len,
                                                       const CommonAttentionMetadata& common) const = 0;
};

std::unique_ptr<const AttentionMetadataBuilder> metadata_builder(AttentionBackend backend,
                                                                 const BackendOptions& options = {});

/// (R), whether a request is a decode: at most `threshold_tokens` query tokens.
/// Source: vLLM's split_decodes_and_prefills with its decode_threshold.
std::vector<bool> decodes_by_length(const CommonAttentionMetadata& metadata, std::int64_t threshold_tokens);

}  // namespace hybridkv
