#pragma once

#include <cstdint>
#include <span>

#include "attention/kv_codec.h"
#include "layout/view.h"

namespace hybridkv {

/// Writes K or V of new tokens into the slots of a paged cache, as `codec` stores them: rounded to its element type, or
/// in a format with scales. `values` (T, head, channel) of the cache's heads and the channels that they hold; token t
/// goes to `slot_mapping[t]`, -1 to nowhere.
/// Throws InputError, and writes nothing, where a slot lies outside the cache or `values` has another size.
/// Example: a decode writes its token before it reads it: write_tokens(key, metadata.slot_mapping, key_new).
void write_tokens(const TensorView& cache, std::span<const std::int64_t> slot_mapping, std::span<const float> values,
                  const KvCodec& codec = {});

}  // namespace hybridkv
