#include "verify/transfer/exchanged_scales.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace hybridkv {

namespace {

/// Slots that the batch reads from the cache; new tokens of a prompt come from the batch itself.
std::set<std::int64_t> cached_slots(const AttentionInputs& inputs) {
  const CommonAttentionMetadata& metadata = *inputs.metadata;
  const std::int64_t block = metadata.block_size_tokens;
  std::set<std::int64_t> slots;
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    const std::int64_t end =
        inputs.is_decode[request] ? metadata.seq_lens[request] : metadata.num_computed_tokens[request];
    for (std::int64_t at = inputs.mask.first_visible(metadata.position(request, 0)); at < end; ++at)
      slots.insert(metadata.block(request, at / block) * block + at % block);
  }
  return slots;
}

std::byte* row_of(const TensorView& cache, std::int64_t slot, std::int64_t head) {
  const std::int64_t kernel_block = cache.layout.extent("token");
  return cache.address({slot / kernel_block, slot % kernel_block, head, 0});
}

}  // namespace

ExchangedScales::ExchangedScales(const AttentionInputs& inputs) : inputs_(inputs) {
  const std::set<std::int64_t> slots = cached_slots(inputs);
  const bool is_latent = row_of(inputs.key, 0, 0) == row_of(inputs.value, 0, 0);
  if (inputs.key_codec.scale != 1 || inputs.value_codec.scale != 1) {
    any_ = !slots.empty();
    if (is_latent) inputs_.key_codec.scale = inputs_.value_codec.scale = 1;
    else std::swap(inputs_.key_codec.scale, inputs_.value_codec.scale);
  }
  if (!inputs.key_codec.format) return;
  const auto add = [&](const TensorView& cache, std::int64_t slot, std::int64_t head) {
    const ScaleBytes scales = scale_bytes_of(*inputs.key_codec.format, cache.layout.extent("channel"));
    const auto of = [&](std::int64_t token) {
      return std::span(row_of(cache, token, head) + scales.first, static_cast<std::size_t>(scales.count));
    };
    pairs_.emplace_back(of(slot), of(slot + 1));
  };
  const std::int64_t block = inputs.metadata->block_size_tokens;
  for (const std::int64_t slot : slots) {
    if (slot % block % 2 != 0 || slot % block + 1 == block || !slots.contains(slot + 1)) continue;
    for (std::int64_t head = 0; head < inputs.num_kv_heads(); ++head) {
      add(inputs.key, slot, head);
      if (!is_latent) add(inputs.value, slot, head);
    }
  }
  any_ = any_ || !pairs_.empty();
  exchange();
}

void ExchangedScales::exchange() {
  for (const auto& [one, other] : pairs_) std::swap_ranges(one.begin(), one.end(), other.begin());
}

}  // namespace hybridkv
