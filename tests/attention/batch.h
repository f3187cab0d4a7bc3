#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "attention/inputs.h"
#include "attention/kv_view.h"
#include "attention/output.h"
#include "attention/reference.h"
#include "attention/unified.h"

namespace hybridkv::test {

/// A batch that owns its tensors. The cache is plain here, (block, token, head, channel) in float32 for all blocks
/// of the pool; `lay_out` brings it into the form under test.
struct Batch {
  CommonAttentionMetadata metadata;
  std::vector<bool> is_decode;
  std::int64_t num_query_heads = 0, num_kv_heads = 0, head_size_k = 0, head_size_v = 0, num_blocks = 0;
  double scale = 0;
  std::vector<float> query, key_new, value_new;
  std::vector<float> key_cache, value_cache;

  std::int64_t num_slots() const { return num_blocks * metadata.block_size_tokens; }
  std::span<float> key_slot(std::int64_t slot) {
    return std::span(key_cache).subspan(slot * num_kv_heads * head_size_k, num_kv_heads * head_size_k);
  }
  std::span<float> value_slot(std::int64_t slot) {
    return std::span(value_cache).subspan(slot * num_kv_heads * head_size_v, num_kv_heads * head_size_v);
  }
  /// Slots that hold a token of some request.
  std::vector<bool> used_slots() const;
  /// All requests taken as prompts, or as decodes.
  Batch with_decodes(bool decodes) const;
};

/// A pool with the batch's cache in one layer of a pack; every other byte of it is 0xff.
struct PagedCache {
  std::vector<float> memory;  ///< float for its alignment
  TensorView key, value;
  KvCodec codec;              ///< of both
};

/// The form, order, element type, kernel block, pack and page of `how`; the sizes are those of the batch.
/// A page of 0 bytes is a page without padding, a kernel block of 0 tokens is the whole block.
PagedCache lay_out(const Batch& batch, KvViewSpec how, std::int64_t layer = 0, const KvCodec& codec = {});

/// Borrows the tensors of both.
AttentionInputs inputs_of(const Batch& batch, const PagedCache& cache);

/// Gives the inputs a changed copy of their metadata.
template <class Change>
void change_metadata(AttentionInputs& inputs, Change change) {
  CommonAttentionMetadata metadata = *inputs.metadata;
  change(metadata);
  inputs.metadata = std::make_shared<const CommonAttentionMetadata>(std::move(metadata));
}

/// A float32 cache without packing, in a form that takes the head sizes.
PagedCache lay_out_plain(const Batch& batch);

/// Both over the plain cache.
AttentionOutput<double> reference(const Batch& batch, const KeyFilter& sees = {});
template <class Real>
UnifiedResult<Real> unified(const Batch& batch, const UnifiedOptions& options = {}) {
  const PagedCache cache = lay_out_plain(batch);
  return unified_attention<Real>(inputs_of(batch, cache), options);
}

/// Every way the unified algorithm can take: full, sparse, and chunks of 1, 4 and 64; online and offline; small slices.
std::vector<UnifiedOptions> all_ways();

/// The batch with K and V, cached and new, as a cache of that element type would hold them.
Batch rounded(Batch batch, DType dtype);

/// The batch with all of that as the codec stores it.
Batch encoded(Batch batch, const KvCodec& codec, DType dtype);

/// The batch with V as the beginning of K in every token, as in MLA. Pre: one KV head, head_size_v <= head_size_k.
Batch with_latent(Batch batch);

/// What a random batch is made of.
struct BatchShape {
  std::vector<std::int64_t> query_lens, context_lens;
  std::vector<bool> is_decode;
  std::int64_t shared_prefix_blocks = 0;  ///< leading blocks that all requests long enough have in common
  std::int64_t block_size = 16, num_query_heads = 4, num_kv_heads = 2, head_size_k = 16, head_size_v = 16;
  std::int64_t spare_blocks = 3;          ///< blocks of the pool that nobody uses
};

/// Normal tensors, block ids in random order, slots without a token full of large garbage.
Batch random_batch(const BatchShape& shape, std::uint64_t seed);

/// A fresh prompt, two extensions, decodes of 1, 3 and 1 tokens; 5 leading blocks are common, K and V differ in size.
Batch mixed_batch(std::uint64_t seed = 7);

/// Largest absolute error that is taken for rounding, for tensors of order 1.
inline constexpr double fp32_tolerance = 2e-6, fp64_tolerance = 1e-12;

/// A published case: the batch, its float64 result and the rest of case.json.
struct Case {
  std::string name;
  Batch batch;
  AttentionOutput<double> expected;
  nlohmann::json json;
};
Case load_case(const std::string& name);
inline const std::vector<std::string> case_names{"doc_example",       "doc_example_unshared",
                                                 "shared_prefill_decode_bs4", "vllm_mixed_small",
                                                 "vllm_small_decode", "vllm_small_prefill"};

/// Largest absolute difference; infinity where one is NaN or infinite and the other is not the same.
template <class Real>
double largest_error(std::span<const Real> values, std::span<const double> expected);
template <class Real>
double largest_error(const AttentionOutput<Real>& result, const AttentionOutput<double>& expected);

extern template double largest_error(std::span<const float>, std::span<const double>);
extern template double largest_error(std::span<const double>, std::span<const double>);
extern template double largest_error(const AttentionOutput<float>&, const AttentionOutput<double>&);
extern template double largest_error(const AttentionOutput<double>&, const AttentionOutput<double>&);

}  // namespace hybridkv::test
