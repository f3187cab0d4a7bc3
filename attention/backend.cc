#include "attention/backend.h"

#include "attention/reference.h"
#include "base/error.h"

namespace hybridkv {

namespace {

AttentionInputs join(const AttentionTensors& tensors, const CommonAttentionMetadata& common,
                     std::vector<bool> is_decode) {
  return {tensors, common, std::move(is_decode)};
}

/// For backends that take every new token from the cache.
AttentionInputs join(const AttentionTensors& tensors, const CommonAttentionMetadata& common) {
  return join(tensors, common, std::vector<bool>(common.num_reqs));
}

class ReferenceMetadata final : public BackendMetadata {
 public:
  ReferenceMetadata(const BackendOptions&, std::int64_t, const CommonAttentionMetadata& common)
      : BackendMetadata(AttentionBackend::reference, common) {}

 private:
  BackendResult compute(const AttentionTensors& tensors) const override {
    const AttentionOutput<double> exact = reference_attention(join(tensors, common()));
    return {{{exact.out.begin(), exact.out.end()}, {exact.lse.begin(), exact.lse.end()}}, {}};
  }
};

class UnifiedMetadata final : public BackendMetadata {
 public:
  UnifiedMetadata(const BackendOptions& options, std::int64_t, const CommonAttentionMetadata& common)
      : BackendMetadata(AttentionBackend::unified, common),
        options_(options.unified),
        is_decode_(decodes_by_length(common, options.decode_threshold_tokens)) {}

 private:
  BackendResult compute(const AttentionTensors& tensors) const override {
    UnifiedResult<float> result = unified_attention<float>(join(tensors, common(), is_decode_), options_);
    return {std::move(result.output), std::move(result.memory)};
  }

  UnifiedOptions options_;
  std::vector<bool> is_decode_;
};

class CascadeMetadata final : public BackendMetadata {
 public:
  CascadeMetadata(const BackendOptions& options, std::int64_t prefix_tokens, const CommonAttentionMetadata& common)
      : BackendMetadata(AttentionBackend::cascade, common), options_{prefix_tokens, options.cascade_tile_tokens} {}

 private:
  BackendResult compute(const AttentionTensors& tensors) const override {
    CascadeResult<float> result = cascade_attention<float>(join(tensors, common()), options_);
    return {std::move(result.output), std::move(result.memory)};
  }

  CascadeOptions options_;
};

class PagedMetadata final : public BackendMetadata {
 public:
  PagedMetadata(const BackendOptions& options, std::int64_t, const CommonAttentionMetadata& common)
      : BackendMetadata(AttentionBackend::paged, common), options_(options.paged) {}

 private:
  BackendResult compute(const AttentionTensors& tensors) const override {
    PagedResult result = paged_attention(join(tensors, common()), options_);
    return {std::move(result.output), std::move(result.memory)};
  }

  PagedOptions options_;
};

template <class Metadata>
class Builder final : public AttentionMetadataBuilder {
 public:
  explicit Builder(const BackendOptions& options) : options_(options) {}
  std::unique_ptr<const BackendMetadata> build(std::int64_t common_prefix_len,
                                               const CommonAttentionMetadata& common) const override {
    // The mask is the layer's, which nobody knows here: the narrowest one checks everything but early blocks.
    check_metadata(common, {MaskKind::sliding_window, 1});
    return std::make_unique<Metadata>(options_, common_prefix_len, common);
  }

 private:
  BackendOptions options_;
};

}  // namespace

BackendResult BackendMetadata::run(const AttentionTensors& tensors) const {
  if (const auto reason = unsupported(backend_, features_of(tensors, common_))) throw InputError(*reason);
  return compute(tensors);
}

std::unique_ptr<const AttentionMetadataBuilder> metadata_builder(AttentionBackend backend,
                                                                 const BackendOptions& options) {
  switch (backend) {
    case AttentionBackend::reference: return std::make_unique<Builder<ReferenceMetadata>>(options);
    case AttentionBackend::unified: return std::make_unique<Builder<UnifiedMetadata>>(options);
    case AttentionBackend::cascade: return std::make_unique<Builder<CascadeMetadata>>(options);
    case AttentionBackend::paged: return std::make_unique<Builder<PagedMetadata>>(options);
  }
  throw std::logic_error("a backend outside its enumeration");
}

std::vector<bool> decodes_by_length(const CommonAttentionMetadata& metadata, std::int64_t threshold_tokens) {
  std::vector<bool> is_decode;
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request)
    is_decode.push_back(metadata.query_len(request) <= threshold_tokens);
  return is_decode;
}

}  // namespace hybridkv
