#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/kv_codec.h"
#include "base/dtype.h"
#include "planner/arrangement.h"

namespace hybridkv {

// What lies between the caches of a small network, in the element type of the engine that runs it.

/// x (tokens, inputs) times the transposed weights (outputs, inputs): (tokens, outputs).
std::vector<float> project(std::span<const float> x, const std::vector<float>& weights, std::int64_t inputs);
/// Every row of `width` elements divided by its root mean square.
std::vector<float> normalised(const std::vector<float>& x, std::int64_t width);
/// Adds element by element.
void add_rows(std::vector<float>& x, const std::vector<float>& part);
/// Turns rows (token, head, channel) to their positions.
void rotate_heads(std::vector<float>& rows, std::int64_t heads, const AttentionGeometry& attention,
                  std::span<const std::int64_t> positions);
/// Replaces every row of channels by the one it would be read back as.
void round_rows(const KvCodec& codec, DType dtype, std::int64_t channels, std::vector<float>& rows);

}  // namespace hybridkv
