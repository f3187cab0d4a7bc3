#include "attention/cascade.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "attention/common_prefix.h"
#include "attention/output.h"
#include "attention/partial.h"
#include "attention/tile.h"
#include "base/parallel.h"

namespace hybridkv {

namespace {

/// One run: the inputs with what both levels need of them.
template <class Real>
class CascadeRun {
 public:
  CascadeRun(const AttentionInputs& inputs, const CascadePlan& plan)
      : inputs_(inputs),
        prefix_tokens_(plan.common_prefix_tokens),
        tile_tokens_(plan.tile_tokens),
        threads_(num_threads(static_cast<std::size_t>(plan.threads))),
        prefix_(inputs.num_tokens(), inputs.num_query_heads, inputs.head_size_v()),
        suffix_(prefix_),
        rooms_(std::min(threads_, static_cast<std::size_t>(inputs.num_kv_heads()))) {
    for (std::int64_t kv_head = 0; kv_head < inputs.num_kv_heads(); ++kv_head)
      queries_.push_back(load_queries<Real>(inputs, kv_head));
  }

  CascadeResult<Real> run() {
    const CommonAttentionMetadata& metadata = *inputs_.metadata;
    if (prefix_tokens_ > 0) add_keys(request_with_queries(), 0, prefix_tokens_, 0, inputs_.num_tokens(), prefix_);
    for (std::int64_t request = 0; request < metadata.num_reqs; ++request)
      add_keys(request, prefix_tokens_, metadata.seq_lens[request], metadata.query_start_loc[request],
               metadata.query_len(request), suffix_);
    merge(prefix_, suffix_);
    merge_sinks(prefix_, inputs_.sinks);
    report();
    return {finish(prefix_), prefix_tokens_, std::move(memory_)};
  }

 private:
  /// Every request with query tokens has the blocks of the prefix; this is the first. Pre: there is one.
  std::int64_t request_with_queries() const {
    std::int64_t request = 0;
    while (inputs_.metadata->query_len(request) == 0) ++request;
    return request;
  }

  /// The keys [first_key, last_key) of a request against query tokens, tile by tile. Pre: first_key starts a block.
  void add_keys(std::int64_t request, std::int64_t first_key, std::int64_t last_key, std::int64_t first_token,
                std::int64_t num_tokens, Partial<Real>& into) {
    if (num_tokens == 0) return;
    const std::int64_t block_size = inputs_.metadata->block_size_tokens;
    for (std::int64_t start = first_key; start < last_key; start += tile_tokens_) {
      const std::int64_t keys = std::min(tile_tokens_, last_key - start);
      std::vector<VisibleBlock> blocks;
      for (std::int64_t key = start; key < start + keys; key += block_size)
        blocks.push_back({inputs_.metadata->block(request, key / block_size),
                          static_cast<std::int32_t>(std::min(block_size, start + keys - key))});
      const std::int64_t bias_stride = fill_bias(request, start, keys, num_tokens);
      // Query heads of different KV heads share nothing: neither order nor threads change a bit.
      parallel_for(queries_.size(), threads_, [&](std::size_t which, std::size_t thread) {
        const auto kv_head = static_cast<std::int64_t>(which);
        TileRoom<Real>& room = rooms_[thread];
        load_blocks(inputs_, kv_head, blocks, room.tile);
        room.note_tile();
        attend(queries_[which], room.tile,
               {first_token, num_tokens, keys, bias_.data(), bias_stride, static_cast<Real>(inputs_.soft_cap)}, kv_head,
               room.scratch, into);
      });
    }
  }

  /// The bias of a tile; returns its stride from token to token, 0 where all see all of the keys. So it is for the
  /// prefix, which is past context of every token; beyond it the tokens are those of the request alone.
  std::int64_t fill_bias(std::int64_t request, std::int64_t start, std::int64_t keys, std::int64_t num_tokens) {
    const CommonAttentionMetadata& metadata = *inputs_.metadata;
    if (!metadata.causal || start + keys <= metadata.position(request, 0) + 1) {
      bias_.assign(keys, Real{0});
      return 0;
    }
    bias_.assign(Checked(num_tokens) * keys, minus_infinity<Real>);
    for (std::int64_t i = 0; i < num_tokens; ++i) {
      const std::int64_t seen = std::clamp<std::int64_t>(metadata.position(request, i) + 1 - start, 0, keys);
      std::fill_n(bias_.begin() + i * keys, seen, Real{0});
    }
    return keys;
  }

  void report() {
    largest_bias_ = std::max(largest_bias_, static_cast<std::int64_t>(bias_.capacity()));
    const auto add = [this](const char* what, std::vector<std::int64_t> shape) {
      memory_.note_scratch<Real>(what, std::move(shape));
    };
    const std::int64_t tokens = inputs_.num_tokens(), heads = inputs_.num_query_heads;
    if (largest_bias_ > 0)
      memory_.biases.push_back(dense_allocation("suffix_bias", {largest_bias_}, sizeof(Real)));
    add("queries", {tokens, heads, inputs_.head_size_k()});
    note_scratch<Real>(rooms_, inputs_.head_size_k(), inputs_.head_size_v(), memory_);
    add("partial_results", {2, tokens, heads, inputs_.head_size_v() + 2});
  }

  const AttentionInputs& inputs_;
  const std::int64_t prefix_tokens_, tile_tokens_;
  const std::size_t threads_;
  Partial<Real> prefix_, suffix_;         ///< the two levels
  std::vector<RowMatrix<Real>> queries_;  ///< per KV head
  std::vector<Real> bias_;
  std::int64_t largest_bias_ = 0;
  std::vector<TileRoom<Real>> rooms_;     ///< per thread
  MemoryReport memory_;
};

void check_mask(const AttentionInputs& inputs) {
  if (inputs.mask.kind != MaskKind::full)
    throw InputError(fmt::format("cascade attention: every token sees the whole common prefix, which a {} mask of {} "
                                 "tokens does not let it; take another backend",
                                 to_string(inputs.mask.kind), inputs.mask.window_tokens));
}

}  // namespace

CascadePlan plan_cascade(const CommonAttentionMetadata& metadata, const CascadeOptions& options) {
  if (options.tile_tokens < 1)
    throw InputError(fmt::format("cascade attention: tiles of {} tokens; at least 1", options.tile_tokens));
  if (options.threads < 0)
    throw InputError(fmt::format("cascade attention: {} threads; take at least 1, or 0 for one per core",
                                 options.threads));
  const std::int64_t longest = common_prefix_tokens(metadata);
  const std::int64_t prefix = options.common_prefix_tokens.value_or(longest);
  if (prefix < 0 || prefix > longest || prefix % metadata.block_size_tokens != 0)
    throw InputError(fmt::format("cascade attention: a common prefix of {} tokens; it must be a multiple of the block "
                                 "of {} tokens and at most the {} that all requests have in common",
                                 prefix, metadata.block_size_tokens, longest));
  return {prefix, round_up(options.tile_tokens, metadata.block_size_tokens), options.threads};
}

template <class Real>
CascadeResult<Real> cascade_attention(const AttentionInputs& inputs, const CascadeOptions& options) {
  check_inputs(inputs);
  check_mask(inputs);
  return CascadeRun<Real>(inputs, plan_cascade(*inputs.metadata, options)).run();
}

template <class Real>
CascadeResult<Real> cascade_attention(const AttentionInputs& inputs, const CascadePlan& plan) {
  check_tensors(inputs);
  check_mask(inputs);
  return CascadeRun<Real>(inputs, plan).run();
}

template CascadeResult<float> cascade_attention(const AttentionInputs&, const CascadeOptions&);
template CascadeResult<double> cascade_attention(const AttentionInputs&, const CascadeOptions&);
template CascadeResult<float> cascade_attention(const AttentionInputs&, const CascadePlan&);
template CascadeResult<double> cascade_attention(const AttentionInputs&, const CascadePlan&);

}  // namespace hybridkv
