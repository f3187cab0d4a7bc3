#include "attention/inputs.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "layout/cosize.h"

namespace hybridkv {

namespace {

void check_tensor(const char* name, std::size_t have, std::int64_t tokens, std::int64_t heads, std::int64_t channels) {
  const std::int64_t want = Checked(tokens) * heads * channels;
  if (static_cast<std::int64_t>(have) != want)
    throw InputError(fmt::format("attention: {} has {} elements, ({}, {}, {}) are {}", name, have, tokens, heads,
                                 channels, want));
}

void check_cache(const AttentionInputs& inputs) {
  const Layout& key = inputs.key.layout;
  const Layout& value = inputs.value.layout;
  for (const TensorView* view : {&inputs.key, &inputs.value}) {
    for (const AxisName name : {"block", "token", "head", "channel"})
      expects(view->layout.rank() == 4 && view->layout.find(name) >= 0, "a cache has axes block, token, head, channel");
    expects(view->layout.stride("channel") == 1, "the channels of a head are contiguous");
    expects(cosize(view->layout) <= view->size_bytes / element_bytes(view->dtype), "the cache lies inside its pool");
  }
  for (const AxisName name : {"block", "token", "head"})
    expects(key.extent(name) == value.extent(name), "K and V have the same blocks, tokens and heads");

  const std::int64_t block = inputs.metadata->block_size_tokens, kernel_block = inputs.kernel_block_tokens();
  if (kernel_block < 1 || block % kernel_block != 0)
    throw InputError(fmt::format("attention: the cache has kernel blocks of {} tokens, which do not divide the block "
                                 "of {} tokens",
                                 kernel_block, block));
  const std::int64_t num_blocks = key.extent("block") / (block / kernel_block);
  for (std::int64_t request = 0; request < inputs.metadata->num_reqs; ++request) {
    const std::int64_t used = ceil_div(inputs.metadata->seq_lens[request], block);
    for (std::int64_t column = first_visible_column(*inputs.metadata, request, inputs.mask); column < used; ++column)
      if (inputs.metadata->block(request, column) >= num_blocks)
        throw InputError(fmt::format("request {}: block {} is outside the cache of {} blocks", request,
                                     inputs.metadata->block(request, column), num_blocks));
  }
}

void check_scores(const AttentionInputs& inputs) {
  if (inputs.mask.kind != MaskKind::full && inputs.mask.window_tokens < 1)
    throw InputError(fmt::format("attention: a window or chunk of {} tokens; it must have at least 1",
                                 inputs.mask.window_tokens));
  if (inputs.mask.kind != MaskKind::full && !inputs.metadata->causal)
    throw InputError("attention: windows and chunks are defined for causal attention; take the full mask");
  if (!(inputs.soft_cap >= 0) || !std::isfinite(inputs.soft_cap))
    throw InputError(fmt::format("attention: a soft cap of {}; it must be positive, or 0 for none", inputs.soft_cap));
  if (!inputs.sinks.empty() && std::ssize(inputs.sinks) != inputs.num_query_heads)
    throw InputError(fmt::format("attention: {} sinks for {} query heads", inputs.sinks.size(),
                                 inputs.num_query_heads));
}

/// All that is left where the scores' rules and the metadata are right.
void check_sizes(const AttentionInputs& inputs) {
  check_cache(inputs);
  if (static_cast<std::int64_t>(inputs.is_decode.size()) != inputs.metadata->num_reqs)
    throw InputError(fmt::format("attention: is_decode has {} entries for {} requests", inputs.is_decode.size(),
                                 inputs.metadata->num_reqs));
  const std::int64_t tokens = inputs.num_tokens(), kv_heads = inputs.num_kv_heads();
  if (kv_heads < 1 || inputs.num_query_heads < 1 || inputs.num_query_heads % kv_heads != 0)
    throw InputError(fmt::format("attention: {} query heads do not share {} KV heads evenly", inputs.num_query_heads,
                                 kv_heads));
  if (inputs.head_size_k() < 1 || inputs.head_size_v() < 1)
    throw InputError(fmt::format("attention: head sizes {} and {} must be at least 1", inputs.head_size_k(),
                                 inputs.head_size_v()));
  check_tensor("query", inputs.query.size(), tokens, inputs.num_query_heads, inputs.head_size_k());
  check_tensor("key_new", inputs.key_new.size(), tokens, kv_heads, inputs.head_size_k());
  check_tensor("value_new", inputs.value_new.size(), tokens, kv_heads, inputs.head_size_v());
}

}  // namespace

void check_inputs(const AttentionInputs& inputs) {
  expects(inputs.metadata != nullptr, "inputs have the metadata of a batch");
  check_scores(inputs);
  check_metadata(*inputs.metadata, inputs.mask);
  check_sizes(inputs);
}

void check_tensors(const AttentionInputs& inputs) {
  expects(inputs.metadata != nullptr, "inputs have the metadata of a batch");
  check_scores(inputs);
  check_sizes(inputs);
}

}  // namespace hybridkv
