#include "attention/attention_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

std::int64_t kv_heads_per_rank(const AttentionSpec& layer, std::int64_t tensor_parallel) {
  if (is_latent(layer.kind)) return 1;
  if (layer.kv_heads % tensor_parallel != 0 && tensor_parallel % layer.kv_heads != 0)
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
