#include "verify/forward_dense.h"

#include <cmath>

#include "attention/key_mask.h"
#include "layout/convert.h"
#include "mamba/recurrent_reference.h"

namespace hybridkv {

namespace {

using Rows = std::vector<double>;

Rows normalised(const Rows& x, std::int64_t width) {
  Rows result(x.size());
  for (std::size_t first = 0; first < x.size(); first += width) {
    double sum = 0;
    for (std::int64_t i = 0; i < width; ++i) sum += x[first + i] * x[first + i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(width) + 1e-12);
    for (std::int64_t i = 0; i < width; ++i) result[first + i] = x[first + i] * scale;
  }
  return result;
}

/// Every row of `x` times the transposed weights (outputs, inputs).
Rows project(const Rows& x, const std::vector<float>& weights, std::size_t inputs) {
  const std::size_t outputs = weights.size() / inputs;
  Rows result(x.size() / inputs * outputs);
  for (std::size_t token = 0; token < x.size() / inputs; ++token)
    for (std::size_t row = 0; row < outputs; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < inputs; ++i) sum += x[token * inputs + i] * weights[row * inputs + i];
      result[token * outputs + row] = sum;
    }
  return result;
}

void round_to(DType dtype, std::span<double> values) {
  std::vector<float> narrow(values.begin(), values.end());
  round_elements(dtype, narrow);
  std::copy(narrow.begin(), narrow.end(), values.begin());
}

void rotate_heads(Rows& rows, std::int64_t heads, const AttentionGeometry& attention) {
  const std::int64_t size = attention.head_size_k;
  for (std::size_t first = 0; first < rows.size(); first += size)
    rotate(std::span(rows).subspan(first, size), unrotated_channels(attention),
           static_cast<std::int64_t>(first) / (heads * size));
}

Rows attend(const AttentionWeights& weights, const Rows& x, std::int64_t width, DType kv_dtype) {
  const AttentionGeometry& a = weights.geometry;
  const std::int64_t tokens = static_cast<std::int64_t>(x.size()) / width;
  Rows query = project(x, weights.query, width);
  Rows key = project(x, weights.key, width);
  rotate_heads(query, a.query_heads, a);
  rotate_heads(key, a.kv_heads, a);
  round_to(kv_dtype, key);
  Rows value = project(x, weights.value, width);
  round_to(kv_dtype, value);
  const bool latent = a.kind == AttentionKind::mla;
  const Rows& values = latent ? key : value;
  const std::int64_t value_stride = latent ? a.head_size_k : a.head_size_v;
  const KeyMask mask = key_mask(a.kind, a.window_tokens);
  Rows out(static_cast<std::size_t>(tokens * a.query_heads * a.head_size_v));
  for (std::int64_t token = 0; token < tokens; ++token)
    for (std::int64_t head = 0; head < a.query_heads; ++head) {
      const std::int64_t kv_head = head / (a.query_heads / a.kv_heads);
      const double* q = query.data() + (token * a.query_heads + head) * a.head_size_k;
      double* row = out.data() + (token * a.query_heads + head) * a.head_size_v;
      double total = 0;
      for (std::int64_t other = mask.first_visible(token); other <= token; ++other) {
        const double* k = key.data() + (other * a.kv_heads + kv_head) * a.head_size_k;
        double score = 0;
        for (std::int64_t i = 0; i < a.head_size_k; ++i) score += q[i] * k[i];
        const double weight = std::exp(score * score_scale(a));
        total += weight;
        for (std::int64_t i = 0; i < a.head_size_v; ++i)
          row[i] += weight * values[(other * a.kv_heads + kv_head) * value_stride + i];
      }
      for (std::int64_t i = 0; i < a.head_size_v; ++i) row[i] /= total;
    }
  return project(out, weights.output, a.query_heads * a.head_size_v);
}

Rows recur(const RecurrentProjection& weights, const Rows& x, std::int64_t width, DType conv_dtype) {
  Rows inputs = project(x, weights.input, width);
  round_to(conv_dtype, inputs);
  const std::int64_t tokens = static_cast<std::int64_t>(x.size()) / width;
  Rows out(static_cast<std::size_t>(tokens * output_width(weights.layer.spec)));
  RecurrentStateRef state = initial_state(weights.layer.spec);
  run_reference(weights.layer, inputs, state, out);
  const std::size_t row = output_width(weights.layer.spec);
  for (std::size_t first = 0; first < out.size(); first += row) limit_outputs(std::span(out).subspan(first, row));
  return project(out, weights.output, output_width(weights.layer.spec));
}

}  // namespace

std::vector<double> dense_forward(const ForwardNetwork& network, const std::vector<std::uint64_t>& contents) {
  Rows x;
  for (std::size_t position = 0; position < contents.size(); ++position) {
    const std::vector<double> row = embedding(network, contents[position], static_cast<std::int64_t>(position));
    x.insert(x.end(), row.begin(), row.end());
  }
  for (const ForwardLayer& layer : network.layers) {
    const Rows h = normalised(x, network.width);
    const auto add = [&](const Rows& part) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += part[i];
    };
    if (layer.attention) add(attend(*layer.attention, h, network.width, network.kv_dtype));
    if (layer.recurrent) add(recur(*layer.recurrent, h, network.width, network.conv_dtype));
  }
  return normalised(x, network.width);
}

}  // namespace hybridkv
