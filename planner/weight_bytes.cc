#include "planner/weight_bytes.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace hybridkv {

namespace {

/// Parameters of one part on one rank of a stage. `kv_heads`: 0 where they are not known.
std::int64_t rank_share(std::int64_t count, ParameterPart part, std::int64_t kv_heads, std::int64_t experts,
                        const WeightSplit& split) {
  switch (part) {
    case ParameterPart::latents:
    case ParameterPart::norms: return count;
    case ParameterPart::keys_values:
      if (kv_heads == 0) break;
      return Checked(ceil_div(count, kv_heads)) * ceil_div(kv_heads, split.tensor_parallel);
    case ParameterPart::routed_experts:
      if (split.expert_parallel == 0 || experts == 0) break;
      return Checked(ceil_div(count, experts)) * ceil_div(experts, split.expert_parallel);
    default: break;
  }
  return ceil_div(count, split.tensor_parallel);
}

/// Bits of one element, scales included.
double element_bits(const ModelParameters& parameters, ParameterPart part, DType dtype) {
  const double plain = 8.0 * static_cast<double>(element_bytes(dtype));
  switch (part) {
    case ParameterPart::norms:
    case ParameterPart::embeddings:
    case ParameterPart::head:
    case ParameterPart::other_modalities: return plain;
    case ParameterPart::routed_experts:
      return parameters.expert_bits.value_or(parameters.weight_bits.value_or(plain));
    default: return parameters.weight_bits.value_or(plain);
  }
}

/// Bits of these parameters on one rank of a stage.
double rank_bits(const ModelParameters& parameters, const ParameterCounts& counts, std::int64_t kv_heads,
                 const WeightSplit& split, DType dtype) {
  double bits = 0;
  for (const ParameterPart part : all_parameter_parts)
    bits += element_bits(parameters, part, dtype) *
            static_cast<double>(rank_share(counts[part], part, kv_heads, parameters.experts, split));
  return bits;
}

}  // namespace

std::int64_t weight_bytes_per_rank(const ModelParameters& parameters, const WeightSplit& split, DType dtype) {
  double layers = 0;
  std::int64_t kv_heads = 0;
  for (const KindParameters& kind : parameters.layers) {
    layers += rank_bits(parameters, kind.counts, kind.kv_heads, split, dtype);
    kv_heads = std::max(kv_heads, kind.kv_heads);
  }
  ParameterCounts beside = parameters.beside;
  if (split.pipeline_parallel > 1) {
    // No stage has both the tables of tokens and the head.
    std::int64_t& head = beside[ParameterPart::head];
    std::int64_t& embeddings = beside[ParameterPart::embeddings];
    (head < embeddings ? head : embeddings) = 0;
  }
  double bits = layers / static_cast<double>(split.pipeline_parallel);
  bits += rank_bits(parameters, beside, 0, split, dtype);
  if (split.with_drafts) bits += rank_bits(parameters, parameters.draft, kv_heads, split, dtype);
  constexpr double most = 9.2e18;
  if (bits / 8 > most) throw InputError("the bytes of the weights are too many for 64 bits");
  return static_cast<std::int64_t>(std::ceil(bits / 8));
}

}  // namespace hybridkv
