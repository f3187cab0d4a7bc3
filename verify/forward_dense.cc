#include "verify/forward_dense.h"

#include <Eigen/Dense>
#include <cmath>

#include "attention/key_mask.h"
#include "attention/kv_codec_ref.h"
#include "base/convert.h"
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

using WideMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Rows of a larger matrix: those of one head.
using HeadRows = Eigen::Map<const WideMatrix, 0, Eigen::OuterStride<>>;

/// Every row of `x` times the transposed weights (outputs, inputs).
Rows project(const Rows& x, const std::vector<float>& weights, std::int64_t inputs) {
  const std::int64_t tokens = std::ssize(x) / inputs, outputs = std::ssize(weights) / inputs;
  Rows result(static_cast<std::size_t>(tokens * outputs));
  const WideMatrix wide =
      Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(weights.data(), outputs,
                                                                                             inputs)
          .cast<double>();
  Eigen::Map<WideMatrix>(result.data(), tokens, outputs).noalias() =
      Eigen::Map<const WideMatrix>(x.data(), tokens, inputs) * wide.transpose();
  return result;
}

void rotate_heads(Rows& rows, std::int64_t heads, const AttentionGeometry& attention) {
  const std::int64_t size = attention.head_size_k, token = heads * size;
  for (std::int64_t position = 0; position < std::ssize(rows) / token; ++position)
    rotate(std::span(rows).subspan(position * token, token), size, unrotated_channels(attention), position);
}

/// How values are cached.
struct Storage {
  DType dtype;
  KvCodec codec = {};
  std::int64_t channels = 1;  ///< of a row that is encoded together
};

/// What the values, each moved by `shift`, are read back as.
Rows read_back(const Storage& storage, std::span<const double> values, double shift) {
  std::vector<float> shifted(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) shifted[i] = static_cast<float>(values[i] + shift);
  if (!storage.codec.has_scales()) {
    round_elements(storage.dtype, shifted);
    return Rows(shifted.begin(), shifted.end());
  }
  const auto channels = static_cast<std::size_t>(storage.channels);
  std::vector<std::byte> stored(
      static_cast<std::size_t>(stored_bytes(storage.codec, storage.dtype, storage.channels)));
  Rows result(values.size());
  for (std::size_t first = 0; first < values.size(); first += channels) {
    encode_row(storage.codec, storage.dtype, std::span(shifted).subspan(first, channels), stored.data());
    for (std::size_t i = 0; i < channels; ++i)
      result[first + i] = decoded_value(storage.codec, storage.dtype, stored.data(), storage.channels,
                                        static_cast<std::int64_t>(i));
  }
  return result;
}

/// One run: how it rounds, and whether anything was in doubt.
class DenseForward {
 public:
  DenseForward(const ForwardNetwork& network, DenseRounding rounding)
      : network_(network), rounding_(rounding) {}

  DenseRun run(const std::vector<std::uint64_t>& contents);

 private:
  Rows attend(const AttentionWeights& weights, const Rows& x);
  Rows recur(const RecurrentProjection& weights, const Rows& x);
  void run_states(const RecurrentProjection& weights, const Rows& inputs, Rows& out);
  void round_to(const Storage& storage, std::span<double> values);

  const ForwardNetwork& network_;
  /// Does what is in doubt go the other way this time?
  bool shakes() {
    if (rounding_ == DenseRounding::half_shaken) return ++doubts_ % 2 == 0;
    return rounding_ == DenseRounding::shaken;
  }

  DenseRounding rounding_;
  std::uint64_t doubts_ = 0;
  bool in_doubt_ = false;
};

/// What fp32 may be off by in a value of RMS one before it is rounded: some units in the last place of its sums.
constexpr double fp32_doubt = 1e-6;

void DenseForward::round_to(const Storage& storage, std::span<double> values) {
  const Rows nearest = read_back(storage, values, 0);
  if (storage.codec.has_scales() || storage.dtype != DType::fp32) {
    const Rows below = read_back(storage, values, -fp32_doubt), above = read_back(storage, values, fp32_doubt);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = nearest[i];
      if (below[i] == above[i]) continue;
      in_doubt_ = true;
      if (shakes()) values[i] = below[i] == nearest[i] ? above[i] : below[i];
    }
    return;
  }
  std::copy(nearest.begin(), nearest.end(), values.begin());
}

Rows DenseForward::attend(const AttentionWeights& weights, const Rows& x) {
  const std::int64_t width = network_.width;
  const AttentionGeometry& a = weights.geometry;
  const std::int64_t tokens = static_cast<std::int64_t>(x.size()) / width;
  Rows query = project(x, weights.query, width);
  Rows key = project(x, weights.key, width);
  rotate_heads(query, a.query_heads, a);
  rotate_heads(key, a.kv_heads, a);
  round_to({a.dtype, weights.key_codec, a.head_size_k}, key);
  Rows value = project(x, weights.value, width);
  round_to({a.dtype, weights.value_codec, a.head_size_v}, value);
  const bool latent = a.kind == AttentionKind::mla;
  const Rows& values = latent ? key : value;
  const std::int64_t value_stride = latent ? a.head_size_k : a.head_size_v;
  const KeyMask mask = key_mask(a.kind, a.window_tokens);
  Rows out(static_cast<std::size_t>(tokens * a.query_heads * a.head_size_v));
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t first = mask.first_visible(token), count = token + 1 - first;
    for (std::int64_t head = 0; head < a.query_heads; ++head) {
      const std::int64_t kv_row = first * a.kv_heads + head / (a.query_heads / a.kv_heads);
      const HeadRows keys(key.data() + kv_row * a.head_size_k, count, a.head_size_k,
                          Eigen::OuterStride<>(a.kv_heads * a.head_size_k));
      const HeadRows seen(values.data() + kv_row * value_stride, count, a.head_size_v,
                          Eigen::OuterStride<>(a.kv_heads * value_stride));
      const std::int64_t row = token * a.query_heads + head;
      const Eigen::Map<const Eigen::VectorXd> q(query.data() + row * a.head_size_k, a.head_size_k);
      const Eigen::VectorXd weight = (score_scale(a) * (keys * q)).array().exp();
      Eigen::Map<Eigen::VectorXd>(out.data() + row * a.head_size_v, a.head_size_v).noalias() =
          seen.transpose() * weight / weight.sum();
    }
  }
  return project(out, weights.output, a.query_heads * a.head_size_v);
}

/// Token by token where the state is to be rounded after each of them.
void DenseForward::run_states(const RecurrentProjection& weights, const Rows& inputs, Rows& out) {
  const RecurrentLayer& layer = weights.layer;
  RecurrentStateRef state = initial_state(layer.spec);
  const bool narrow = (weights.conv_dtype != DType::fp32 && !state.conv.empty()) ||
                      (weights.ssm_dtype != DType::fp32 && !state.ssm.empty());
  in_doubt_ = in_doubt_ || narrow;
  if (!narrow || rounding_ == DenseRounding::plain) return run_reference(layer, inputs, state, out);
  const std::size_t in = input_width(layer.spec), row = output_width(layer.spec);
  const auto store = [](DType dtype, std::vector<double>& values) {
    std::vector<float> stored(values.begin(), values.end());
    round_elements(dtype, stored);
    std::copy(stored.begin(), stored.end(), values.begin());
  };
  for (std::size_t token = 0; token < inputs.size() / in; ++token) {
    run_reference(layer, std::span(inputs).subspan(token * in, in), state, std::span(out).subspan(token * row, row));
    if (!shakes()) continue;
    store(weights.conv_dtype, state.conv);
    store(weights.ssm_dtype, state.ssm);
  }
}

Rows DenseForward::recur(const RecurrentProjection& weights, const Rows& x) {
  Rows inputs = project(x, weights.input, network_.width);
  round_to({weights.conv_dtype}, inputs);
  const std::int64_t row = output_width(weights.layer.spec);
  Rows out(x.size() / network_.width * row);
  run_states(weights, inputs, out);
  for (std::size_t first = 0; first < out.size(); first += row) limit_outputs(std::span(out).subspan(first, row));
  return project(out, weights.output, row);
}

DenseRun DenseForward::run(const std::vector<std::uint64_t>& contents) {
  Rows x;
  for (std::size_t position = 0; position < contents.size(); ++position) {
    const std::vector<double> row = embedding(network_, contents[position], static_cast<std::int64_t>(position));
    x.insert(x.end(), row.begin(), row.end());
  }
  for (const ForwardLayer& layer : network_.layers) {
    const Rows h = normalised(x, network_.width);
    const auto add = [&](const Rows& part) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += part[i];
    };
    if (layer.attention) add(attend(*layer.attention, h));
    if (layer.recurrent) add(recur(*layer.recurrent, h));
  }
  return {normalised(x, network_.width), in_doubt_};
}

}  // namespace

DenseRun dense_forward(const ForwardNetwork& network, const std::vector<std::uint64_t>& contents,
                       DenseRounding rounding) {
  return DenseForward(network, rounding).run(contents);
}

}  // namespace hybridkv
