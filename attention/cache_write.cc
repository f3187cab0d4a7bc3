#include "attention/cache_write.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hybridkv {

void write_tokens(const TensorView& cache, std::span<const std::int64_t> slot_mapping, std::span<const float> values,
                  const KvCodec& codec) {
  const std::int64_t kernel_block = cache.layout.extent("token"), heads = cache.layout.extent("head");
  const std::int64_t channels = decoded_channels(codec, cache.layout.extent("channel"));
  const std::int64_t num_slots = cache.layout.extent("block") * kernel_block;
  const auto num_tokens = static_cast<std::int64_t>(slot_mapping.size());
  if (static_cast<std::int64_t>(values.size()) != Checked(num_tokens) * heads * channels)
    throw InputError(fmt::format("cache write: {} values for {} tokens of ({}, {})", values.size(), num_tokens, heads,
                                 channels));
  for (std::int64_t token = 0; token < num_tokens; ++token)
    if (slot_mapping[token] < -1 || slot_mapping[token] >= num_slots)
      throw InputError(
          fmt::format("cache write: token {} goes to slot {} of {}", token, slot_mapping[token], num_slots));

  for (std::int64_t token = 0; token < num_tokens; ++token) {
    const std::int64_t slot = slot_mapping[token];
    if (slot == -1) continue;
    for (std::int64_t head = 0; head < heads; ++head)
      encode_row(codec, cache.dtype, values.subspan((token * heads + head) * channels, channels),
                 cache.address({slot / kernel_block, slot % kernel_block, head, 0}));
  }
}

}  // namespace hybridkv
