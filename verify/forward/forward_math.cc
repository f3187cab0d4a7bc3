#include "verify/forward/forward_math.h"

#include <Eigen/Dense>
#include <cmath>

#include "base/convert.h"
#include "verify/forward/forward_network.h"

namespace hybridkv {

namespace {

using WeightMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

std::vector<float> project(std::span<const float> x, const std::vector<float>& weights, std::int64_t inputs) {
  const std::int64_t tokens = static_cast<std::int64_t>(x.size()) / inputs;
  const std::int64_t outputs = static_cast<std::int64_t>(weights.size()) / inputs;
  std::vector<float> result(static_cast<std::size_t>(tokens * outputs));
  Eigen::Map<WeightMatrix>(result.data(), tokens, outputs).noalias() =
      Eigen::Map<const WeightMatrix>(x.data(), tokens, inputs) *
      Eigen::Map<const WeightMatrix>(weights.data(), outputs, inputs).transpose();
  return result;
}

std::vector<float> normalised(const std::vector<float>& x, std::int64_t width) {
  std::vector<float> result(x.size());
  for (std::size_t first = 0; first < x.size(); first += width) {
    float sum = 0;
    for (std::int64_t i = 0; i < width; ++i) sum += x[first + i] * x[first + i];
    const float scale = 1 / std::sqrt(sum / static_cast<float>(width) + 1e-12f);
    for (std::int64_t i = 0; i < width; ++i) result[first + i] = x[first + i] * scale;
  }
  return result;
}

void add_rows(std::vector<float>& x, const std::vector<float>& part) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += part[i];
}

void rotate_heads(std::vector<float>& rows, std::int64_t heads, const AttentionGeometry& attention,
                  std::span<const std::int64_t> positions) {
  const std::int64_t size = attention.head_size_k;
  for (std::size_t token = 0; token < positions.size(); ++token)
    rotate(std::span(rows).subspan(token * heads * size, heads * size), size, unrotated_channels(attention),
           positions[token]);
}

void round_rows(const KvCodec& codec, DType dtype, std::int64_t channels, std::vector<float>& rows) {
  if (!codec.has_scales()) return round_elements(dtype, rows);
  std::vector<std::byte> stored(static_cast<std::size_t>(stored_bytes(codec, dtype, channels)));
  for (std::size_t first = 0; first < rows.size(); first += channels) {
    const std::span<float> row = std::span(rows).subspan(first, channels);
    encode_row(codec, dtype, row, stored.data());
    decode_row(codec, dtype, stored.data(), row);
  }
}

}  // namespace hybridkv
