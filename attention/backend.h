#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention/backend_features.h"
#include "attention/cascade.h"
#include "attention/group_batch.h"
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
  std::int64_t cascade_threads = CascadeOptions{}.threads;
  PagedOptions paged;
};

struct BackendResult {
  AttentionOutput<float> output;
  MemoryReport memory;  ///< empty for the reference, which is not measured
};

/// A backend's own metadata: what it made of one batch in one group of layers. Built once, run for every layer of the
/// group. Source: FlashInfer, whose plan() is separated from run(); vLLM PR 20466.
class BackendMetadata {
 public:
  BackendMetadata(AttentionBackend backend, const GroupBatch& batch) : backend_(backend), batch_(batch) {}
  virtual ~BackendMetadata() = default;

  AttentionBackend backend() const { return backend_; }
  const GroupBatch& batch() const { return batch_; }
  const CommonAttentionMetadata& common() const { return *batch_.common; }

  /// Why the backend does not claim that layer, as `unsupported` says it; nothing where it does.
  std::optional<std::string> declines(const AttentionTensors& tensors) const;

  /// Attention of one layer. Throws InputError with the text of `declines`, and as `check_tensors`.
  /// Pre: the layer has the shape of the group.
  BackendResult run(const AttentionTensors& tensors) const;

 private:
  virtual BackendResult compute(const AttentionInputs& inputs) const = 0;

  AttentionBackend backend_;
  GroupBatch batch_;
};

/// Turns the metadata of a batch into those of one backend: knows the sizes of a layer and neither model nor tensors.
/// So whatever rewrites the common part alone (local_attention.h, microbatch.h) works with every backend.
/// Throws InputError where the metadata contradict themselves, and for options that the backend does not take.
/// Source: vLLM PR 20466, AttentionMetadataBuilder.
std::unique_ptr<const BackendMetadata> build_metadata(AttentionBackend backend, const GroupBatch& batch,
                                                      const BackendOptions& options = {});

/// The same for each of these backends.
std::vector<std::unique_ptr<const BackendMetadata>> build_metadata(std::span<const AttentionBackend> backends,
                                                                   const GroupBatch& batch,
                                                                   const BackendOptions& options = {});

/// (R), whether a request is a decode: at most `threshold_tokens` query tokens.
/// Source: vLLM's split_decodes_and_prefills with its decode_threshold.
std::vector<bool> decodes_by_length(const CommonAttentionMetadata& metadata, std::int64_t threshold_tokens);

}  // namespace hybridkv
