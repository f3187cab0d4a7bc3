#include "attention/attention_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

namespace {

bool share_kv_heads(const AttentionSpec& layer, std::int64_t ranks) {
  return is_latent(layer.kind) || layer.kv_heads % ranks == 0 || ranks % layer.kv_heads == 0;
}

}  // namespace

AttentionSpec with_padded_heads(AttentionSpec layer, std::int64_t tensor_parallel) {
  if (share_kv_heads(layer, tensor_parallel) && layer.query_heads % tensor_parallel == 0) return layer;
  const std::int64_t queries_per_head = layer.query_heads / layer.kv_heads;
  if (is_latent(layer.kind)) {
    layer.query_heads = round_up(layer.query_heads, tensor_parallel);
    return layer;
  }
  layer.kv_heads = round_up(layer.kv_heads, tensor_parallel);
  layer.query_heads = Checked(queries_per_head) * layer.kv_heads;
  return layer;
}

std::int64_t kv_heads_per_rank(const AttentionSpec& layer, std::int64_t tensor_parallel) {
  if (is_latent(layer.kind)) return 1;
  if (!share_kv_heads(layer, tensor_parallel))
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks fit {} KV heads neither way; take a divisor ({}) or a multiple of {}",
                                tensor_parallel, layer.kv_heads, divisors_text(layer.kv_heads), layer.kv_heads));
  return std::max<std::int64_t>(1, layer.kv_heads / tensor_parallel);
}

std::int64_t query_heads_per_rank(const AttentionSpec& layer, std::int64_t tensor_parallel) {
  if (layer.query_heads % tensor_parallel != 0)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} query heads; take a divisor: {}", tensor_parallel,
                                layer.query_heads, divisors_text(layer.query_heads)));
  return layer.query_heads / tensor_parallel;
}

std::int64_t kv_bytes_per_token(const AttentionSpec& layer, std::int64_t tensor_parallel, DType kv_dtype) {
  const Checked elements = is_latent(layer.kind) ? Checked(layer.head_size_k)
                                                            : Checked(layer.head_size_k) + layer.head_size_v;
  return Checked(kv_heads_per_rank(layer, tensor_parallel)) * elements * element_bytes(kv_dtype);
}

}  // namespace hybridkv
