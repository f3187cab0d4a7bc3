#include "mamba/recurrent_reference.h"

#include "mamba/activations.h"

namespace hybridkv {

namespace {

using Row = std::span<const double>;

/// The convolution's output for one token; the token becomes the newest entry of its state.
std::vector<double> convolve(const RecurrentLayer& layer, Row input, std::vector<double>& history) {
  const std::int64_t taps = conv_taps(layer.spec);
  const std::int64_t channels = conv_channels(layer.spec);
  history.insert(history.end(), input.begin(), input.end());
  std::vector<double> output(input.size());
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    output[channel] = layer.weights.conv_bias[channel];
    for (std::int64_t tap = 0; tap < taps; ++tap)
      output[channel] += history[tap * channels + channel] * layer.weights.conv[tap * channels + channel];
  }
  history.erase(history.begin(), history.begin() + channels);
  return output;
}

std::vector<double> silu_of(std::vector<double> values) {
  for (double& value : values) value = silu(value);
  return values;
}

std::vector<double> unit_length(Row values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  const double scale = 1 / std::sqrt(sum + 1e-6);
  std::vector<double> result(values.begin(), values.end());
  for (double& value : result) value *= scale;
  return result;
}

double dot(Row a, Row b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void step(const Mamba1Spec& spec, const RecurrentLayer& layer, Row input, RecurrentStateRef& state,
          std::span<double> output) {
  const std::int64_t inner = spec.inner_size;
  const std::int64_t size = spec.state_size;
  const std::vector<double> x = silu_of(convolve(layer, input.first(inner), state.conv));
  const Row dt = input.subspan(inner, inner);
  const Row b = input.subspan(2 * inner, size);
  const Row c = input.subspan(2 * inner + size, size);
  for (std::int64_t i = 0; i < inner; ++i) {
    const double d = softplus(dt[i] + layer.weights.step_bias[i]);
    output[i] = layer.weights.skip[i] * x[i];
    for (std::int64_t n = 0; n < size; ++n) {
      double& s = state.ssm[i * size + n];
      s = std::exp(-std::exp(double{layer.weights.decay_log[i * size + n]}) * d) * s + d * b[n] * x[i];
      output[i] += c[n] * s;
    }
  }
}

void step(const Mamba2Spec& spec, const RecurrentLayer& layer, Row input, RecurrentStateRef& state,
          std::span<double> output) {
  const std::int64_t inner = spec.heads * spec.head_dim;
  const std::int64_t shared = spec.groups * spec.state_size;
  const std::vector<double> xbc = silu_of(convolve(layer, input.first(inner + 2 * shared), state.conv));
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const std::int64_t group = head / (spec.heads / spec.groups);
    const Row b = Row(xbc).subspan(inner + group * spec.state_size, spec.state_size);
    const Row c = Row(xbc).subspan(inner + shared + group * spec.state_size, spec.state_size);
    const double d = softplus(input[inner + 2 * shared + head] + layer.weights.step_bias[head]);
    const double decay = std::exp(-std::exp(double{layer.weights.decay_log[head]}) * d);
    for (std::int64_t p = head * spec.head_dim; p < (head + 1) * spec.head_dim; ++p) {
      const std::span<double> row = std::span(state.ssm).subspan(p * spec.state_size, spec.state_size);
      for (std::int64_t n = 0; n < spec.state_size; ++n) row[n] = decay * row[n] + d * xbc[p] * b[n];
      output[p] = dot(row, c) + layer.weights.skip[head] * xbc[p];
    }
  }
}

/// The delta rule of one head with a decay for each key channel; q and k have length one.
void delta_rule(Row q, Row k, Row v, Row decay, double beta, std::span<double> s, std::span<double> output) {
  const std::int64_t keys = static_cast<std::int64_t>(k.size());
  for (std::size_t value = 0; value < v.size(); ++value) {
    const std::span<double> row = s.subspan(value * keys, keys);
    for (std::int64_t i = 0; i < keys; ++i) row[i] *= decay[i];
    const double correction = beta * (v[value] - dot(row, k));
    for (std::int64_t i = 0; i < keys; ++i) row[i] += correction * k[i];
    output[value] = dot(row, q) / std::sqrt(static_cast<double>(keys));
  }
}

void step(const GdnSpec& spec, const RecurrentLayer& layer, Row input, RecurrentStateRef& state,
          std::span<double> output) {
  const std::int64_t keys = spec.key_heads * spec.key_head_dim;
  const std::int64_t values = spec.value_heads * spec.value_head_dim;
  const std::vector<double> qkv = silu_of(convolve(layer, input.first(2 * keys + values), state.conv));
  const Row b = input.subspan(2 * keys + values, spec.value_heads);
  const Row a = input.subspan(2 * keys + values + spec.value_heads, spec.value_heads);
  for (std::int64_t head = 0; head < spec.value_heads; ++head) {
    const std::int64_t key_head = head / (spec.value_heads / spec.key_heads);
    const double decay =
        std::exp(-std::exp(double{layer.weights.decay_log[head]}) * softplus(a[head] + layer.weights.step_bias[head]));
    const std::int64_t size = spec.key_head_dim * spec.value_head_dim;
    delta_rule(unit_length(Row(qkv).subspan(key_head * spec.key_head_dim, spec.key_head_dim)),
               unit_length(Row(qkv).subspan(keys + key_head * spec.key_head_dim, spec.key_head_dim)),
               Row(qkv).subspan(2 * keys + head * spec.value_head_dim, spec.value_head_dim),
               std::vector<double>(spec.key_head_dim, decay), (spec.doubled_beta ? 2 : 1) * sigmoid(b[head]),
               std::span(state.ssm).subspan(head * size, size),
               output.subspan(head * spec.value_head_dim, spec.value_head_dim));
  }
}

void step(const KdaSpec& spec, const RecurrentLayer& layer, Row input, RecurrentStateRef& state,
          std::span<double> output) {
  const std::int64_t dim = spec.head_dim;
  const std::int64_t width = spec.heads * dim;
  const std::vector<double> qkv = silu_of(convolve(layer, input.first(3 * width), state.conv));
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    std::vector<double> decay(dim);
    for (std::int64_t i = 0; i < dim; ++i)
      decay[i] = std::exp(log_decay(std::exp(double{layer.weights.decay_log[head]}),
                                    input[3 * width + head * dim + i] + layer.weights.step_bias[head * dim + i],
                                    spec.log_decay_limit));
    delta_rule(unit_length(Row(qkv).subspan(head * dim, dim)), unit_length(Row(qkv).subspan(width + head * dim, dim)),
               Row(qkv).subspan(2 * width + head * dim, dim), decay, sigmoid(input[4 * width + head]),
               std::span(state.ssm).subspan(head * dim * dim, dim * dim), output.subspan(head * dim, dim));
  }
}

void step(const ShortConvSpec& spec, const RecurrentLayer& layer, Row input, RecurrentStateRef& state,
          std::span<double> output) {
  const std::int64_t width = spec.channels;
  std::vector<double> gated(width);
  for (std::int64_t i = 0; i < width; ++i) gated[i] = input[i] * input[2 * width + i];
  const std::vector<double> convolved = convolve(layer, gated, state.conv);
  for (std::int64_t i = 0; i < width; ++i) output[i] = input[width + i] * convolved[i];
}

void step(const LinearAttentionSpec& spec, const RecurrentLayer& layer, Row input, RecurrentStateRef& state,
          std::span<double> output) {
  const std::int64_t dim = spec.head_dim;
  const std::int64_t width = spec.heads * dim;
  const std::vector<double> qkv = silu_of({input.begin(), input.end()});
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const double decay = std::exp(-std::exp(double{layer.weights.decay_log[head]}));
    const Row q = Row(qkv).subspan(head * dim, dim);
    const Row k = Row(qkv).subspan(width + head * dim, dim);
    for (std::int64_t value = head * dim; value < (head + 1) * dim; ++value) {
      const std::span<double> row = std::span(state.ssm).subspan(value * dim, dim);
      for (std::int64_t i = 0; i < dim; ++i) row[i] = decay * row[i] + qkv[2 * width + value] * k[i];
      output[value] = dot(row, q);
    }
  }
}

}  // namespace

RecurrentStateRef initial_state(const RecurrentSpec& rank_layer) {
  RecurrentStateRef state;
  for (const StateTensor& tensor : state_of(rank_layer, {}).tensors)
    (tensor.name == "conv" ? state.conv : state.ssm).assign(tensor.layout.num_elements(), 0.0);
  return state;
}

void run_reference(const RecurrentLayer& layer, std::span<const double> inputs, RecurrentStateRef& state,
                   std::span<double> outputs) {
  const std::size_t in = input_width(layer.spec);
  const std::size_t out = output_width(layer.spec);
  expects(inputs.size() / in * in == inputs.size() && outputs.size() == inputs.size() / in * out,
          "inputs and outputs are whole rows of as many tokens");
  for (std::size_t token = 0; token < inputs.size() / in; ++token)
    std::visit([&](const auto& family) {
      step(family, layer, inputs.subspan(token * in, in), state, outputs.subspan(token * out, out));
    }, layer.spec);
}

}  // namespace hybridkv
