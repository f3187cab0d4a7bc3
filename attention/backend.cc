#include "attention/backend.h"

#include "attention/reference.h"
#include "base/error.h"

namespace hybridkv {

namespace {

class ReferenceMetadata final : public BackendMetadata {
 public:
  ReferenceMetadata(const GroupBatch& batch, const BackendOptions&)
      : BackendMetadata(AttentionBackend::reference, batch) {}

 private:
  BackendResult compute(const AttentionInputs& inputs) const override {
    const AttentionOutput<double> exact = reference_attention(inputs);
    return {{{exact.out.begin(), exact.out.end()}, {exact.lse.begin(), exact.lse.end()}}, {}};
  }
};

/// With what decodes are where the batch does not say.
GroupBatch with_decodes(GroupBatch batch, std::int64_t threshold_tokens) {
  if (batch.is_decode.empty()) batch.is_decode = decodes_by_length(*batch.common, threshold_tokens);
  return batch;
}

class UnifiedMetadata final : public BackendMetadata {
 public:
  UnifiedMetadata(const GroupBatch& batch, const BackendOptions& options)
      : BackendMetadata(AttentionBackend::unified, with_decodes(batch, options.decode_threshold_tokens)),
        options_(options.unified),
        plan_(plan_unified<float>(common(), this->batch().is_decode, batch.shape.mask, options_)) {}

 private:
  BackendResult compute(const AttentionInputs& inputs) const override {
    UnifiedResult<float> result = unified_attention<float>(inputs, plan_, options_);
    return {std::move(result.output), std::move(result.memory)};
  }

  UnifiedOptions options_;
  UnifiedPlan<float> plan_;
};

class CascadeMetadata final : public BackendMetadata {
 public:
  CascadeMetadata(const GroupBatch& batch, const BackendOptions& options)
      : BackendMetadata(AttentionBackend::cascade, batch),
        plan_(plan_cascade(common(), {batch.common_prefix_tokens, options.cascade_tile_tokens,
                                        options.cascade_threads})) {}

 private:
  BackendResult compute(const AttentionInputs& inputs) const override {
    CascadeResult<float> result = cascade_attention<float>(inputs, plan_);
    return {std::move(result.output), std::move(result.memory)};
  }

  CascadePlan plan_;
};

class PagedMetadata final : public BackendMetadata {
 public:
  PagedMetadata(const GroupBatch& batch, const BackendOptions& options)
      : BackendMetadata(AttentionBackend::paged, batch),
        options_(options.paged),
        plan_(plan_paged(common(), batch.shape, options_)) {}

 private:
  BackendResult compute(const AttentionInputs& inputs) const override {
    PagedResult result = paged_attention(inputs, plan_, options_);
    return {std::move(result.output), std::move(result.memory)};
  }

  PagedOptions options_;
  PagedPlan plan_;
};

template <class Metadata>
std::unique_ptr<const BackendMetadata> build_as(const GroupBatch& batch, const BackendOptions& options) {
  return std::make_unique<Metadata>(batch, options);
}

/// One line of the table of backends: how its metadata are made. What it claims is its column of `feature_table`.
struct BackendEntry {
  AttentionBackend backend;
  std::unique_ptr<const BackendMetadata> (*build)(const GroupBatch& batch, const BackendOptions& options);
};

constexpr std::array backend_table{
    BackendEntry{AttentionBackend::reference, build_as<ReferenceMetadata>},
    BackendEntry{AttentionBackend::unified, build_as<UnifiedMetadata>},
    BackendEntry{AttentionBackend::cascade, build_as<CascadeMetadata>},
    BackendEntry{AttentionBackend::paged, build_as<PagedMetadata>},
};
static_assert(backend_table.size() == all_attention_backends.size());

}  // namespace

std::optional<std::string> BackendMetadata::declines(const AttentionTensors& tensors) const {
  return unsupported(backend_, features_of(tensors, common()));
}

BackendResult BackendMetadata::run(const AttentionTensors& tensors) const {
  if (const auto reason = declines(tensors)) throw InputError(*reason);
  AttentionInputs inputs{tensors, batch_.common, batch_.is_decode};
  // Decodes matter to unified alone, which has filled them in.
  inputs.is_decode.resize(static_cast<std::size_t>(common().num_reqs));
  expects(inputs.shape() == batch_.shape, "a layer has the shape of the group that the batch was planned for");
  return compute(inputs);
}

std::unique_ptr<const BackendMetadata> build_metadata(AttentionBackend backend, const GroupBatch& batch,
                                                      const BackendOptions& options) {
  check_metadata(*batch.common, batch.shape.mask);
  for (const BackendEntry& entry : backend_table)
    if (entry.backend == backend) return entry.build(batch, options);
  throw std::logic_error("a backend outside its enumeration");
}

std::vector<std::unique_ptr<const BackendMetadata>> build_metadata(std::span<const AttentionBackend> backends,
                                                                   const GroupBatch& batch,
                                                                   const BackendOptions& options) {
  std::vector<std::unique_ptr<const BackendMetadata>> result;
  for (const AttentionBackend backend : backends) result.push_back(build_metadata(backend, batch, options));
  return result;
}

std::vector<bool> decodes_by_length(const CommonAttentionMetadata& metadata, std::int64_t threshold_tokens) {
  std::vector<bool> is_decode;
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request)
    is_decode.push_back(metadata.query_len(request) <= threshold_tokens);
  return is_decode;
}

}  // namespace hybridkv
